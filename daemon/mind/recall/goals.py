"""What the soul means to do, in the prompt's region `goals`: a line each, and what is due first."""

from typing import Final

from daemon.core.lineage import saw
from daemon.core.reminder_words import time_in
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.mind.at_hand import AtHand
from daemon.memory.mind.goals import Goal
from daemon.soul_engine import GOALS

_STALE: Final = "What is stale was untouched for two weeks; it is shown for the last time."


def with_goals(memory: WorkingMemory, held: AtHand, now_ms: int, zone: str) -> WorkingMemory:
    """Put what was meant to be done by now, and the goals, as data: their words may be those of a person.

    The memory itself where there are none.
    """
    goals = held.goals
    meant = [
        Memory(Role.USER, one.words, name=f"you meant to do at {time_in(one.due_ms, zone)}", metadata=saw(one.thought))
        for one in held.intended
    ]
    lines = [Memory(Role.USER, one.goal, name=_about(one, now_ms, zone), metadata=saw(one.source)) for one in goals]
    about = [Memory(Role.SYSTEM, _STALE)] if any(one.stale for one in goals) else []
    return memory.with_region(GOALS, *about, *meant, *lines) if goals or meant else memory


def _about(goal: Goal, now_ms: int, zone: str) -> str:
    """What the house says of a goal: its id, when it is due, and whether it is stale."""
    due = f"due {'since' if goal.due_ms <= now_ms else 'at'} {time_in(goal.due_ms, zone)}" if goal.due_ms else ""
    return ", ".join(filter(None, (f"your {'stale ' if goal.stale else ''}goal {goal.id}", due)))
