"""A soul that has goals, for the tests of what becomes of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.admin.schedule_admin import AdminsGoals, NewGoal
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.mind.at_hand import Minds
from daemon.memory.mind.goal_changes import Goal, GoalChange, GoalChanges, StaleShown
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import Row
from tests.fakes import FakeClock
from tests.given import SOUL
from tests.store.thinking import Thinker, new_thought


def add(goal: str, *, priority: float | None = None, due_ms: int = 0, why: str = "they asked") -> GoalChange:
    return GoalChange("add", goal, priority=priority, due_ms=due_ms, why=why)


def complete(goal: str, why: str = "it works") -> GoalChange:
    return GoalChange("complete", id=goal, why=why)


@dataclass
class Aiming:
    """A soul whose thoughts change its goals, on a clock that a test moves."""

    thinker: Thinker
    clock: FakeClock

    async def thinks(
        self,
        where: ConversationKey,
        readers: Readers,
        *changes: GoalChange,
        author: str = "U1",
        passing: bool = False,
        saw: Sequence[str] = (),
    ) -> list[str]:
        """Think a thought with these changes; gives why some did not take effect."""
        one = replace(new_thought("hm", saw=saw), parts=(GoalChanges(changes),))
        await self.thinker.thinks("go on", where, readers, author=author, thoughts=[one], passing=passing)
        row = await self.thinker.database.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return [reason for _, reason in json.loads(row["refused"])]

    async def at_hand(self, where: ConversationKey, readers: Readers) -> tuple[Goal, ...]:
        return (await Minds(self.thinker.database, self.clock).at_hand(where, readers)).goals

    async def were_shown(self, goals: Sequence[Goal], where: ConversationKey, readers: Readers) -> None:
        act = StaleShown(SOUL, tuple(one.id for one in goals if one.stale))

        async def unit(transaction: Transaction) -> None:
            await act.perform(transaction, Asker("U1", where, readers.audience, "1.0"), self.clock.now_ms())

        await self.thinker.database.write(unit)

    async def admin_adds(self, where: ConversationKey, goal: str, why: str = "") -> Row:
        """An admin gives the soul a goal there, for no one by name."""
        return await AdminsGoals(self.thinker.database, self.clock, "root").add(where, NewGoal(goal, 0.5, 0, "", why))

    async def rows(self) -> Sequence[sqlite3.Row]:
        return await self.thinker.database.rows("SELECT * FROM goals ORDER BY seq")

    async def goals(self) -> list[str]:
        return [row["goal"] for row in await self.rows()]
