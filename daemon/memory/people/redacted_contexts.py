"""The removal of a forgotten person's own words from shared contexts, as a new version."""

import json
from typing import Any

from daemon.core.contexts import OPERATOR
from daemon.core.lineage import context_id
from daemon.memory.database import Transaction
from daemon.memory.people.repeated import Repeats
from daemon.memory.stream.emptying import empty_thoughts_on


async def redact_contexts(transaction: Transaction, found: Repeats, now: int) -> None:
    """Remove the words from shared contexts.

    A soul may have taken them from the person's messages. Old versions lose the words in place and are marked as
    redacted. The newest becomes a new version in the admin's name: watchers receive it, and writers with an old version
    are refused.
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
    """Return the value without the words, in names of fields too: people and souls chose these."""
    if isinstance(value, dict):
        return {found.without_them(name): _with_names(found, one) for name, one in value.items()}
    return [_with_names(found, one) for one in value] if isinstance(value, list) else found.without_them(value)
