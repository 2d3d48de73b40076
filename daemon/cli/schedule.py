"""`soul schedule`: events that fall due later."""

import secrets
from dataclasses import replace
from typing import Final

import click

from daemon.cli.listing import RowListing, at, daemons_clock, json_of, os_user, say, say_json, with_agenda
from daemon.cli.options import limit_option, state_option
from daemon.core.config import load_settings
from daemon.core.timetable import moment, require_seldom, when
from daemon.memory.admin.schedule_admin import INTENTION_STATES, Agenda
from daemon.memory.queues.intention_rows import IN_MIND, Intention, NewIntention
from daemon.memory.queues.intentions import IDLE

_EVENTS: Final = RowListing[Intention](
    Intention,
    "id",
    at("due_ms", "DUE"),
    ("EVERY", lambda one, _: _rule(one)),
    ("WAITS FOR", "cue"),
    ("SLOT", lambda one, _: one.errand or one.slot),
    "process",
    ("FOR", "behalf"),
    "conversation",
    ("WORDS", "content"),
)


@click.group("schedule")
def schedule_command() -> None:
    """List, add or cancel scheduled events, and people's reminders and digests. Times are UTC.

    When an event falls due, the soul perceives it in its conversation and may write there. What repeats for a person
    follows a rule on the clocks of their zone, like `daily 09:00 (Europe/Berlin)`.
    With the cue `silence` it is cancelled once another person writes there.
    """


@schedule_command.command("list")
@state_option("events", INTENTION_STATES, "waiting")
@limit_option("events", 100)
@click.option("--words", is_flag=True, help="Also print each event's text.")
@_EVENTS.option
def list_(state: str, limit: int, words: bool, as_json: bool) -> None:
    """List scheduled events, the next due first. The soul itself schedules `idle`, for the time after a silence.

    Without --words content and params are empty.
    """
    found = with_agenda(lambda agenda: agenda.intentions(state, limit))
    _EVENTS.show(found if words else [replace(one, content="", params={}) for one in found], as_json=as_json)


@schedule_command.command("add")
@click.argument("name", metavar="CONVERSATION")
@click.argument("text")
@click.option("--in", "span", metavar="SPAN", help="Due after a time span: 20m, 2h30m, 3 days or PT20M.")
@click.option("--at", "time", metavar="TIME", help="Due at a time: 17:30 (UTC) or 2026-03-01T09:00+01:00.")
@click.option("--every", metavar="CRONTAB", default="", help='Due repeatedly: "0 9 * * mon-fri" (UTC).')
@click.option("--process", default="", help="The mental process for the event; default: the current one.")
@click.option(
    "--on-behalf",
    "behalf",
    metavar="USER",
    default="",
    help="Whose event it is; default: the last user there.",
)
@click.option("--slot", default="", help="A name; replaces the waiting event of the same name in that conversation.")
@json_of(Intention)
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
    """Schedule an event with TEXT in CONVERSATION.

    CONVERSATION is an id, or any part of it that is unique. The event counts as USER's: it is ignored if USER may not
    talk to the soul when it falls due.
    """
    if not text.strip():
        raise click.BadParameter("the event needs a text", param_hint="TEXT")
    settings = load_settings()
    clock = daemons_clock(settings)
    due = _due(span, time, every, clock.now_ms())
    if process:
        _require_process(process)
    if slot == IDLE or slot.startswith(IN_MIND):
        raise click.BadParameter(f"{IDLE} and {IN_MIND}… are reserved for the soul itself", param_hint="--slot")

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

    made = with_agenda(work, clock)
    if as_json:
        say_json(made)
    else:
        again = f" and then at {made.every}" if made.every else ""
        say(f"{made.id} is due at {moment(made.due_ms)} UTC{again}, in {made.conversation} for {made.behalf}.")


@schedule_command.command("cancel")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def cancel(names: tuple[str, ...]) -> None:
    """Cancel waiting events."""

    async def work(agenda: Agenda) -> None:
        for name in names:
            before = await agenda.cancel(name)
            say(f"{before.id} was due at {moment(before.due_ms)} UTC and is cancelled.")

    with_agenda(work)


def _rule(one: Intention) -> str:
    rule = f"{one.every} ({one.zone})" if one.zone and one.every else one.every
    return f"{rule} paused: {one.paused}" if one.paused else rule


def _due(span: str | None, time: str | None, every: str, now_ms: int) -> int:
    """Return the first due time in ms. Raises click.UsageError."""
    given = span if span is not None else time
    if (span is not None and time is not None) or (given is None and not every):
        raise click.UsageError("give a time: one of --in and --at, or --every for a repeated event")
    try:
        if every:
            require_seldom(every, now_ms)
        return now_ms if given is None else when(given, now_ms)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _require_process(name: str) -> None:
    """Raise click.BadParameter for an unknown mental process."""
    from daemon.processes import PROCESSES  # slow to import

    if name not in PROCESSES:
        raise click.BadParameter(
            f"there is no {name}; choose one of {', '.join(sorted(PROCESSES))}", param_hint="--process"
        )
