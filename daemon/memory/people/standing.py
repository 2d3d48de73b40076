"""Users' decisions about remembering (paused, informed, about to forget everything), and beliefs about them."""

import json
from collections.abc import Collection, Mapping
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.people.tombstones import was_said_before
from daemon.memory.reader_codes import heard_by
from daemon.memory.stream.emptying import empty_these
from daemon.memory.worker_store import WorkerStore

_KEY = "soul = :soul AND workspace = :workspace AND person = :person"


class Remembering(WorkerStore):
    """The decisions of one worker's users. Commits write them."""

    async def paused(self, people: Collection[str]) -> frozenset[str]:

        async def unit(transaction: Transaction) -> frozenset[str]:
            return await paused_of(transaction, self._worker.scope, people)

        return await self._database.read(unit) if people else frozenset()

    async def forgotten(self, said: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Return the messages (author, ts) that their author asked to forget."""

        async def unit(transaction: Transaction) -> frozenset[tuple[str, str]]:
            workspace = self._worker.scope["workspace"]
            return frozenset([one for one in said if await was_said_before(transaction, workspace, *one)])

        return await self._database.read(unit) if said else frozenset()

    async def was_informed(self, person: str) -> bool:
        """Return True if the person was informed that the soul remembers."""
        row = await self._database.one(
            f"SELECT 1 FROM remembering WHERE {_KEY} AND informed_ms IS NOT NULL",  # noqa: S608 - a constant
            person=person,
            **self._worker.scope,
        )
        return row is not None

    async def may_confirm(self, person: str) -> bool:
        """Return True if the person recently asked to forget everything."""
        row = await self._database.one(
            f"SELECT 1 FROM remembering WHERE {_KEY} AND forget_until_ms > :now",  # noqa: S608 - a constant
            person=person,
            now=self._clock.now_ms(),
            **self._worker.scope,
        )
        return row is not None


async def paused_of(transaction: Transaction, scope: Mapping[str, str], people: Collection[str]) -> frozenset[str]:
    """Return those of the people who paused remembering, their sessions included. `scope` has soul and workspace."""
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
    """Store a decision. `column` must be a literal of this package."""
    await transaction.insert(
        "remembering",
        f"ON CONFLICT (soul, workspace, person) DO UPDATE SET {column} = excluded.{column}",
        person=person,
        **scope,
        **{column: value},
    )


_ID: Final = "MB_"
_MOST: Final = 100


class Belief(Value):
    """A belief in force, with its beginning and end (ms, UTC)."""

    id: str
    attribute: str
    words: str
    since_ms: int
    until_ms: int

    @property
    def text(self) -> str:
        return f"{self.attribute}: {self.words}"


async def beliefs_about(  # noqa: PLR0917 - one of each
    database: Database, scope: Mapping[str, str], person: str, readers: Readers, where: ConversationKey, now: int
) -> tuple[Belief, ...]:
    """Return current beliefs about a person that the readers of an answer may hear, oldest first. Raises StoreError."""
    heard, values = heard_by(readers, where, audience="d.audience", channel="c.channel", thought_before="d.readers")
    rows = await database.rows(
        f"""
        SELECT d.* FROM mind_documents d JOIN conversations c ON c.id = d.conversation
        WHERE d.person = :person AND d.person <> '' AND d.soul = :soul AND d.workspace = :workspace AND d.newest = 1
          AND d.until_ms > :now AND {heard} ORDER BY d.seq LIMIT {_MOST}
        """,  # noqa: S608 - constants of this package
        person=person,
        now=now,
        **values,
        **scope,
    )
    return tuple(
        Belief(f"{_ID}{row['seq']}", row["attribute"], row["words"], row["at_ms"], row["until_ms"]) for row in rows
    )


async def forget_belief(transaction: Transaction, scope: Mapping[str, str], person: str, name: str) -> None:
    """Forget a belief about a person, all its versions, and the thoughts that hold it."""
    if not name.startswith(_ID) or not name[len(_ID) :].isdecimal():
        return
    rows = await transaction.rows(
        """
        SELECT o.seq, o.thought FROM mind_documents b JOIN mind_documents o ON o.soul = b.soul
          AND o.workspace = b.workspace AND o.audience = b.audience AND o.document = b.document AND o.part = b.part
          AND o.attribute = b.attribute
        WHERE b.seq = :seq AND b.person = :person AND b.soul = :soul AND b.workspace = :workspace
        """,
        seq=int(name[len(_ID) :]),
        person=person,
        **scope,
    )
    await empty_these(transaction, sorted({row["thought"] for row in rows}))
    await transaction.run(
        "DELETE FROM mind_documents WHERE seq IN (SELECT value FROM json_each(:seqs))",
        seqs=json.dumps([row["seq"] for row in rows]),
    )
