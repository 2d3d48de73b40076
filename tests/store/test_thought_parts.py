"""Parts of a thought take effect in the transaction that stores it; the next thought hears of those that did not."""

import dataclasses
import json
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.thought_parts import PartsTaken, StoredThought
from daemon.mind.recall import left_out, thoughts_in_mind
from tests.given import DM
from tests.store.parts import Stores
from tests.store.thinking import Thinker, members, new_thought

MINE = members("dm:D1")
EFFECTS = "SELECT id, did, refused, emptied FROM thoughts ORDER BY seq"


@dataclass
class Part:
    """A part of a thought that takes effect as it is ordered to, and notes for which thoughts it was asked."""

    field: str
    taken: PartsTaken
    asked: list[StoredThought] = dataclasses.field(default_factory=list)
    fails: bool = False
    size = 2

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        self.asked.append(thought)
        if self.fails:
            raise StoreError("no room", hint="make some")
        return self.taken


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


async def test_parts_that_took_effect_are_counted_and_the_next_thought_hears_of_the_others(soul: Thinker) -> None:
    goals, memory = Part("goal_updates", PartsTaken(1, ["duplicate"])), Part("memory_ops", PartsTaken(1))
    one = replace(new_thought("hm"), parts=(goals, memory), did={"memory_ops": 1}, refused=(("attention", "too_long"),))
    await soul.thinks("go on", DM, MINE, thoughts=[one])
    row = await _newest(soul)
    assert json.loads(row["did"]) == {"memory_ops": 2, "goal_updates": 1}
    assert json.loads(row["refused"]) == [["attention", "too_long"], ["goal_updates", "duplicate"]]
    (asked,) = goals.asked
    assert (asked.id, asked.conversation, asked.audience, asked.person) == (row["id"], DM, MINE.audience, "U1")
    last = await soul.last(DM, MINE)
    assert left_out(last.previous) == ("attention: too_long", "goal_updates: duplicate")
    assert thoughts_in_mind(last, 0) == (
        "hm\nYou said nothing aloud.\nWithout effect: attention: too_long; goal_updates: duplicate",
    )


async def test_nothing_takes_effect_of_a_thought_that_is_not_to_be_remembered(soul: Thinker) -> None:
    for why in ("paused", "forgotten"):
        goals = Part("goal_updates", PartsTaken(2))
        one = replace(new_thought("hm"), parts=(goals,))
        gone = ["TU_999"] if why == "forgotten" else []
        await soul.thinks("go on", DM, MINE, thoughts=[one], passing=why == "paused", sources=gone)
        row = await _newest(soul)
        assert (goals.asked, row["emptied"]) == ([], why == "forgotten"), why
        assert (json.loads(row["did"]), json.loads(row["refused"])) == ({}, [["goal_updates", "private"]] * 2), why


async def test_a_part_that_can_not_be_stored_takes_the_reply_along(soul: Thinker) -> None:
    one = replace(new_thought("hm"), parts=(Part("goal_updates", PartsTaken(), fails=True),))
    with pytest.raises(StoreError):
        await soul.thinks("go on", DM, MINE, thoughts=[one])
    assert not await soul.database.rows("SELECT id FROM thoughts")
    assert not await soul.database.rows("SELECT * FROM turns WHERE speaker = 'soul'")


async def _newest(soul: Thinker) -> sqlite3.Row:
    return (await soul.database.rows(EFFECTS))[-1]
