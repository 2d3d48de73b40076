"""`soul doctor`: check everything the daemon needs, and name the fix of each fault."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cached_property, partial
from importlib import import_module
from typing import Final

import click
from msgspec.structs import replace

from daemon.app.health import known_names
from daemon.cli.listing import daemons_clock, json_of, say, say_json, with_database
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ConfigError, SoulError, StoreError
from daemon.core.telemetry.redaction import Redactor
from daemon.core.tempo import DISK
from daemon.core.value import Value
from daemon.memory.admin.nights import night_faults
from daemon.memory.admin.overview import FailedAnswers, FileCheck, Overview, check_file, failed_answers, survey
from daemon.memory.admin.tool_admin import recorded_tools
from daemon.memory.database import Database
from daemon.memory.records import Row
from daemon.soul import Soul, find_souls_directory, load_souls


class Verdict(StrEnum):
    """The result of a check; `skip` means not checked."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class Finding(Value):
    """The result of one check: `found` says what it saw, `fix` is the command or step that helps."""

    name: str
    verdict: Verdict
    found: str
    fix: str = ""


def ok(found: str) -> Finding:
    """Make a finding that needs nothing."""
    return Finding("", Verdict.OK, found)


def warn(found: str, fix: str) -> Finding:
    """Make a finding for the admin; the daemon works."""
    return Finding("", Verdict.WARN, found, fix)


def fail(found: str, fix: str) -> Finding:
    """Make a finding that keeps the daemon from working."""
    return Finding("", Verdict.FAIL, found, fix)


def skip(found: str) -> Finding:
    """Make a finding for a check that was skipped or has nothing to check."""
    return Finding("", Verdict.SKIP, found)


def named(name: str, finding: Finding) -> Finding:
    """Give a finding another name than that of its check."""
    return replace(finding, name=name)


class StoreRows(Value):
    """The rows of a sound memory.db that checks look at."""

    seen: Overview
    failed: FailedAnswers | None
    nights: list[Row]
    parked: int
    tools: list[Row]


def souls_of(settings: Settings) -> tuple[Soul, ...]:
    """Return the souls in the settings, the main one first. Raises SoulError."""
    find = partial(find_souls_directory, settings.souls_dir, settings.home)
    return tuple(load_souls(find, (settings.name, *settings.souls), known_names()))


class Premises:
    """The settings, souls and rows that the checks of one examination share. Each is read once."""

    def __init__(self, settings: Settings, *, offline: bool = False) -> None:
        self.settings = settings
        self.offline = offline
        self.path = settings.database_path.absolute()
        self.home = settings.home.absolute()
        self.soul_fault: SoulError | None = None

    @cached_property
    def now_ms(self) -> int:
        return daemons_clock(self.settings).now_ms()

    @cached_property
    def souls(self) -> tuple[Soul, ...]:
        """The souls in the settings, the main one first; none while a file of theirs is faulty."""
        try:
            return souls_of(self.settings)
        except SoulError as error:
            self.soul_fault = error
            return ()

    @cached_property
    def file(self) -> FileCheck | StoreError | None:
        """The state of memory.db, or the reason why it can't be read. None while there is none."""
        try:
            return check_file(self.path, whole=False) if self.path.exists() else None
        except StoreError as error:
            return error

    @cached_property
    def store(self) -> StoreRows | None:
        """The rows of memory.db; None while there is no sound one."""
        if not isinstance(self.file, FileCheck) or self.file.faults:
            return None

        async def read(database: Database) -> StoreRows:
            seen, failed = await survey(database, self.now_ms, self.now_ms), await failed_answers(database, self.now_ms)
            return StoreRows(seen, failed, *await night_faults(database), await recorded_tools(database))

        _ = self.now_ms  # asks a workspace in a rehearsal, which needs a loop of its own
        return with_database(self.settings, read)


Check = Callable[[Premises], list[Finding]]
_MODULES: Final = ("machine", "memory", "mind", "tools", "slack")
_CHECKS: Final = defaultdict[str, list[tuple[Check, bool]]](list)


def check(name: str, *, quick: bool = False) -> Callable[[Callable[[Premises], Finding | Iterable[Finding]]], Check]:
    """Make a check of a function that finds something or nothing, under a name.

    The `quick` ones contact no machine and read no rows. A running daemon makes them, too.
    """

    def decorate(function: Callable[[Premises], Finding | Iterable[Finding]]) -> Check:
        def looked(premises: Premises) -> list[Finding]:
            found = function(premises)
            return [named(one.name or name, one) for one in ([found] if isinstance(found, Finding) else found)]

        _CHECKS[function.__module__].append((looked, quick))
        return looked

    return decorate


def check_rows(name: str) -> Callable[[Callable[[Premises, StoreRows], Iterable[Finding]]], Check]:
    """Make a check of a function that looks at rows of memory.db. It finds nothing while there is no sound one."""

    def decorate(function: Callable[[Premises, StoreRows], Iterable[Finding]]) -> Check:
        def looked(premises: Premises) -> Iterable[Finding]:
            return function(premises, premises.store) if premises.store is not None else ()

        looked.__module__ = function.__module__
        return check(name)(looked)

    return decorate


def _all_checks() -> Iterable[tuple[Check, bool]]:
    """Return the checks in the order in which the daemon needs the things."""
    for module in _MODULES:
        yield from _CHECKS[import_module(f"daemon.cli.checks.{module}").__name__]


def failing_checks(settings: Settings) -> tuple[str, ...]:
    """Return the names of the quick offline checks that fail while a daemon runs with these settings.

    Daemons watch the disk, Slack and memory.db themselves.
    """
    premises = Premises(settings, offline=True)
    found = [one for look, quick in _all_checks() if quick for one in look(premises)]
    failing = (one.name for one in found if one.verdict is Verdict.FAIL and one.name != DISK)
    return tuple(dict.fromkeys(failing))


def examine(*, offline: bool) -> list[Finding]:
    """Return all findings, in the order in which the daemon needs the things. They hold no secrets."""
    from daemon.cli.checks.machine import without_settings

    try:
        settings = load_settings()
    except ConfigError as error:
        fault = named("settings", fail(error.message, error.hint))
        return [*without_settings(), fault, named("other checks", skip("they need correct settings"))]
    premises = Premises(settings, offline=offline)
    findings = [*without_settings(), *(one for look, _ in _all_checks() for one in look(premises))]
    redact = Redactor(settings.secrets)
    return [Finding(one.name, one.verdict, redact(one.found), redact(one.fix)) for one in findings]


_COLOURS: Final = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red", Verdict.SKIP: "bright_black"}


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Contact no other machine.")
@json_of(("name", "verdict", "found", "fix"))
def doctor_command(as_json: bool, offline: bool) -> None:
    """Check everything the daemon needs and say how to fix each fault.

    Each finding is ok, warn, fail or skip; exit code 1 when one is fail. Nothing is changed.
    """
    findings = examine(offline=offline)
    if as_json:
        say_json(findings)
    for one in [] if as_json else findings:
        click.echo(f"{click.style(one.verdict.ljust(4), fg=_COLOURS[one.verdict])}  ", nl=False)
        say(f"{one.name}: {one.found}")
        if one.fix:
            say(f"      → {one.fix}")
    if any(one.verdict is Verdict.FAIL for one in findings):
        raise click.exceptions.Exit(1)
