"""A soul's promises to come back to something: said below the reply that makes them, and kept in words."""

from collections.abc import Iterator

from daemon.core.initiative import MOST_PROMISED, PROMISED
from daemon.core.perception import Modality, Place
from daemon.memory.mind.goal_changes import GoalChange, GoalChanges
from daemon.memory.queues.initiatives import SpokeUnasked
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.promises import PromisesKept, PromisesTold
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.mind.motor import Motor, due_early, due_promises, fallback_text, in_short
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
    say, soul = fallback_text(cycle.words, due_promises(cycle.newest, cycle.at_hand)), cycle.soul
    said = Turn(Speaks.SOUL, soul.name, soul.display_name, cycle.newest.ts, say, kind=TurnKind.APOLOGY)
    return say, (said,) if say else ()


def _promised(motor: Motor) -> Iterator[GoalChange]:
    parts = (part for thought in motor.thoughts for part in thought.parts if isinstance(part, GoalChanges))
    return (one for part in parts for one in part.changes if one.promised)
