"""`soul queue jobs`: background work after replies, such as summaries and what is known of people."""

import click

from daemon.cli.database_access import with_jobs
from daemon.cli.options import Selection, json_option, limit_option, many_options, state_option
from daemon.cli.output import age, say, show_rows
from daemon.memory.admin.job_admin import JOB_STATES, JobAdmin


@click.group("jobs")
def command() -> None:
    """List, retry or drop background jobs.

    \b
    JSON keys: seq, kind, conversation, state, reason, attempts, faults, not_before, created_ms, settled_ms.
    """


@command.command("list")
@state_option("jobs", JOB_STATES)
@limit_option("jobs, newest first")
@json_option
def list_(state: str | None, limit: int, as_json: bool) -> None:
    """List the newest jobs."""
    show_rows(
        with_jobs(lambda admin: admin.jobs(state, limit)),
        ("NO", "KIND", "STATE", "AGE", "TRIES", "CONVERSATION", "REASON"),
        lambda one, now: (
            *(one.seq, one.kind, one.state, age(now, one.created_ms)),
            *(one.attempts, one.conversation, one.reason),
        ),
        as_json=as_json,
    )


@command.command("retry")
@click.argument("numbers", metavar="[NO]...", nargs=-1, type=int)
@many_options(("dead",))
def retry(numbers: tuple[int, ...], state: str | None, since: str | None) -> None:
    """Do dead jobs again: those given by number, or all with `--state dead --since SPAN`."""
    chosen = Selection.of(numbers, state, since)

    async def work(admin: JobAdmin) -> None:
        for number in chosen.names or [one.seq for one in reversed(await admin.jobs(*chosen.query))]:
            before = await admin.retry(number)
            say(f"{before.seq} ({before.kind}) will be done again.")

    with_jobs(work)


@command.command("drop")
@click.argument("numbers", metavar="NO...", nargs=-1, required=True, type=int)
def drop(numbers: tuple[int, ...]) -> None:
    """Never do dead jobs."""

    async def work(admin: JobAdmin) -> None:
        for number in numbers:
            before = await admin.drop(number)
            say(f"{before.seq} ({before.kind}) won't be done.")

    with_jobs(work)
