"""`soul schedule`: what the soul is to notice later."""

import secrets
from dataclasses import replace

import click

from daemon.cli.database_access import os_user, with_database
from daemon.cli.output import say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.timetable import moment, require_seldom, when
from daemon.memory.admin.schedule_admin import INTENTION_STATES, Agenda
from daemon.memory.database import Database
from daemon.memory.queues.intentions import IDLE, Intention, NewIntention


@click.group("schedule")
def command() -> None:
    """List, add or cancel what the soul is to notice later. All times are UTC.

    \b
    JSON keys: id, conversation, slot, due_ms, every, process, params, content, behalf, place, audience, state, reason,
    fired, created_ms, settled_ms. `list` leaves content and params empty without --words.
    """


@command.command("list")
@click.option("--state", type=click.Choice(INTENTION_STATES), default="waiting", show_default=True, help="Which.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many.")
@click.option("--words", is_flag=True, help="With what is to be noticed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(state: str, limit: int, words: bool, as_json: bool) -> None:
    """List what is scheduled, the next first; `idle` is the soul's own look after a silence."""
    found = with_database(load_settings(), lambda database: _agenda(database).intentions(state, limit))
    if not words:
        found = tuple(replace(one, content="", params={}) for one in found)
    if as_json:
        say_json(found)
        return
    rows = [
        (one.id, moment(one.due_ms), one.every, one.slot, one.process, one.behalf, one.conversation, one.content)
        for one in found
    ]
    table(("ID", "DUE", "EVERY", "SLOT", "PROCESS", "FOR", "CONVERSATION", "WORDS" if words else ""), rows)


@command.command("add")
@click.argument("name", metavar="CONVERSATION")
@click.argument("text")
@click.option("--in", "span", metavar="SPAN", help="After a while: 20m, 2h30m, 3 days or PT20M.")
@click.option("--at", "time", metavar="TIME", help="At a time: 17:30 (UTC) or 2026-03-01T09:00+01:00.")
@click.option("--every", metavar="CRONTAB", default="", help='Again and again: "0 9 * * mon-fri" (UTC).')
@click.option("--process", default="", help="The mental process that it visits; default: whatever it is in then.")
@click.option("--on-behalf", "behalf", metavar="USER", default="", help="For whom; default: who spoke there last.")
@click.option("--slot", default="", help="A name; what waits there under the same one is replaced.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def add(
    *,
    name: str,
    text: str,
    span: str | None,
    time: str | None,
    every: str,
    process: str,
    behalf: str,
    slot: str,
    as_json: bool,
) -> None:
    """Have the soul notice TEXT later, in CONVERSATION (its id, or a part of it that no other has).

    It is heard as if USER had caused it: who may not be heard then, is not.
    """
    if not text.strip():
        raise click.BadParameter("say what is to be noticed", param_hint="TEXT")
    clock = SystemClock()
    due = _due(span, time, every, clock.now_ms())
    if process:
        _require_process(process)
    if slot == IDLE:
        raise click.BadParameter("idle is the soul's own", param_hint="--slot")
    settings = load_settings()

    async def work(agenda: Agenda) -> Intention:
        new = NewIntention(
            slot=slot or f"{os_user()}-{secrets.token_hex(4)}",
            due_ms=due,
            process=process,
            content=text,
            every=every,
            behalf=behalf,
        )
        return await agenda.schedule(await agenda.conversation(name), new, settings.schedule_max)

    made = with_database(settings, lambda database: work(_agenda(database)))
    if as_json:
        say_json(made)
    else:
        again = f", and again as {made.every} says" if made.every else ""
        say(f"{made.id} is due at {moment(made.due_ms)} UTC{again}, in {made.conversation} for {made.behalf}.")


@command.command("cancel")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def cancel(names: tuple[str, ...]) -> None:
    """Cancel what waits."""

    async def work(agenda: Agenda) -> None:
        for name in names:
            before = await agenda.cancel(name)
            say(f"{before.id} was due at {moment(before.due_ms)} UTC and is cancelled.")

    with_database(load_settings(), lambda database: work(_agenda(database)))


def _due(span: str | None, time: str | None, every: str, now_ms: int) -> int:
    """When it is due first. Raises click's usage errors."""
    given = span if span is not None else time
    if (span is not None and time is not None) or (given is None and not every):
        raise click.UsageError("say when: --in or --at, or --every for what comes round again")
    try:
        if every:
            require_seldom(every, now_ms)
        return now_ms if given is None else when(given, now_ms)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _require_process(name: str) -> None:
    """Raises a usage error for a mental process that doesn't exist."""
    from daemon.processes import PROCESSES  # the whole mind: only when it is asked for

    if name not in PROCESSES:
        raise click.BadParameter(
            f"there is no {name}; there are {', '.join(sorted(PROCESSES))}", param_hint="--process"
        )


def _agenda(database: Database) -> Agenda:
    return Agenda(database, SystemClock(), os_user())
