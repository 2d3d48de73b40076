"""`soul approvals`: requests for permission to use a tool, what thoughts propose, and who decided."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import click

from daemon.cli.listing import RowListing, ago, daemons_clock, say, with_agenda
from daemon.cli.mind_documents import values_of_each
from daemon.cli.options import limit_option, state_option
from daemon.core.config import load_settings
from daemon.memory.admin.schedule_admin import APPROVAL_STATES, Agenda
from daemon.memory.mind.allowing import Proposal
from daemon.memory.queues.approvals import Approval
from daemon.memory.stream.authority import OF_THE_MIND
from daemon.memory.thought_parts import ThoughtPart
from daemon.mind.thought import CognitiveOutput
from daemon.mind.thought_parts import Moment, parts_of

_ALL: Final = 10_000
_REQUESTS: Final = RowListing[Approval](
    Approval,
    "id",
    "state",
    ago("created_ms"),
    "tool",
    ("ASKED", lambda one, _: ", ".join(one.asked)),
    ("DECIDED BY", "decided_by"),
    "conversation",
)


@click.group("approvals")
def approvals_command() -> None:
    """List or refuse requests for permission to use a tool, and settle what thoughts propose.

    A request whose TOOL begins with `mind.` is a proposal of a thought: see `soul mind authority`.
    """


@approvals_command.command("list")
@state_option("requests", APPROVAL_STATES)
@limit_option("requests, newest first")
@click.option("--arguments", is_flag=True, help="Also print the tool's arguments, which may quote users.")
@_REQUESTS.option
def list_(state: str | None, limit: int, arguments: bool, as_json: bool) -> None:
    """List the newest requests, the users asked and who decided. Without --arguments the arguments are empty."""
    clock = daemons_clock(load_settings())
    found = with_agenda(lambda agenda: agenda.approvals(state, limit), clock)
    shown = found if arguments else tuple(replace(one, arguments={}) for one in found)
    if _REQUESTS.show(shown, as_json=as_json, now_ms=clock.now_ms()) and arguments:
        for one in found:
            say(f"\n{one.id}  {one.tool}")
            for name, value in one.arguments.items():
                say(f"  {name}: {value}")


@approvals_command.command("refuse")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def refuse(names: tuple[str, ...]) -> None:
    """Refuse waiting requests in place of the users asked, or decline what thoughts propose."""

    async def work(agenda: Agenda) -> None:
        for name in names:
            before = await agenda.refuse(name)
            becomes = "it has no effect" if before.tool.startswith(OF_THE_MIND) else f"{before.tool} won't be used"
            say(f"{before.id} is refused: {becomes}.")

    with_agenda(work)


@approvals_command.command("approve")
@click.argument("names", metavar="ID...", nargs=-1, required=True)
def approve(names: tuple[str, ...]) -> None:
    """Let what thoughts propose take effect; a tool is approved in Slack by those who were asked.

    The soul perceives it in its next thought in that conversation. `soul approvals list --arguments` names the thought,
    and `soul mind thoughts show ID --words` prints it.
    """

    settings = load_settings()

    async def work(agenda: Agenda) -> None:
        waiting = [one for one in await agenda.approvals("waiting", _ALL) if one.id in names]
        parts = _parts_by(values_of_each(settings, {one.conversation.partition("/")[0] for one in waiting}))
        for name in names:
            field, refused = await agenda.approve(name, parts)
            left_out = f", without what is {', '.join(dict.fromkeys(refused))}" if refused else ""
            say(f"{name} is approved, and in effect: {field}{left_out}.")

    with_agenda(work)


def _parts_by(values: Mapping[str, tuple[str, ...]]) -> Callable[[Proposal], tuple[ThoughtPart, ...]]:
    def parts(proposal: Proposal) -> tuple[ThoughtPart, ...]:
        output = CognitiveOutput.model_validate_json(proposal.output)
        moment = Moment(proposal.now_ms, proposal.zone, values=values.get(proposal.soul, ()))
        return tuple(one for one in parts_of(moment, output) if one.field == proposal.field)

    return parts
