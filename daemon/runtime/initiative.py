"""What a soul says that nobody asked for: whether it may by now, and the one question whether it may at all."""

import secrets

from daemon.core.authority import Function, Level
from daemon.core.initiative import FEWEST_VISITS, INVITING, PROMISED, WhySilent
from daemon.core.perception import Modality, Place
from daemon.core.phrases import Command
from daemon.core.timetable import MINUTE_MS
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.invitations import InvitationAskedFor
from daemon.memory.records import Dismissal, Speaks
from daemon.mind.mental_process import ProcessContext
from daemon.mind.motor import Motor
from daemon.runtime.cycle_state import Cycle

_ASKS_FOR_MS = 14 * 24 * 60 * MINUTE_MS


async def why_silent(cycle: Cycle, *, promised: bool) -> WhySilent:
    """Why nothing may be said unasked by now.

    Of what was promised, and of what is said into a silence, quiet hours alone are a reason. Raises StoreError.
    """
    newest, services = cycle.newest, cycle.services
    if not cycle.speaks_first:
        return "not_invited"
    where, quiet, invited = cycle.claim.conversation, services.quiet_hours, promised or not cycle.is_tick
    return await services.minds.must_be_silent(where, newest.author, quiet, promised=invited)


async def waits_for_the_day(cycle: Cycle) -> bool:
    """Whether an unasked thought would have to be said in quiet hours, which began meanwhile: it is thought afterwards.

    Raises StoreError.
    """
    if not cycle.is_tick or await why_silent(cycle, promised=bool(cycle.newest.params.get(PROMISED))) != "quiet":
        return False
    cycle.dismissed = {**cycle.dismissed, **{one.id: Dismissal("quiet") for one in cycle.messages}}
    return True


def waits_for_readers(cycle: Cycle) -> bool:
    """Whether an unasked thought has to wait since it can't be found out just now who reads, or their private rooms.

    It would know less than was known when something was promised there. It is thought a minute later where it was.
    """
    if not cycle.is_tick or not (cycle.readers.unproven or cycle.readers.rooms_unproven):
        return False
    cycle.services.emit("tick.skipped", trace=cycle.trace_id, why="breaker", reason="it is not known who reads there")
    cycle.dismissed = {**cycle.dismissed, **{one.id: Dismissal("breaker") for one in cycle.messages}}
    return True


async def ask_for_invitation(cycle: Cycle, context: ProcessContext, motor: Motor) -> None:
    """Ask once below a reply in direct messages whether the soul may write unasked, with two buttons.

    Raises StoreError.
    """
    if not _may_ask(cycle, context, motor):
        return
    now = cycle.services.clock.now_ms()
    found = await cycle.services.minds.invitation_of(cycle.claim.conversation, cycle.newest.author)
    if found.asked or found.state != "unasked" or now < found.until_ms:
        return
    motor.show_below(cycle.words.say("may_i_follow_up"))
    motor.decide(InvitationAskedFor())
    motor.ask_permission(
        NewApproval(
            id=f"{INVITING}{secrets.token_hex(8)}",
            tool=Command.FOLLOW_UP_ON.value,
            arguments={},
            asked=(cycle.newest.author,),
            expires_ms=now + _ASKS_FOR_MS,
        )
    )


def _may_ask(cycle: Cycle, context: ProcessContext, motor: Motor) -> bool:
    newest, services, where = cycle.newest, cycle.services, cycle.claim.conversation
    in_person = newest.place is Place.DM and newest.modality is Modality.WORDS and not newest.bot
    known = Speaks.of(newest.author) is Speaks.PERSON and newest.author not in cycle.paused and not cycle.tells
    below = motor.approval is not None or motor.answers or motor.cut or not motor.reply
    return (
        in_person
        and known
        and not below
        and context.visit.number > FEWEST_VISITS
        and services.tick_budget(cycle.soul) is not None
        and cycle.channel.offers(where).unasked
        and context.cycle.thoughts.authority.level(Function.INITIATIVE) >= Level.CHECKED
    )
