"""For the admin: what people said of replies, and what was wrong with them."""

import json
from dataclasses import dataclass

from daemon.memory.database import Database
from daemon.memory.records import read_row


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """One person's word on one reply; `key` is that of the post, `why` what was wrong, empty where nobody said so.

    `memories` are the ids of what had surfaced to the reply: what people say of it counts for them.
    """

    key: str
    soul: str
    conversation: str
    author: str
    value: str
    how: str
    why: str
    given_ms: int
    reply: str
    memories: tuple[str, ...] = ()


async def list_feedback(database: Database, limit: int, *, bad_only: bool = False) -> list[JudgedReply]:
    """What people said of replies, newest first. Raises StoreError."""
    rows = await database.rows(
        """
        SELECT o.id AS key, o.soul, o.conversation, f.author, f.value, f.how, f.why, f.given_ms, o.body AS reply,
          (SELECT json_group_array(j.id) FROM judged_memories j WHERE j.outbox = f.outbox AND j.author = f.author)
            AS memories
        FROM feedback f JOIN outbox o ON o.id = f.outbox
        WHERE f.value = 'bad' OR NOT :bad_only ORDER BY f.given_ms DESC, o.seq DESC LIMIT :limit
        """,
        bad_only=bad_only,
        limit=limit,
    )
    return [read_row(JudgedReply, row, memories=lambda ids: tuple(sorted(json.loads(ids)))) for row in rows]
