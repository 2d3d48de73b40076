"""`soul schedule`: events that fall due later; and `soul approvals`: requests to use a tool, proposals of thoughts."""

import secrets
from collections.abc import Sequence

import click
from msgspec.structs import replace

from daemon.cli.listing import Here, acts_on_each, ago, at, lists, say, shows
from daemon.cli.options import MOST_AT_ONCE, limit_option, readable_souls, state_option
from daemon.core.timetable import moment, require_seldom, when
from daemon.memory.admin.schedule_admin import APPROVAL_STATES, INTENTION_STATES, Agenda
from daemon.memory.mind.allowing import Proposal
from daemon.memory.queues.approvals import Approval
from daemon.memory.queues.intention_rows import IN_MIND, Intention, NewIntention
from daemon.memory.queues.intentions import IDLE
from daemon.memory.records import Row
from daemon.memory.stream.authority import OF_THE_MIND
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought_parts import Moment, parts_of


@click.group("schedule")
def schedule_command() -> None:
    """List, add or cancel scheduled events, and people's reminders and digests. Times are UTC.

    When an event falls due, the soul perceives it in its conversation and may write there. What repeats for a person
    follows a rule on the clocks of their zone, like `daily 09:00 (Europe/Berlin)`.
    With the cue `silence` it is cancelled once another person writes there.
    """


def _rule(row: Row) -> str:
    rule = f"{row['every']} ({row['zone']})" if row["zone"] and row["every"] else row["every"]
    return f"{rule} paused: {row['paused']}" if row["paused"] else str(rule)


@schedule_command.command("list")
@state_option("events", INTENTION_STATES, "waiting")
@limit_option("events", 100)
@click.option("--words", is_flag=True, help="Also print each event's text.")
@lists(
    *(Intention, "id", at("due_ms", "DUE"), ("EVERY", _rule), ("WAITS FOR", "cue")),
    *(("SLOT", lambda row: row["errand"] or row["slot"]), "process FOR=behalf conversation WORDS=content"),
)
async def list_events(here: Here, state: str, limit: int, words: bool) -> Sequence[Intention]:
    """List scheduled events, the next due first. The soul itself schedules `idle`, for the time after a silence.

    Without --words content and params are empty.
    """
    found = await here.admin(Agenda).intentions(state, limit)
    return found if words else [replace(one, content="", params={}) for one in found]


def _print_due(row: Row) -> None:
    again = f" and then at {row['every']}" if row["every"] else ""
    say(f"{row['id']} is due at {moment(row['due_ms'])} UTC{again}, in {row['conversation']} for {row['behalf']}.")


@schedule_command.command("add")
@click.argument("name", metavar="CONVERSATION")
@click.argument("content", metavar="TEXT")
@click.option("--in", "span", metavar="SPAN", help="Due after a time span: 20m, 2h30m, 3 days or PT20M.")
@click.option("--at", "time", metavar="TIME", help="Due at a time: 17:30 (UTC) or 2026-03-01T09:00+01:00.")
@click.option("--every", metavar="CRONTAB", default="", help='Due repeatedly: "0 9 * * mon-fri" (UTC).')
@click.option("--process", default="", help="The mental process for the event; default: the current one.")
@click.option(
    "--on-behalf", "behalf", metavar="USER", default="", help="Whose event it is; default: the last user there."
)
@click.option("--slot", default="", help="A name; replaces the waiting event of the same name in that conversation.")
@shows(Intention, _print_due)
async def add(
    here: Here,
    *,
    name: str,
    span: str | None,
    time: str | None,
    slot: str,
    process: str,
    every: str,
    behalf: str,
    content: str,
) -> Intention:
    """Schedule an event with TEXT in CONVERSATION.

    CONVERSATION is an id, or any part of it that is unique. The event counts as USER's: it is ignored if USER may not
    talk to the soul when it falls due.
    """
    if not content.strip():
        raise click.BadParameter("the event needs a text", param_hint="TEXT")
    due_ms = _due(span, time, every, here.now_ms)
    _require_process(process)
    if slot == IDLE or slot.startswith(IN_MIND):
        raise click.BadParameter(f"{IDLE} and {IN_MIND}… are reserved for the soul itself", param_hint="--slot")
    slot = slot or f"{here.actor}-{secrets.token_hex(4)}"
    new = NewIntention(slot=slot, due_ms=due_ms, process=process, content=content, every=every, behalf=behalf)
    return await here.admin(Agenda).schedule(await here.conversation(name), new, here.settings.schedule_max)


@schedule_command.command("cancel")
@acts_on_each("ID")
async def cancel(here: Here, name: str) -> str:
    """Cancel waiting events."""
    before = await here.admin(Agenda).cancel(name)
    return f"{before.id} was due at {moment(before.due_ms)} UTC and is cancelled."


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

    if name and name not in PROCESSES:
        raise click.BadParameter(
            f"there is no {name}; choose one of {', '.join(sorted(PROCESSES))}", param_hint="--process"
        )


@click.group("approvals")
def approvals_command() -> None:
    """List or refuse requests for permission to use a tool, and settle what thoughts propose.

    A request whose TOOL begins with `mind.` is a proposal of a thought: see `soul mind authority`.
    """


def _arguments(row: Row) -> list[str]:
    lines = [f"  {name}: {value}" for name, value in row["arguments"].items()]
    return [f"\n{row['id']}  {row['tool']}", *lines] if lines else []


@approvals_command.command("list")
@state_option("requests", APPROVAL_STATES)
@limit_option("requests, newest first")
@click.option("--arguments", is_flag=True, help="Also print the tool's arguments, which may quote users.")
@lists(
    *(Approval, "id state", ago("created_ms"), "tool", ("ASKED", lambda row: ", ".join(row["asked"]))),
    *(("DECIDED BY", "decided_by"), "conversation"),
    below=_arguments,
)
async def list_requests(here: Here, state: str | None, limit: int, arguments: bool) -> Sequence[Approval]:
    """List the newest requests, the users asked and who decided. Without --arguments the arguments are empty."""
    found = await here.admin(Agenda).approvals(state, limit)
    return found if arguments else [replace(one, arguments={}) for one in found]


@approvals_command.command("refuse")
@acts_on_each("ID")
async def refuse(here: Here, name: str) -> str:
    """Refuse waiting requests in place of the users asked, or decline what thoughts propose."""
    before = await here.admin(Agenda).refuse(name)
    becomes = "it has no effect" if before.tool.startswith(OF_THE_MIND) else f"{before.tool} won't be used"
    return f"{before.id} is refused: {becomes}."


@approvals_command.command("approve")
@acts_on_each("ID")
async def approve(here: Here, name: str) -> str:
    """Let what thoughts propose take effect; a tool is approved in Slack by those who were asked.

    The soul perceives it in its next thought in that conversation. `soul approvals list --arguments` names the thought,
    and `soul mind thoughts show ID --words` prints it.
    """

    agenda = here.admin(Agenda)
    waiting = await agenda.approvals("waiting", MOST_AT_ONCE)
    souls = readable_souls(here.settings, {one.conversation.partition("/")[0] for one in waiting if one.id == name})

    def parts(proposal: Proposal) -> tuple[ThoughtPart, ...]:
        output = CognitiveOutput.model_validate_json(proposal.output)
        values = souls[proposal.soul].values if proposal.soul in souls else ()
        found = parts_of(Moment(proposal.now_ms, proposal.zone, values=values), output)
        return tuple(one for one in found if one.field == proposal.field)

    field, refused = await agenda.approve(name, parts)
    left_out = f", without what is {', '.join(dict.fromkeys(refused))}" if refused else ""
    return f"{name} is approved, and in effect: {field}{left_out}."
