"""The stream of thought as an admin sees it."""

from collections.abc import Mapping
from dataclasses import dataclass

from daemon.core.errors import StoreError
from daemon.memory.database import Database
from daemon.memory.database.driver import sqlite3
from daemon.memory.records import JSONObject, object_or_nothing, pairs_or_none


@dataclass(frozen=True, slots=True)
class ListedThought:
    """One thought; `input` and `output` are JSON, empty where their words are gone. `seq` orders all thoughts."""

    seq: int
    id: str
    at_ms: int
    soul: str
    conversation: str
    audience: str
    occasion: str
    process: str
    previous: str
    degraded: bool
    spoke: bool
    surprise: float | None
    did: JSONObject
    refused: tuple[Mapping[str, str], ...]
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    input: str
    output: str

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "ListedThought":
        """Read a `thoughts` row."""
        return cls(
            **{name: row[name] for name in _PLAIN},
            degraded=bool(row["degraded"]),
            spoke=bool(row["spoke"]),
            did=object_or_nothing(row["did"]),
            refused=tuple({"field": field, "reason": reason} for field, reason in pairs_or_none(row["refused"])),
        )


_PLAIN = (
    *("seq", "id", "at_ms", "soul", "conversation", "audience", "occasion", "process", "previous", "surprise"),
    *("calls", "tokens_in", "tokens_out", "cost_usd", "input", "output"),
)


async def list_thoughts(
    database: Database, soul: str, conversation: str, limit: int, *, after: int | None = None
) -> tuple[ListedThought, ...]:
    """The newest thoughts of a soul, or of one conversation, oldest first; with `after` the first behind that `seq`.

    Raises StoreError.
    """
    which, values = ("conversation = :of", conversation) if conversation else ("soul = :of", soul)
    order = "DESC" if after is None else "ASC"
    rows = await database.rows(
        f"SELECT * FROM thoughts WHERE {which} AND seq > :after ORDER BY seq {order} LIMIT :most",  # noqa: S608 - literals
        of=values,
        after=after or 0,
        most=limit,
    )
    return tuple(map(ListedThought.from_row, reversed(rows) if after is None else rows))


async def thought_named(database: Database, name: str) -> ListedThought:
    """One thought. Raises StoreError where there is none of that id."""
    row = await database.one("SELECT * FROM thoughts WHERE id = :id", id=name)
    if row is None:
        raise StoreError(f"there is no thought {name[:80]}", hint="list them with `soul mind thoughts`")
    return ListedThought.from_row(row)
