"""Forgotten people as salted digests, in memory.db and in a file next to it.

A restored backup that lacks a tombstone of the file forgets again. Their earlier messages are not read again from
Slack's history. Only Slack's timestamps decide, because this machine's clock may be minutes off.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from daemon.core.errors import StoreError
from daemon.core.value import Value
from daemon.memory.database import Transaction

FILE: Final = "forgotten.json"
_MODE: Final = 0o600
_NEWEST: Final = 20  # messages by which the clocks are compared


class Tombstone(Value):
    """The digest of a salt and the id of a forgotten person.

    It covers rows stored up to `forgotten_ms` (this machine's clock), and messages up to `said_ms` (Slack's clock).
    """

    id: str
    workspace: str
    salt: str
    digest: str
    forgotten_ms: int
    said_ms: int

    def is_of(self, person: str) -> bool:
        return secrets.compare_digest(self.digest, _digest(self.salt, self.workspace, person))


def tombstone_of(workspace: str, person: str, now: int, said_ms: int) -> Tombstone:
    """Return a new tombstone for messages up to `said_ms` by Slack's clock. `now` is ours."""
    salt = secrets.token_hex(16)
    return Tombstone(secrets.token_hex(8), workspace, salt, _digest(salt, workspace, person), now, said_ms)


def platform_ms(ts: str) -> int:
    """Return a message's ts in ms of Slack's clock, 0 if it isn't a number."""
    try:
        return int(float(ts) * 1000)
    except (ValueError, OverflowError):
        return 0


async def platform_now(transaction: Transaction, workspace: str, now: int) -> int:
    """Return Slack's time in ms when our clock says `now`, never before a known message.

    The newest live messages give the difference of the clocks, as a message arrives in a moment. Messages of the
    terminal and of HTTP have our clock's time. Without messages, both clocks count as equal.
    """
    row = await transaction.one(
        """
        SELECT coalesce(min(received_ms - said), 0) AS ahead, coalesce(max(said), 0) AS newest FROM
          (SELECT received_ms, CAST(CAST(ts AS REAL) * 1000 AS INTEGER) AS said FROM inbox
           WHERE workspace = :workspace AND source = 'live' AND modality = 'words' AND place <> 'terminal'
           ORDER BY rowid DESC LIMIT :newest)
        """,
        workspace=workspace,
        newest=_NEWEST,
    )
    assert row is not None
    return max(int(row["newest"]), now - int(row["ahead"]))


async def was_said_before(transaction: Transaction, workspace: str, person: str, ts: str) -> bool:
    """Return True if a person asked to be forgotten at or after that message, by Slack's clock."""
    stones = await _tombstones(transaction, "workspace = :workspace AND said_ms >= :ms", workspace, platform_ms(ts))
    return any(one.is_of(person) for one in stones)


async def was_stored_before(transaction: Transaction, workspace: str, person: str, at_ms: int) -> bool:
    """Return True if a person's rows stored at that time, by a daemon's clock, are forgotten."""
    stones = await _tombstones(transaction, "workspace = :workspace AND forgotten_ms >= :ms", workspace, at_ms)
    return any(one.is_of(person) for one in stones)


async def all_tombstones(transaction: Transaction) -> tuple[Tombstone, ...]:
    return await _tombstones(transaction, "1 = 1 OR workspace = :workspace OR forgotten_ms = :ms", "", 0)


def read_file(folder: Path) -> tuple[Tombstone, ...]:
    """Return the tombstones of the file next to memory.db. Raises StoreError if it is unreadable."""
    path = folder / FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
        return tuple(Tombstone(**{"said_ms": one["forgotten_ms"], **one}) for one in kept["forgotten"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"{path} can't be read: {error}",
            hint="it says who was forgotten, so that a backup forgets them again; put back a copy of it, or move it "
            "away if no person asked to be forgotten",
        ) from error


def write_file(folder: Path, tombstones: Sequence[Tombstone]) -> None:
    """Add tombstones to the file, durably. Raises StoreError."""
    known = {one.id: one for one in (*read_file(folder), *tombstones)}
    path, fresh = folder / FILE, folder / f".{FILE}.{secrets.token_hex(4)}"
    try:
        handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"forgotten": [asdict(one) for one in known.values()]}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} can't be written: {error.strerror}",
            hint="check the owner and mode of the data folder, and its space",
        ) from error
    finally:
        with suppress(OSError):
            fresh.unlink()


async def _tombstones(transaction: Transaction, where: str, workspace: str, ms: int) -> tuple[Tombstone, ...]:
    rows = await transaction.rows(
        f"SELECT id, workspace, salt, digest, forgotten_ms, said_ms FROM tombstones WHERE {where}",  # noqa: S608 - literals
        workspace=workspace,
        ms=ms,
    )
    return tuple(Tombstone(*row) for row in rows)


def _digest(salt: str, workspace: str, person: str) -> str:
    return hashlib.sha256(f"{salt}\x1f{workspace}\x1f{person}".encode()).hexdigest()
