"""Records who changed what, for good: acts of admins and decisions of users, without anything that users wrote."""

from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction


async def record_act(
    transaction: Transaction, *, actor: str, act: str, subject: str, detail: str = "", now: int
) -> None:
    """Add an act to the audit log; `actor` is a platform user id or an admin's user name of the operating system."""
    await transaction.insert("audit", actor=actor, act=act, object=subject, detail=detail, done_ms=now)


class AuditedChanges:
    """Changes by the admin `actor`, a user name of the operating system."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    async def _record(self, transaction: Transaction, act: str, subject: str, detail: str = "") -> None:
        now = self._clock.now_ms()
        await record_act(transaction, actor=self._actor, act=act, subject=subject, detail=detail, now=now)
