"""The documents of a mind as an admin sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.memory.database import Database
from daemon.memory.database.driver import sqlite3

_MOST: Final = 10_000
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class ListedPart:
    """One change of a document; `audience` is empty for what is the soul's own everywhere."""

    soul: str
    workspace: str
    audience: str
    document: str
    part: str
    attribute: str
    act: str
    words: str
    why: str
    thought: str
    conversation: str
    at_ms: int
    until_ms: int | None
    in_force: bool

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "ListedPart":
        """Read a `mind_documents` row."""
        return cls(**{name: row[name] for name in _PLAIN}, in_force=bool(row["newest"]))


_PLAIN = (
    *("soul", "workspace", "audience", "document", "part", "attribute", "act", "words", "why", "thought"),
    *("conversation", "at_ms", "until_ms"),
)


async def document_parts(database: Database, soul: str, audience: str, now: int) -> Sequence[ListedPart]:
    """What a soul holds in force of itself and its world, for one audience or for all, oldest first.

    Raises StoreError, also for an audience that the soul has nowhere.
    """
    await _require_audience(database, soul, audience)
    rows = await database.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND document IN ('self_model', 'world_model') AND newest = 1
          AND act <> 'drop' AND (until_ms IS NULL OR until_ms > :now) AND (:audience = '' OR audience = :audience)
        ORDER BY seq LIMIT :most
        """,
        soul=soul,
        audience=audience,
        now=now,
        most=_MOST,
    )
    return [ListedPart.from_row(row) for row in rows]


async def document_history(database: Database, soul: str, audience: str, limit: int) -> Sequence[ListedPart]:
    """The newest changes of a soul's documents, oldest first; of one audience, or of all and the soul's own.

    Raises StoreError, also for an audience that the soul has nowhere.
    """
    await _require_audience(database, soul, audience)
    rows = await database.rows(
        """
        SELECT * FROM mind_documents WHERE soul = :soul AND (:audience = '' OR audience = :audience)
        ORDER BY seq DESC LIMIT :most
        """,
        soul=soul,
        audience=audience,
        most=limit,
    )
    return [ListedPart.from_row(row) for row in reversed(rows)]


async def _require_audience(database: Database, soul: str, audience: str) -> None:
    if not audience:
        return
    rows = await database.rows(
        "SELECT DISTINCT audience FROM conversations WHERE soul = :soul ORDER BY audience", soul=soul
    )
    known = [row["audience"] for row in rows]
    if audience not in known:
        several = ", ".join(known[:_NAMED]) + (", …" if len(known) > _NAMED else "")
        hint = f"it has with: {several}" if known else "it has talked with nobody yet"
        raise StoreError(f"{soul} has talked with no audience {audience[:80]}", hint=hint)
