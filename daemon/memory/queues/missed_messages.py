"""Messages that came too late to be answered unasked: their author alone decides, once, whether they still are.

Each waits until its author is asked (`late_offers.py`), then under the post that asks. A row is gone as soon as it is
decided; then the message is a new one again, or stays as it is.
"""

from collections.abc import Iterable
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.records import InboxMessage

TAKEN_UP: Final = "taken_up"
"""The parameter of a message that its author wants answered though it is old; its age counts from that decision."""

STILL_OPEN: Final = """
  i.state = 'stale' AND i.cleared = 0
  AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = i.conversation AND c.handed_to = '')
"""
"""In SQL: nobody answered or deleted message `i` meanwhile, and its soul still has the thread."""


async def note_missed(transaction: Transaction, missed: Iterable[InboxMessage]) -> None:
    """Remember to ask about these messages, which are settled as too old in the same transaction."""
    for one in missed:
        perception = one.perception
        await transaction.insert(
            "missed_messages",
            "ON CONFLICT (id) DO UPDATE SET offer = '', language = excluded.language",
            id=one.id,
            soul=perception.conversation.soul,
            workspace=perception.conversation.workspace,
            person=perception.author,
            language=perception.language,
        )


async def decide_missed(transaction: Transaction, offer: str, now: int, *, answer: bool) -> None:
    """Let the messages of an offer go; to be answered, they become new ones that arrived at this moment."""
    rows = await transaction.rows("DELETE FROM missed_messages WHERE offer = :offer RETURNING id", offer=offer)
    for row in rows if answer else ():
        await transaction.run(
            f"""
            UPDATE inbox AS i SET state = 'new', aside = 0, reason = '', attempts = 0, not_before = 0,
                   settled_ms = NULL, answered_by = NULL, received_ms = :now,
                   params = json_set(params, '$.{TAKEN_UP}', json('true'))
            WHERE id = :id AND {STILL_OPEN}
            """,  # noqa: S608 - constants of this module
            now=now,
            id=row["id"],
        )


async def forget_missed(transaction: Transaction, message: str) -> None:
    """Ask no more about a message that was deleted."""
    await transaction.run("DELETE FROM missed_messages WHERE id = :id", id=message)
