"""Reading and writing shared contexts: a change needs the version that its author saw (seed 003).

A context has an audience (its readers) and writers. A writer whose words not all readers may hear is refused: nothing
said in a DM reaches other readers.
"""

import json
from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.contexts import (
    OPERATOR,
    SOULS,
    ContextConflict,
    ContextRefused,
    ContextState,
    ContextVersion,
    JSONObject,
    Writer,
    as_stored,
    checked_key,
)
from daemon.core.lineage import context_id
from daemon.core.perception import Audience, AudienceKind
from daemon.core.text import plain_lines
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.stream.emptying import empty_thoughts_on

KEPT_VERSIONS: Final = 200

Change = Callable[[JSONObject], JSONObject]
"""A pure function from the current data to the new data. It may be called again."""


async def read_context(transaction: Transaction, key: str, workspace: str) -> ContextState:
    """Return a context, with version 0 before the first change. Raises ContextRefused for an invalid key."""
    row = await transaction.one("SELECT * FROM shared_context WHERE context_key = :key", key=checked_key(key))
    return _state(row) if row else ContextState(key, 0, {}, Audience(AudienceKind.WORKSPACE, workspace))


async def workspace_of_file(transaction: Transaction) -> str:
    """Return the newest workspace of a daemon on this memory.db, or ''."""
    row = await transaction.one(
        """
        SELECT workspace FROM (SELECT workspace FROM presence ORDER BY seen_ms DESC LIMIT 1)
        UNION ALL SELECT workspace FROM (SELECT workspace FROM conversations ORDER BY last_ms DESC LIMIT 1) LIMIT 1
        """
    )
    return row["workspace"] if row else ""


async def list_contexts(transaction: Transaction) -> list[ContextState]:
    return [_state(row) for row in await transaction.rows("SELECT * FROM shared_context ORDER BY context_key")]


async def context_history(transaction: Transaction, key: str, limit: int) -> list[ContextVersion]:
    rows = await transaction.rows(
        "SELECT * FROM shared_context_history WHERE context_key = :key ORDER BY version DESC LIMIT :limit",
        key=checked_key(key),
        limit=limit,
    )
    return [
        ContextVersion(row["version"], json.loads(row["data"]), row["author"], row["at_ms"], bool(row["redacted"]))
        for row in rows
    ]


async def write_context(
    transaction: Transaction, key: str, data: JSONObject, seen: int | None, *, writer: Writer, workspace: str, now: int
) -> ContextState:
    """Store the data as the next version, unless it is unchanged.

    `seen` is the version that it was made from, None for any. Raises ContextConflict if `seen` is no longer the newest,
    and ContextRefused if the change isn't allowed.
    """
    found = await read_context(transaction, key, workspace)
    if seen is not None and seen != found.version:
        raise ContextConflict(found)
    text = await require_allowed(transaction, found, data, writer)
    if found.version and text == as_stored(found.data):
        return found
    if not set(plain_lines(found.data)) <= set(plain_lines(data)):  # not if the change only adds lines
        await empty_thoughts_on(transaction, [context_id(key)])
    await transaction.insert(
        "shared_context",
        """
        ON CONFLICT (context_key) DO UPDATE SET data = excluded.data, version = excluded.version,
          author = excluded.author, updated_ms = excluded.updated_ms
        """,
        context_key=key,
        data=text,
        version=found.version + 1,
        audience=str(found.audience),
        author=writer.name,
        updated_ms=now,
    )
    await transaction.insert(
        "shared_context_history",
        context_key=key,
        version=found.version + 1,
        data=text,
        author=writer.name,
        at_ms=now,
    )
    await transaction.run(
        "DELETE FROM shared_context_history WHERE context_key = :key AND version <= :old",
        key=key,
        old=found.version + 1 - KEPT_VERSIONS,
    )
    return await read_context(transaction, key, workspace)


async def require_allowed(transaction: Transaction, found: ContextState, data: JSONObject, writer: Writer) -> str:
    """Return the data as stored JSON. Raises ContextRefused if the change isn't allowed."""
    text = as_stored(data)
    require_free(found.key)
    _require_writer(found, writer)
    if not found.version:
        await _require_room(transaction, writer)
    return text


async def define_context(
    transaction: Transaction,
    key: str,
    *,
    workspace: str,
    now: int,
    audience: Audience | None = None,
    writers: Sequence[str] | None = None,
) -> ContextState:
    """Set the readers and writers of a context, unless None. Readers can only be narrowed. Raises ContextRefused."""
    found = await read_context(transaction, key, workspace)
    require_free(key)
    if audience is not None and found.version and not audience.within(found.audience):
        raise ContextRefused(
            f"{key} is for {found.audience}; what stands there was not written for {audience}",
            hint="use another key for other readers",
        )
    if found.version and audience not in {None, found.audience}:
        await empty_thoughts_on(transaction, [context_id(key)])
    await transaction.insert(
        "shared_context",
        """
        ON CONFLICT (context_key) DO UPDATE SET audience = excluded.audience, writers = excluded.writers
        """,
        context_key=key,
        audience=str(audience or found.audience),
        writers=json.dumps(sorted(set(writers)) if writers is not None else found.writers),
        updated_ms=now,
    )
    return await read_context(transaction, key, workspace)


def require_readers(found: ContextState, writer: Writer) -> None:
    """Raise ContextRefused unless all readers may hear the writer's words. They always may hear the admin's."""
    if writer.name != OPERATOR and not found.audience.within(writer.audience):
        raise ContextRefused(
            f"what is said to {writer.audience} is not for all who read {found.key}",
            hint="write it from a conversation that they may read",
        )


def require_free(key: str) -> str:
    """Return the key. Raises ContextRefused for a reserved one."""
    if key == SOULS:
        raise ContextRefused(f"{SOULS} is kept by the daemons alone", hint="use another key")
    return key


def _require_writer(found: ContextState, writer: Writer) -> None:
    if writer.name != OPERATOR and found.writers and writer.name not in found.writers:
        raise ContextRefused(
            f"{writer.name} may not write {found.key}", hint=f"its writers are {', '.join(found.writers)}"
        )
    require_readers(found, writer)


async def _require_room(transaction: Transaction, writer: Writer) -> None:
    if writer.most is None:
        return
    row = await transaction.one("SELECT count(*) AS own FROM shared_context WHERE author = :name", name=writer.name)
    if row is not None and row["own"] >= writer.most:
        raise ContextRefused(
            f"{writer.name} was the last to write {row['own']} contexts, and begins no other",
            hint="write into one of those that there are",
        )


def _state(row: sqlite3.Row) -> ContextState:
    return ContextState(
        row["context_key"],
        row["version"],
        json.loads(row["data"]),
        Audience.parse(row["audience"]),
        tuple(json.loads(row["writers"])),
        row["author"],
        row["updated_ms"] if row["version"] else 0,
    )


class SharedChange(Value):
    """A change of the context `key` by a cycle.

    A change that is refused is passed to `dropped`, and `changed` is called after changed data. The soul writes with
    its conversation's audience: nothing said there reaches readers who may not hear it.
    """

    key: str
    change: Change
    dropped: Callable[[ContextRefused], None]
    changed: Callable[[], None] = lambda: None

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        where = asker.conversation
        try:
            found = await read_context(transaction, self.key, where.workspace)
            written = await write_context(
                transaction,
                self.key,
                self.change(found.data),
                found.version,
                writer=Writer(where.soul, asker.audience),
                workspace=where.workspace,
                now=now,
            )
        except ContextRefused as refused:
            self.dropped(refused)
        else:
            if written.version != found.version:
                self.changed()
