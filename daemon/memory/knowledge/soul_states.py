"""The soul's own state for each audience apart: its mood, its topic and its task."""

from dataclasses import dataclass

from daemon.core.perception import Audience
from daemon.memory.records import read_row
from daemon.memory.worker_store import WorkerStore


@dataclass(frozen=True, slots=True)
class SoulState:
    """The mood since `felt_ms`, from when it fades, the topic and the task before one audience."""

    emotional_state: str
    felt_ms: int
    topic: str = ""
    task: str = ""
    version: int = 0


class SoulStates(WorkerStore):
    """Reads and revises the states of one worker's soul."""

    async def known(self, audience: Audience) -> SoulState | None:
        """The state before exactly this audience; None before the first revision."""
        row = await self._database.one(
            "SELECT * FROM soul_state WHERE soul = :soul AND workspace = :workspace AND audience = :audience",
            audience=str(audience),
            **self._worker.scope,
        )
        return read_row(SoulState, row) if row else None

    async def revise(
        self, audience: Audience, *, expected_version: int, emotional_state: str, topic: str, task: str
    ) -> bool:
        """Store a new state from now on, made from `expected_version` (zero for none).

        False, and nothing is written, when another version is in force by now. The caller has checked that the soul
        knows the emotional state.
        """
        rows = await self._database.run(
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
            audience=str(audience),
            expected=expected_version,
            emotional_state=emotional_state,
            topic=topic,
            task=task,
            now=self._clock.now_ms(),
            **self._worker.scope,
        )
        return bool(rows)
