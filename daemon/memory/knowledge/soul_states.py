"""The soul's own state, per audience: how it feels, what it talks of and works at; never one for all (design, 8)."""

import sqlite3
from dataclasses import dataclass

from daemon.core.perception import Audience
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class SoulState:
    """How the soul is where one audience listens: what it felt at `felt_ms`, since when it fades; topic and task."""

    emotional_state: str
    felt_ms: int
    topic: str = ""
    task: str = ""
    version: int = 0

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "SoulState":
        """Read a `soul_state` row."""
        return cls(
            emotional_state=row["emotional_state"],
            felt_ms=row["felt_ms"],
            topic=row["topic"],
            task=row["task"],
            version=row["version"],
        )


class SoulStates:
    """Reads and revises the soul's states."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def known(self, soul: str, workspace: str, audience: Audience) -> SoulState | None:
        """The state before exactly this audience; None while nothing was ever felt there."""

        async def unit(transaction: Transaction) -> SoulState | None:
            row = await transaction.one(
                "SELECT * FROM soul_state WHERE soul = :soul AND workspace = :workspace AND audience = :audience",
                soul=soul,
                workspace=workspace,
                audience=str(audience),
            )
            return SoulState.from_row(row) if row else None

        return await self._database.read(unit)

    async def revise(
        self,
        soul: str,
        workspace: str,
        audience: Audience,
        *,
        expected_version: int,
        emotional_state: str,
        topic: str,
        task: str,
    ) -> bool:
        """Feel something anew from now on; `expected_version` is the one it was made from, zero for none.

        False, and nothing is written, when somebody was faster. Whoever calls has made sure that the soul knows the
        emotional state.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(
                """
                INSERT INTO soul_state (soul, workspace, audience, version, emotional_state, felt_ms, topic, task,
                                        updated_ms)
                SELECT :soul, :workspace, :audience, 1, :emotional_state, :now, :topic, :task, :now
                WHERE :expected = 0 OR EXISTS (SELECT 1 FROM soul_state WHERE soul = :soul AND workspace = :workspace
                                                 AND audience = :audience)
                ON CONFLICT (soul, workspace, audience) DO UPDATE SET version = soul_state.version + 1,
                  emotional_state = excluded.emotional_state, felt_ms = excluded.felt_ms, topic = excluded.topic,
                  task = excluded.task, updated_ms = excluded.updated_ms
                  WHERE soul_state.version = :expected
                RETURNING version
                """,
                soul=soul,
                workspace=workspace,
                audience=str(audience),
                expected=expected_version,
                emotional_state=emotional_state,
                topic=topic,
                task=task,
                now=now,
            )
            return row is not None

        return await self._database.write(unit)
