"""What surfaced to which reply: kept with its trace, so that nothing comes again at once and *why* can be answered."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.library import Passage
from daemon.core.words import words_of
from daemon.memory.database import Transaction

REPLIES: Final = 3
"""Replies of a conversation within which nothing surfaces again."""

_FACT: Final = "sem_"
_LOOKED_AT: Final = 200  # of the newest turns of a conversation: where nobody is answered, no reply is near
_MENTION: Final = re.compile(r"\b[UW][A-Z0-9]{1,20}\b")
_MOST_PEOPLE: Final = 500  # of those who spoke last


async def keep_surfaced(
    transaction: Transaction, trace_id: str, found: Sequence[tuple[str, Passage]], known: Collection[str], now: int
) -> None:
    """Store what surfaced to a reply, with the marks by which it may cite it, and the facts `known` to it.

    Those facts stand in its prompt anyway, so that they have no mark and don't count as surfaced. All facts among them
    were used: what is never used weighs less with time. What surfaced twice has both marks, with a space between them.
    """
    marked = [(mark, one.id, one.fit) for mark, one in found if one.id]
    for mark, name, score in (*marked, *(("", one, 0.0) for one in known)):
        await transaction.insert(
            "surfaced",
            "ON CONFLICT (trace_id, id) DO UPDATE SET mark = trim(surfaced.mark || ' ' || excluded.mark)",
            trace_id=trace_id,
            id=name,
            mark=mark,
            score=score,
            at_ms=now,
        )
    if facts := [name for _, name, _ in marked if name.startswith(_FACT)] + list(known):
        await transaction.run(
            "UPDATE facts SET used = used + 1, used_ms = :now WHERE id IN (SELECT value FROM json_each(:facts))",
            now=now,
            facts=json.dumps(facts),
        )


async def lately_surfaced(transaction: Transaction, conversation: ConversationKey) -> frozenset[str]:
    """The ids of what surfaced to the last three replies of a conversation."""
    rows = await transaction.rows(
        f"""
        SELECT s.id FROM (SELECT DISTINCT trace_id FROM
          (SELECT trace_id FROM
            (SELECT trace_id, speaker, seq FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT {_LOOKED_AT})
           WHERE speaker = 'soul' ORDER BY seq DESC LIMIT {REPLIES}))
          lately JOIN surfaced s ON s.trace_id = lately.trace_id AND s.mark <> ''
        """,  # noqa: S608 - constants
        id=str(conversation),
    )
    return frozenset(row["id"] for row in rows)


async def people_named(
    transaction: Transaction, text: str, words: Collection[str], here: ConversationKey
) -> frozenset[str]:
    """The platform ids of the people whom a text names, by name or by mention."""
    rows = await transaction.rows(
        f"""
        SELECT person, name FROM user_models WHERE soul = :soul AND workspace = :workspace
        ORDER BY seen_ms DESC LIMIT {_MOST_PEOPLE}
        """,  # noqa: S608 - a constant
        soul=here.soul,
        workspace=here.workspace,
    )
    named = {row["person"] for row in rows if set(words_of(row["name"])).intersection(words)}
    return frozenset(named | set(_MENTION.findall(text)))
