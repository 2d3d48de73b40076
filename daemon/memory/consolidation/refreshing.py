"""Keeps the models of people true to the facts: a new version where lines changed, and no stale guesses."""

from collections.abc import Mapping
from typing import Final

from daemon.core.perception import Audience
from daemon.memory.consolidation.recorder import Recorder
from daemon.memory.consolidation.runs import Run, Runs
from daemon.memory.consolidation.undo import new_version
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.knowledge.user_models import MODEL_KEY
from daemon.memory.records import as_json

PART: Final = "refreshes_models"
STALE_MS: Final = 30 * 86_400_000
"""How long a guess at what a person leaves unsaid holds without another look at them."""

_KEY: Final = ("soul", "workspace", "person", "audience")


async def outdate(recorder: Recorder, fact: Fact, change: Mapping[str, object]) -> None:
    """Give the model of a fact's person its next version, so that a revision that is under way is refused."""
    if fact.person:
        key = {name: str(getattr(fact, name)) for name in _KEY}
        await new_version(recorder.transaction, key, change, recorder.now)


class Refreshing:
    """Lets go of guesses about people that nothing renewed for long."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def stale(self, audience: Audience, now: int) -> tuple[str, ...]:
        """The people of an audience whose guesses are stale."""

        async def unit(transaction: Transaction) -> tuple[str, ...]:
            rows = await transaction.rows(
                """
                SELECT m.person FROM user_models m WHERE m.soul = :soul AND m.workspace = :workspace
                  AND m.audience = :audience AND m.whispers <> '' AND NOT EXISTS (
                    SELECT 1 FROM user_model_history h WHERE h.soul = m.soul AND h.workspace = m.workspace
                      AND h.person = m.person AND h.audience = m.audience AND h.made_ms > :since
                      AND (h.trace_id <> '' OR json_extract(h.change, '$.undone') IS NOT NULL))
                ORDER BY m.person LIMIT 100
                """,
                audience=str(audience),
                **self._runs.scope,
                since=now - STALE_MS,
            )
            return tuple(row["person"] for row in rows)

        return await self._runs.read(unit)

    async def let_go(self, run: Run, person: str) -> None:
        """Empty the guesses about a person, whose words stay in the history as long as nothing is forgotten."""
        key = {**self._runs.scope, "person": person, "audience": str(run.audience)}

        async def unit(recorder: Recorder) -> None:
            transaction = recorder.transaction
            row = await transaction.one(f"SELECT version, whispers FROM user_models WHERE {MODEL_KEY}", **key)  # noqa: S608 - a constant
            if row is None or not row["whispers"]:
                return
            await transaction.run(f"UPDATE user_models SET whispers = '' WHERE {MODEL_KEY}", **key)  # noqa: S608 - a constant
            version = await new_version(transaction, key, {"stale": True}, recorder.now)
            if version is not None:
                await recorder.whispers_gone(as_json(key), row["version"], version)

        await self._runs.write(run, PART, unit)
