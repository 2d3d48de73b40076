"""Which soul has a thread now: whatever is stored for the thread belongs to that one (see `handoffs`)."""

from dataclasses import replace

from daemon.core.perception import ConversationKey
from daemon.memory.database import Transaction
from daemon.memory.knowledge.handed import handed_among


async def is_hosted(transaction: Transaction, soul: str, workspace: str) -> bool:
    """Whether a daemon says that it hosts the soul; the row of a dead one is deleted (see `Presence`)."""
    row = await transaction.one(
        """
        SELECT 1 FROM presence p, json_each(p.detail, '$.souls') s WHERE p.workspace = :workspace AND s.key = :soul
        """,
        workspace=workspace,
        soul=soul,
    )
    return row is not None


async def holder_of(transaction: Transaction, where: ConversationKey) -> ConversationKey:
    """The conversation of the soul to which a thread was handed; `where` itself if it was not.

    While no daemon hosts that soul, it is the conversation of one that had the thread before and is hosted.
    """
    row = await transaction.one("SELECT handed_to FROM conversations WHERE id = :id", id=str(where))
    now = replace(where, soul=row["handed_to"]) if row and row["handed_to"] else where
    for one in (str(now), *sorted(await handed_among(transaction, str(where)))):
        key = ConversationKey.parse(one)
        if await is_hosted(transaction, key.soul, key.workspace):
            return key
    return now
