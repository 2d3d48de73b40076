"""The path of states is stored in order, for each conversation apart."""

import pytest

from daemon.core.perception import ConversationKey
from daemon.memory.database import Database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.soul_states import PathStep, state_path, store_path
from tests.given import DM, SOUL, TEAM
from tests.store.parts import room


async def _store(database: Database, key: ConversationKey, trace: str, *steps: PathStep) -> None:
    await room(database, key)
    await database.write(lambda transaction: store_path(transaction, key, trace, steps, 7))


async def test_known_steps_are_read_oldest_first_and_a_limit_keeps_the_newest(database: Database) -> None:
    for act, decided_by in (("leap", "rule"), ("move", "whim")):
        with pytest.raises(sqlite3.IntegrityError):
            await _store(database, DM, "t1", PathStep(0, act, "", "greeting", decided_by, ""))
    assert await state_path(database, DM, 1) == []
    moved = PathStep(1, "move", "greeting", "curious", "model", "Ben asked why.", {"topic": "tides"})
    await _store(database, DM, "t1", PathStep(0, "enter", "", "greeting", "rule", "A stranger."), moved)
    await _store(database, DM, "t2", PathStep(0, "stay", "curious", "curious", "rule", "There is more."))
    await _store(
        database, ConversationKey(SOUL, TEAM, "D2"), "t3", PathStep(0, "enter", "", "ready", "schedule", "Due.")
    )
    whole = await state_path(database, DM, 10)
    assert [(one["trace_id"], one["hop"], one["act"]) for one in whole] == [
        ("t1", 0, "enter"),
        ("t1", 1, "move"),
        ("t2", 0, "stay"),
    ]
    assert await state_path(database, DM, 2) == whole[1:]
    (_, second, _) = whole
    assert (
        second["origin"],
        second["target"],
        second["decided_by"],
        second["reason"],
        second["params"],
        second["at_ms"],
    ) == (
        "greeting",
        "curious",
        "model",
        "Ben asked why.",
        {"topic": "tides"},
        7,
    )
