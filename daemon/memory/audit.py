"""Records who changed what, for good: acts of admins and decisions of users, without anything that users wrote."""

from daemon.memory.database import Transaction


async def record_act(
    transaction: Transaction, *, actor: str, act: str, subject: str, detail: str = "", now: int
) -> None:
    """Add an act to the audit log; `actor` is a platform user id or an admin's name of the operating system."""
    await transaction.insert("audit", actor=actor, act=act, object=subject, detail=detail, done_ms=now)
