"""Forgets what people asked sessions, and what the sessions of people answered."""

from daemon.core.questions import BUTTON
from daemon.memory.bound_threads import unbind_all
from daemon.memory.database import Transaction
from daemon.memory.people.passing import ITS_PARTS
from daemon.memory.people.repeated import EMPTIED


async def forget_asked(transaction: Transaction, workspace: str, person: str, now: int) -> None:
    """Forget it as far as it stands beside a person's own rows: with the owners of sessions that they asked.

    What others asked the person's own sessions stays theirs, without whose they were; the answers go, and threads are
    bound to these sessions no more.
    """
    who = {"person": person, "workspace": workspace}
    await unbind_all(transaction, workspace, person, now)
    await transaction.run(_ANSWERS_EMPTIED, now=now, **who)
    for statement in _STATEMENTS:
        await transaction.run(statement, **who)
    await transaction.run(_EMPTIED, now=now, **who)


_THEIRS = f"""
    SELECT '{BUTTON}' || id AS approval FROM shared_messages
    WHERE behalf = :person AND behalf <> '' AND workspace = :workspace AND kind IN ('question', 'task')
    """  # noqa: S608 - a constant
_STATEMENTS = (
    f"UPDATE approvals SET state = 'expired' WHERE state = 'waiting' AND id IN ({_THEIRS})",  # noqa: S608 - a constant
    "DELETE FROM shared_messages WHERE owner = :person AND kind IN ('answer', 'said') AND workspace = :workspace",
    "UPDATE shared_messages SET owner = '', called = '' WHERE owner = :person AND workspace = :workspace",
)
_ANSWERS_EMPTIED = f"""
    UPDATE outbox SET {EMPTIED} WHERE id IN ({ITS_PARTS} i.id IN (
      SELECT inbox FROM shared_messages WHERE owner = :person AND kind IN ('answer', 'said')
        AND workspace = :workspace))
    """  # noqa: S608 - constants
_EMPTIED = f"""
    UPDATE outbox SET recipient = '', reason = '', {EMPTIED} WHERE workspace = :workspace
      AND EXISTS (SELECT 1 FROM ({_THEIRS}) t WHERE instr(outbox.id, '!' || t.approval || '#') > 0)
    """  # noqa: S608 - constants
