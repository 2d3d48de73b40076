"""What a soul believes of a person for a while: part of its world models, and for the person to see and to erase."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Database, Transaction
from daemon.memory.reader_codes import heard_by
from daemon.memory.stream.emptying import empty_these

_ID: Final = "MB_"
_MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Belief:
    """A belief in force, since when and until when (ms, UTC)."""

    id: str
    attribute: str
    words: str
    since_ms: int
    until_ms: int

    @property
    def text(self) -> str:
        """The belief as one line."""
        return f"{self.attribute}: {self.words}"


async def beliefs_about(  # noqa: PLR0917 - one of each
    database: Database, scope: Mapping[str, str], person: str, readers: Readers, where: ConversationKey, now: int
) -> tuple[Belief, ...]:
    """The beliefs in force about a person that the readers of an answer may hear, oldest first. Raises StoreError."""
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
    """Forget a belief about a person with all that was believed in its place, and the thoughts that hold it."""
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
