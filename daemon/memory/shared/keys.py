"""Keys for the hooks of a person's sessions. Only a key's hash is stored."""

import hashlib
import hmac
import re
import secrets
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.pairing import KeyRights
from daemon.core.sessions import Visibility
from daemon.core.value import Value
from daemon.memory.audit import AuditedChanges, one_write, record_act
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import as_json

_KEY: Final = re.compile(r"sk-soul-(?P<id>[0-9a-f]{8})-[A-Za-z0-9_-]{43}")
_PERSON: Final = re.compile(r"[UW][A-Z0-9]{1,30}")
_NONE: Final = hashlib.sha256(b"").hexdigest()


class StoredKey(Value):
    """A stored key. `person` is empty for the admin's. `seen_ms` is the time of its last session.

    `remember`: what its sessions ask to keep is kept, and what is said in them. `direct`: its sessions know the
    person's DM. `machine` is the paired machine's own name, or ''. `left_out` counts the texts over the limit of the
    newest day.
    """

    id: str
    person: str
    visibility: Visibility
    remember: bool
    direct: bool
    created_ms: int
    revoked_ms: int | None
    seen_ms: int | None
    machine: str = ""
    left_out: int = 0


class KeyAdmin(AuditedChanges):
    @one_write
    async def add(
        self,
        transaction: Transaction,
        person: str,
        visibility: Visibility,
        *,
        remember: bool = False,
        direct: bool = False,
    ) -> tuple[StoredKey, str]:
        """Add a key of a person, or of the admin if empty.

        Return it with its text, which is not stored. Raises StoreError for an invalid Slack id, and for `direct`
        without a person.
        """
        if direct and not person:
            raise StoreError("a key without a person has no direct messages", hint="name the person with --person U…")
        if person and not _PERSON.fullmatch(person):
            raise StoreError(f"{person[:40]!r} is no Slack id", hint="give the person's id, as U012ABC")
        rights = KeyRights(visibility, remember, direct)
        made = await make_key(transaction, new_key_id(), person, rights, self._clock.now_ms())
        await self._record(transaction, "add key", made[0].id, person)
        return made

    async def list(self) -> list[StoredKey]:
        """Return all keys, newest first, including revoked ones. Raises StoreError."""
        return await self._database.read(_all)

    @one_write
    async def revoke(self, transaction: Transaction, id_: str) -> StoredKey:
        """Revoke a key. A revoked key stays unchanged. Raises StoreError if there is none."""
        changed = await transaction.one(
            "UPDATE keys SET revoked_ms = :now WHERE id = :id AND revoked_ms IS NULL RETURNING id",
            id=id_,
            now=self._clock.now_ms(),
        )
        if changed:
            await self._record(transaction, "revoke key", id_)
        for one in await _all(transaction):
            if one.id == id_:
                return one
        raise StoreError(f"there is no key {id_[:40]}", hint="see `soul sessions keys list`")


def new_key_id() -> str:
    return secrets.token_hex(4)


async def make_key(
    transaction: Transaction, id_: str, person: str, rights: KeyRights, now: int, *, machine: str = ""
) -> tuple[StoredKey, str]:
    """Store a new key, for a named `machine` if any. Return it with its text, which is not stored."""
    text = f"sk-soul-{id_}-{secrets.token_urlsafe(32)}"
    await transaction.insert(
        "keys",
        id=id_,
        hash=hash_of(text),
        person=person,
        visibility=rights.visibility,
        remember=rights.remember,
        direct=rights.direct,
        created_ms=now,
        machine=machine,
    )
    stored = StoredKey(id_, person, rights.visibility, rights.remember, rights.direct, now, None, None, machine)
    return stored, text


class Keys:
    """The lookup of keys in requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def still(self, id_: str) -> StoredKey | None:
        """Return the key with this id if it is valid. Raises StoreError."""
        row = await self._database.one("SELECT *, NULL AS seen_ms FROM keys WHERE id = :id", id=id_)
        return _stored(row) if row and row["revoked_ms"] is None else None

    async def find(self, text: str) -> StoredKey | None:
        """Return the key with this text, or None for any other text and a revoked key. Raises StoreError."""
        match = _KEY.fullmatch(text)
        id_ = match["id"] if match else ""
        row = await self._database.read(
            lambda transaction: transaction.one("SELECT *, NULL AS seen_ms FROM keys WHERE id = :id", id=id_)
        )
        # Compared in constant time, for unknown ids too: the timing reveals nothing about a key.
        same = hmac.compare_digest(row["hash"] if row else _NONE, hash_of(text))
        return _stored(row) if row and same and row["revoked_ms"] is None else None


def hash_of(text: str) -> str:
    """Return the stored hash of a secret. A key is random enough that its plain hash can't be reversed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def _all(transaction: Transaction) -> list[StoredKey]:
    rows = await transaction.rows(
        """
        SELECT k.*, (SELECT max(s.seen_ms) FROM sessions s WHERE s.key = k.id) AS seen_ms
        FROM keys k ORDER BY k.created_ms DESC, k.id
        """
    )
    return [_stored(row) for row in rows]


def _stored(row: sqlite3.Row) -> StoredKey:
    return StoredKey(
        row["id"],
        row["person"],
        Visibility(row["visibility"]),
        bool(row["remember"]),
        bool(row["direct"]),
        row["created_ms"],
        row["revoked_ms"],
        row["seen_ms"],
        row["machine"],
        row["words_left_out"],
    )


class OwnKey(Value):
    """A valid key. `number` is never used again for the person. `machine` is its own name, or ''."""

    number: int
    id: str
    machine: str
    made_ms: int
    seen_ms: int | None


async def own_keys(transaction: Transaction, person: str) -> tuple[OwnKey, ...]:
    """Return a person's valid keys, oldest first."""
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


class KeysEnded(Value):
    """The revocation of a person's own keys. `all_` also ends codes whose key a machine has not fetched."""

    ids: tuple[str, ...]
    all_: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Revoke the keys (see `MemoryAct.perform`). Revoked ones stay unchanged."""
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
