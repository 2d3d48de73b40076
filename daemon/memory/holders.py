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


async def called_by_people(transaction: Transaction) -> dict[str, str]:
    """The names that people see of the souls that daemons host; those of older programs are left out."""
    rows = await transaction.rows(
        "SELECT s.key AS soul, s.value AS shown FROM presence p, json_each(p.detail, '$.called') s ORDER BY started_ms"
    )
    return {row["soul"]: row["shown"] for row in rows}


async def other_apps(transaction: Transaction, where: ConversationKey) -> dict[str, frozenset[str]]:
    """The platform ids of the accounts by which souls would post that no account hosts which hosts the soul of `where`.

    An account writes in the rooms that it is in itself. Daemons that name none are left out.
    """
    rows = await transaction.rows(
        """
        SELECT s.key AS soul, json_extract(p.detail, '$.account') AS account
        FROM presence p, json_each(p.detail, '$.souls') s WHERE p.workspace = :workspace AND account <> ''
        """,
        workspace=where.workspace,
    )
    accounts: dict[str, set[str]] = {}
    for row in rows:
        accounts.setdefault(row["soul"], set()).add(row["account"])
    own = accounts.get(where.soul, set())
    return {soul: frozenset(found) for soul, found in accounts.items() if own and not own & found}


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
