"""Takes a forgotten person's own words out of what is shared, as a new version: who saw the words notices."""

import json
from typing import Any

from daemon.core.lineage import context_id
from daemon.core.sensing import OPERATOR
from daemon.memory.database import Transaction
from daemon.memory.people.repeated import Repeats
from daemon.memory.stream.emptying import empty_thoughts_on


async def redact_contexts(transaction: Transaction, found: Repeats, now: int) -> None:
    """What is shared stays, without the words; a soul may have taken them from what the person said.

    Versions of the past lose them where they stand, and say so. The newest becomes a new one in the admin's name: who
    still has the words has an old version, so that a watcher is sent the new one and a writer is refused.
    """
    if not found.words:
        return
    changed = set[str]()
    for row in await transaction.rows("SELECT context_key, version, data FROM shared_context_history"):
        if found.holds_one(row["data"]):
            changed.add(row["context_key"])
            await transaction.run(
                "UPDATE shared_context_history SET data = :data, redacted = 1 "
                "WHERE context_key = :key AND version = :version",
                data=_without(found, row["data"]),
                key=row["context_key"],
                version=row["version"],
            )
    for row in await transaction.rows("SELECT context_key, version, data FROM shared_context"):
        if found.holds_one(row["data"]):
            new = {"data": _without(found, row["data"]), "version": row["version"] + 1, "author": OPERATOR}
            await transaction.run(
                """
                UPDATE shared_context SET data = :data, version = :version, author = :author, updated_ms = :now
                WHERE context_key = :key
                """,
                key=row["context_key"],
                now=now,
                **new,
            )
            await transaction.insert("shared_context_history", context_key=row["context_key"], at_ms=now, **new)
            changed.add(row["context_key"])
    await empty_thoughts_on(transaction, map(context_id, sorted(changed)))


def _without(found: Repeats, data: str) -> str:
    return json.dumps(_with_names(found, json.loads(data)), ensure_ascii=False, sort_keys=True)


def _with_names(found: Repeats, value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """The value without the words, in names of fields too: here these are what people and souls chose."""
    if isinstance(value, dict):
        return {found.without_them(name): _with_names(found, one) for name, one in value.items()}
    return [_with_names(found, one) for one in value] if isinstance(value, list) else found.without_them(value)
