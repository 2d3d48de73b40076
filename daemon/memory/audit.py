"""The audit log of changes by admins and decisions of users, without users' words and with ledger lines."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.ledger import note_write


async def record_act(
    transaction: Transaction, *, actor: str, act: str, subject: str, detail: str = "", now: int
) -> None:
    """Add an act to the audit log and the ledger. `actor` is a user id of the platform or an admin's login name."""
    done = {"actor": actor, "act": act, "object": subject, "detail": detail, "done_ms": now}
    row = await transaction.insert("audit", "RETURNING seq", **done)
    assert row is not None
    await note_write(transaction, act="put audit", subject=f"audit {row['seq']}", content=done, now=now)


class AuditedChanges:
    """The changes by the admin `actor`, a user name of the operating system."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    async def _record(self, transaction: Transaction, act: str, subject: str, detail: str = "") -> None:
        now = self._clock.now_ms()
        await record_act(transaction, actor=self._actor, act=act, subject=subject, detail=detail, now=now)


P = ParamSpec("P")
T = TypeVar("T")
Changes = TypeVar("Changes", bound=AuditedChanges)


def one_write(
    method: Callable[Concatenate[Changes, Transaction, P], Awaitable[T]],
) -> Callable[Concatenate[Changes, P], Coroutine[Any, Any, T]]:
    """Run a method in a write transaction of its own, which it gets as its first argument."""

    @wraps(method)
    async def changed(self: Changes, /, *given: P.args, **named: P.kwargs) -> T:
        return await self._database.write(lambda transaction: method(self, transaction, *given, **named))

    return changed
