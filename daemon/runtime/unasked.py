"""What a soul says unasked: when it may, the invitation to it, and its promises to come back to something."""

import secrets
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext

from daemon.core.authority import Function, Level
from daemon.core.errors import LostLease
from daemon.core.initiative import FEWEST_VISITS, INVITING, MOST_PROMISED, PROMISED, WhySilent
from daemon.core.perception import Modality, Place
from daemon.core.phrases import Command
from daemon.core.timetable import MINUTE_MS
from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.initiatives import SpokeUnasked
from daemon.memory.queues.invitations import InvitationAskedFor
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.promises import PromisesKept, PromisesTold
from daemon.memory.records import Delivery, Speaks, Turn, TurnKind
from daemon.mind.motor import Motor, due_early, due_promises, fallback_text, in_short
from daemon.mind.process import Interrupted, ProcessContext
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul


async def room_for_promises(cycle: Cycle, soul: Soul) -> int | None:
    """Return how many more things the soul may promise the person who is answered, None where it may promise nothing.

    It may where it thinks by itself, to people, in a conversation that it can continue. Raises StoreError.
    """
    newest, services, where = cycle.newest, cycle.services, cycle.claim.conversation
    if services.tick_budget(soul) is None or newest.modality is not Modality.WORDS or newest.bot or cycle.holds_earlier:
        return None
    theirs = Speaks.of(newest.author) is Speaks.PERSON and newest.author not in cycle.paused
    goes_on = where.posted_in or newest.place is Place.DM
    if not (theirs and goes_on and cycle.channel.offers(where).unasked):
        return None
    return max(0, MOST_PROMISED - await services.store.minds.promises_to(where.soul, where.workspace, newest.author))


def tell_of_promises(cycle: Cycle, motor: Motor) -> None:
    """Say below a reply what the soul promises with it, and how to decline it."""
    alone = cycle.newest.place is Place.DM
    for one in _promised(motor):
        when = motor.time(one.due_ms, cycle.newest.zone, alone=alone)
        motor.show_below(motor.words.say("promised", what=in_short(one.goal), when=when))


def acts_of_promises(cycle: Cycle, motor: Motor, parts: tuple[str, ...]) -> tuple[MemoryAct, ...]:
    said = (PromisesTold(cycle.claim.key(len(parts) - 1)),) if parts and any(_promised(motor)) else ()
    return (*said, *promises_kept(cycle, parts))


def promises_kept(cycle: Cycle, parts: tuple[str, ...]) -> tuple[MemoryAct, ...]:
    if not parts or not cycle.is_tick:
        return ()
    due = due_promises(cycle.newest, cycle.at_hand)
    kept = due or due_early(cycle.newest, cycle.at_hand)
    spoke = SpokeUnasked(cycle.claim.key(0), tuple(one.id for one in cycle.messages), promised=bool(kept))
    return (PromisesKept(tuple(one.id for one in kept), early=not due), spoke) if kept else (spoke,)


async def words_for_promises(cycle: Cycle) -> tuple[str, tuple[Turn, ...]]:
    """Return the daemon's sentence about promises that the soul can't think about, and its turn, empty if none is due.

    Raises StoreError.
    """
    if not cycle.is_tick or PROMISED not in cycle.newest.params:
        return "", ()
    cycle.at_hand = await cycle.services.store.minds.at_hand(cycle.claim.conversation, cycle.readers)
    say = fallback_text(cycle.words, due_promises(cycle.newest, cycle.at_hand))
    return say, (cycle.says(say, TurnKind.APOLOGY),) if say else ()


def _promised(motor: Motor) -> Iterator[GoalChange]:
    parts = (part for thought in motor.thoughts for part in thought.parts if isinstance(part, GoalChanges))
    return (one for part in parts for one in part.changes if one.promised)


_ASKS_FOR_MS = 14 * 24 * 60 * MINUTE_MS


async def why_silent(cycle: Cycle, *, promised: bool) -> WhySilent:
    """Return why nothing may be said unasked now.

    Only quiet hours hold back promises and words into a silence. Raises StoreError.
    """
    newest, services = cycle.newest, cycle.services
    if not cycle.speaks_first:
        return "not_invited"
    where, quiet, invited = cycle.claim.conversation, services.quiet_hours, promised or not cycle.is_tick
    return await services.store.minds.must_be_silent(where, newest.author, quiet, promised=invited)


async def waits_for_the_day(cycle: Cycle) -> bool:
    """Return whether quiet hours have begun for an unasked thought, which is then thought after them.

    Raises StoreError.
    """
    if not cycle.is_tick or await why_silent(cycle, promised=bool(cycle.newest.params.get(PROMISED))) != "quiet":
        return False
    cycle.dismiss("quiet")
    return True


def waits_for_readers(cycle: Cycle) -> bool:
    """Return whether an unasked thought has to wait because its readers, or their private rooms, are unknown now.

    It would know less than was known when something was promised there. It is tried again a minute later.
    """
    if not cycle.is_tick or not (cycle.readers.unproven or cycle.readers.rooms_unproven):
        return False
    cycle.services.emit("tick.skipped", trace=cycle.trace_id, why="breaker", reason="it is not known who reads there")
    cycle.dismiss("breaker")
    return True


async def ask_for_invitation(cycle: Cycle, context: ProcessContext, motor: Motor) -> None:
    """Ask once below a reply in a DM whether the soul may write unasked, with two buttons.

    Raises StoreError.
    """
    if not _may_ask(cycle, context, motor):
        return
    now = cycle.services.clock.now_ms()
    found = await cycle.services.store.minds.invitation_of(cycle.claim.conversation, cycle.newest.author)
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


class WordsCame(LostLease):
    """A person wrote during an unasked thought. The thought that answers them takes its place."""


def shown_thinking(cycle: Cycle) -> AbstractAsyncContextManager[Callable[[str], None]]:
    """Show people that the soul thinks, and how, except for an unasked thought."""
    return nullcontext(lambda _: None) if cycle.is_tick else cycle.channel.thinking(cycle.newest)


async def cancel_on_message(cycle: Cycle, running: Coroutine[object, object, Delivery | None]) -> Delivery | None:
    """Return the result of a cycle. Raises WordsCame if it was unasked and a person writes during it."""
    if not cycle.is_tick:
        return await running
    try:
        return await cycle.interrupt.unless_called(running)
    except Interrupted:
        raise WordsCame("words came first", hint="nothing to do: they are answered") from None
