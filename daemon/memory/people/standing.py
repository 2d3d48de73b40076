"""What each person decided about being remembered: paused, informed of it, about to have everything forgotten."""

from collections.abc import Collection, Mapping

from daemon.memory.database import Transaction
from daemon.memory.people.tombstones import was_said_before
from daemon.memory.worker_store import WorkerStore

_KEY = "soul = :soul AND workspace = :workspace AND person = :person"


class Remembering(WorkerStore):
    """Reads what one worker's people decided; the acts of a commit write it."""

    async def paused(self, people: Collection[str]) -> frozenset[str]:
        """Those of the people of whom nothing is to be remembered now."""

        async def unit(transaction: Transaction) -> frozenset[str]:
            return await paused_of(transaction, self._worker.scope, people)

        return await self._database.read(unit) if people else frozenset()

    async def forgotten(self, said: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Those of the platform's messages, each its author and ts, that their author asked to be forgotten."""

        async def unit(transaction: Transaction) -> frozenset[tuple[str, str]]:
            workspace = self._worker.scope["workspace"]
            return frozenset([one for one in said if await was_said_before(transaction, workspace, *one)])

        return await self._database.read(unit) if said else frozenset()

    async def was_informed(self, person: str) -> bool:
        """Whether the person was informed that the soul remembers."""
        row = await self._database.one(
            f"SELECT 1 FROM remembering WHERE {_KEY} AND informed_ms IS NOT NULL",  # noqa: S608 - a constant
            person=person,
            **self._worker.scope,
        )
        return row is not None

    async def may_confirm(self, person: str) -> bool:
        """Whether the person asked, a while ago at most, that everything be forgotten."""
        row = await self._database.one(
            f"SELECT 1 FROM remembering WHERE {_KEY} AND forget_until_ms > :now",  # noqa: S608 - a constant
            person=person,
            now=self._clock.now_ms(),
            **self._worker.scope,
        )
        return row is not None


async def paused_of(transaction: Transaction, scope: Mapping[str, str], people: Collection[str]) -> frozenset[str]:
    """Those of the people of whom nothing is to be remembered now, their sessions among them.

    `scope` holds soul and workspace.
    """
    rows = await transaction.rows(
        """
        WITH paused AS (SELECT person FROM remembering
                        WHERE soul = :soul AND workspace = :workspace AND paused_ms IS NOT NULL)
        SELECT person FROM paused UNION ALL SELECT 'session.' || k.id FROM paused p JOIN keys k ON k.person = p.person
        """,
        **scope,
    )
    return frozenset(row["person"] for row in rows) & frozenset(people)


async def decide(
    transaction: Transaction, scope: Mapping[str, str], person: str, column: str, value: int | None
) -> None:
    """Store a decision; `column` is a literal of this package."""
    await transaction.insert(
        "remembering",
        f"ON CONFLICT (soul, workspace, person) DO UPDATE SET {column} = excluded.{column}",
        person=person,
        **scope,
        **{column: value},
    )
