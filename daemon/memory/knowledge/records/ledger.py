"""The ledger: one chained row for every write to memory, which makes tampering visible (`reliability.md` P48)."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Final

from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.records import as_json

_BATCH: Final = 2_000
_GENESIS: Final = ""
_TAUGHT: Final = "taught by "

EDITED: Final = "edited"
"""The reason for the change of a turn whose message was edited."""


class Write(Value):
    """A write to memory. `content` is digested. Neither `act` nor `reason` holds words of users."""

    act: str
    subject: str
    content: object = None
    reason: str = ""


async def note_write(
    transaction: Transaction, *, act: str, subject: str, content: object = None, reason: str = "", now: int
) -> None:
    await note_writes(transaction, [Write(act, subject, content, reason)], now)


async def note_writes(transaction: Transaction, writes: Sequence[Write], now: int) -> None:
    """Add writes to the chain in order. The end of the chain is read only once."""
    if not writes:
        return
    last = await transaction.one("SELECT chain FROM ledger ORDER BY seq DESC LIMIT 1")
    chain = last["chain"] if last else _GENESIS
    for write in writes:
        salt = secrets.token_hex(16) if write.content is not None else ""
        digest = digest_of(salt, write.content)
        row = {"act": write.act, "object": write.subject, "reason": write.reason, "digest": digest, "at_ms": now}
        chain = _link(chain, row)
        await transaction.insert("ledger", salt=salt, chain=chain, **row)


async def last_write(transaction: Transaction, subject: str) -> int:
    """Return the number of the newest write to a record, or 0."""
    row = await transaction.one("SELECT max(seq) AS seq FROM ledger WHERE object = :subject", subject=subject)
    return int(row["seq"] or 0) if row else 0


async def take_back(transaction: Transaction, turns: Sequence[str], now: int) -> None:
    """Note that a user had the facts from these turns forgotten. The turns teach nothing further unless reworded."""
    writes = [Write("take back", f"{_TAUGHT}{one}") for one in dict.fromkeys(turns)]  # keeps `last_write` of the turn
    await note_writes(transaction, writes, now)


async def is_taken_back(transaction: Transaction, turn: str) -> bool:
    """Return True if a user had the facts from a turn forgotten, and the turn was not reworded since."""
    taken = await last_write(transaction, f"{_TAUGHT}{turn}")
    reworded = taken and await transaction.one(
        "SELECT 1 FROM ledger WHERE object = :turn AND seq > :taken AND reason = :edited",
        turn=turn,
        taken=taken,
        edited=EDITED,
    )
    return bool(taken) and reworded is None


async def forget_salts(transaction: Transaction, subject: str) -> None:
    """Delete the salts of a record. Its digests then reveal nothing of its words, and the chain stays whole."""
    await transaction.run("UPDATE ledger SET salt = '' WHERE object = :subject AND salt <> ''", subject=subject)


def digest_of(salt: str, content: object) -> str:
    """Return the digest of a content. Empty for None."""
    return "" if content is None else hashlib.sha256(f"{salt}\x1f{as_json(content)}".encode()).hexdigest()


async def broken_at(database: Database) -> int | None:
    """Return the first row of the ledger that does not follow from the one before it. None if the chain is whole."""
    chain, last = _GENESIS, 0
    while rows := await database.rows(
        "SELECT * FROM ledger WHERE seq > :last ORDER BY seq LIMIT :most", last=last, most=_BATCH
    ):
        for row in rows:
            chain = _link(chain, {name: row[name] for name in ("act", "object", "reason", "digest", "at_ms")})
            if chain != row["chain"]:
                seq: int = row["seq"]
                return seq
        last = rows[-1]["seq"]
    return None


def _link(before: str, row: dict[str, object]) -> str:
    return hashlib.sha256(f"{before}\x1f{as_json(row)}".encode()).hexdigest()
