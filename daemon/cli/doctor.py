"""`soul doctor`: check everything the daemon needs, and name the fix of each fault."""

import click

from daemon.cli.checks.finding import (
    Finding,
    Verdict,
    namesake,
    rehearsal,
    skip,
    start_files,
    tools,
    vectors,
    whose_settings,
)
from daemon.cli.checks.memory import memory
from daemon.cli.checks.mind import (
    data_folder,
    http_api,
    inner_life,
    models,
    money,
    python_version,
    research,
    settings_in_force,
    souls,
    step_models,
)
from daemon.cli.checks.slack import slack
from daemon.cli.listing import daemons_clock, say, say_json
from daemon.core.config import Settings
from daemon.core.telemetry.redaction import Redactor
from daemon.core.tempo import DISK

_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red", Verdict.SKIP: "bright_black"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: [{name, verdict, found, fix}].")
@click.option("--offline", is_flag=True, help="Contact no other machine.")
@click.pass_context
def doctor_command(context: click.Context, as_json: bool, offline: bool) -> None:
    """Check everything the daemon needs and say how to fix each fault.

    Each finding is ok, warn, fail or skip; exit code 1 when one is fail. Nothing is changed.
    """
    findings = examine(offline=offline)
    if as_json:
        say_json(findings)
    else:
        for one in findings:
            verdict = click.style(one.verdict.ljust(4), fg=_COLOURS[one.verdict])
            click.echo(f"{verdict}  ", nl=False)
            say(f"{one.name}: {one.found}")
            if one.fix:
                say(f"      → {one.fix}")
    if any(one.verdict is Verdict.FAIL for one in findings):
        context.exit(1)


def failing_checks(settings: Settings) -> tuple[str, ...]:
    """Return the names of the quick offline checks that fail while a daemon runs with these settings.

    Daemons watch the disk, Slack and memory.db themselves.
    """
    found = [
        *data_folder(settings),
        *http_api(settings),
        *souls(settings),
        *models(settings),
        *step_models(settings),
        *tools(settings),
    ]
    failing = (one.name for one in found if one.verdict is Verdict.FAIL and one.name != DISK)
    return tuple(dict.fromkeys(failing))


def examine(*, offline: bool) -> list[Finding]:
    """Return all findings, in the order in which the daemon needs the things. They hold no secrets."""
    settings, findings = settings_in_force()
    findings[:0] = [python_version(), start_files(), namesake()]
    if settings is None:
        return [*findings, skip("other checks", "they need correct settings")]
    findings += [*whose_settings(), *data_folder(settings), *http_api(settings)]
    findings += memory(settings, daemons_clock(settings))
    findings += vectors(settings, offline=offline)
    findings += [
        *souls(settings),
        *models(settings),
        *step_models(settings),
        *money(settings),
        *inner_life(settings),
        *research(settings),
        *tools(settings),
        *rehearsal(settings),
    ]
    findings += slack(settings, offline=offline)
    redact = Redactor(settings.secrets)
    return [Finding(one.name, one.verdict, redact(one.found), redact(one.fix)) for one in findings]
