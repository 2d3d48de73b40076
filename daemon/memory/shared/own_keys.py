"""A person's own keys: which machines have one, and how the person ends them."""

from dataclasses import dataclass

from daemon.memory.audit import record_act
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import as_json


@dataclass(frozen=True, slots=True)
class OwnKey:
    """A key in force. `number` counts all that the person ever had, so that no key gets that of another.

    `machine` is what it called itself, empty where that is unknown; `seen_ms` is when a session last came with the key.
    """

    number: int
    id: str
    machine: str
    made_ms: int
    seen_ms: int | None


async def own_keys(transaction: Transaction, person: str) -> tuple[OwnKey, ...]:
    """The keys of a person that are in force, oldest first."""
    rows = await transaction.rows(
        """
        SELECT k.number, k.id, k.created_ms, max(s.seen_ms) AS seen_ms,
          CASE k.machine WHEN '' THEN coalesce(max(s.host), '') ELSE k.machine END AS machine
        FROM (SELECT *, row_number() OVER (ORDER BY created_ms, id) AS number FROM keys
              WHERE person = :person AND person <> '') k
        LEFT JOIN sessions s ON s.key = k.id
        WHERE k.revoked_ms IS NULL GROUP BY k.id ORDER BY k.number
        """,
        person=person,
    )
    return tuple(OwnKey(row["number"], row["id"], row["machine"], row["created_ms"], row["seen_ms"]) for row in rows)


@dataclass(frozen=True, slots=True)
class KeysEnded:
    """A person ends these keys of theirs; `all_` of them with those that a machine has still to fetch."""

    ids: tuple[str, ...]
    all_: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; what is ended already stays so."""
        ended = await transaction.rows(
            """
            UPDATE keys SET revoked_ms = :now WHERE person = :person AND person <> '' AND revoked_ms IS NULL
              AND (:all OR id IN (SELECT value FROM json_each(:ids))) RETURNING id
            """,
            now=now,
            person=asker.person,
            all=self.all_,
            ids=as_json(list(self.ids)),
        )
        for row in ended:
            await record_act(transaction, actor=asker.person, act="end own key", subject=row["id"], now=now)
        if self.all_:
            await transaction.run(
                """
                UPDATE pairings SET state = 'dead'
                WHERE workspace = :workspace AND person = :person AND state IN ('asked', 'allowed')
                """,
                workspace=asker.conversation.workspace,
                person=asker.person,
            )
