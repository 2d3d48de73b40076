"""What the soul expects and what came of it, in the prompt's regions `expected` and `surprises`."""

from typing import Final

from daemon.core.expectations import Outcome
from daemon.core.lineage import saw
from daemon.core.reminder_words import time_in
from daemon.core.tempo import SURPRISING
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.expectations.expected import Expected, ScoredPrediction
from daemon.memory.expectations.predictions import OpenPrediction
from daemon.soul import Soul
from daemon.soul_engine import EXPECTED, SURPRISES

_ACTUAL: Final = {Outcome.HIT: "it came true", Outcome.MISS: "it did not come true"}


def with_expected(memory: WorkingMemory, expected: Expected, soul: Soul, now_ms: int, zone: str) -> WorkingMemory:
    """Put it as data: its words may be those of a person. The greatest surprise stands first, before all else.

    One line says how well a soul foresees that thinks whole thoughts. The memory itself where there is nothing.
    """
    surprises = [_scored(one) for one in expected.errors if one.surprise >= SURPRISING]
    as_expected = [_scored(one) for one in expected.errors if one.surprise < SURPRISING]
    line = expected.sums.in_words if soul.mind == "cycle" else ""
    lines = [
        *([Memory(Role.SYSTEM, line)] if line else []),
        *as_expected,
        *(_open(one, now_ms, zone) for one in expected.open),
    ]
    if surprises:
        memory = memory.with_region(SURPRISES, *surprises)
    return memory.with_region(EXPECTED, *lines) if lines else memory


def what_came(one: ScoredPrediction) -> str:
    """What became of it, in words."""
    return _ACTUAL[one.outcome]


def _scored(one: ScoredPrediction) -> Memory:
    about = f"{one.id}: you were {one.confidence:.0%} sure, and {what_came(one)}"
    return Memory(Role.USER, one.what, name=about, metadata=saw(one.thought))


def _open(one: OpenPrediction, now_ms: int, zone: str) -> Memory:
    over = f"over since {time_in(one.due_ms, zone)}" if one.due_ms <= now_ms else f"until {time_in(one.due_ms, zone)}"
    until = over if one.exchanges is None else f"within {one.exchanges} more replies"
    return Memory(Role.USER, one.what, name=f"{one.id}, {one.confidence:.0%} sure, {until}", metadata=saw(one.thought))
