"""Binds threads to sessions for an admin, and ends that; where a session has a person, it is they who decide."""

from dataclasses import dataclass

from daemon.core.bound_threads import BoundThread
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey, Place
from daemon.core.questions import News
from daemon.core.sessions import CodeSession
from daemon.memory.admin.schedule_admin import find_conversation
from daemon.memory.audit import AuditedChanges
from daemon.memory.bound_threads import BindingRefused, bind, bound_thread, bound_to, end_binding, say_of_binding
from daemon.memory.database import Transaction
from daemon.memory.holders import holder_of
from daemon.memory.shared.binding_acts import have_bound
from daemon.memory.shared.sessions import session_of


@dataclass(frozen=True, slots=True)
class BindingOrder:
    """A session, its thread, and whether it is bound now, or its owner is asked first."""

    session: str
    conversation: str
    everybody: bool
    bound: bool


class BindingAdmin(AuditedChanges):
    """Binds in the name of the admin `actor`."""

    async def bind(self, session: CodeSession, name: str, *, everybody: bool) -> BindingOrder:
        """Bind the conversation that `name` means, or have the session's owner asked; see `find_conversation`.

        The caller has seen that the session is there. Raises BindingRefused and StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> BindingOrder:
            where = await holder_of(transaction, await find_conversation(transaction, name))
            await _require_bindable(transaction, session, where)
            if session.person:
                await have_bound(
                    transaction,
                    where,
                    News.BIND,
                    session=session.id,
                    owner=session.person,
                    everybody=everybody,
                    now=now,
                )
            else:
                bound = BoundThread(str(where), session.id, "", everybody, now)
                await bind(transaction, bound, now)
                await say_of_binding(
                    transaction, bound, "bound_by_admin_all" if everybody else "bound_by_admin", now, to=""
                )
            await self._record(transaction, "session.bind", session.id, f"to {where}")
            return BindingOrder(session.name, str(where), everybody, not session.person)

        return await self._database.write(unit)

    async def unbind(self, session: CodeSession) -> BindingOrder:
        """End the binding of a session; its thread hears so. Raises BindingRefused and StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> BindingOrder:
            bound = await bound_to(transaction, session.id)
            if bound is None:
                raise BindingRefused(f"{session.name} is bound to no thread", hint="see `soul sessions --json`")
            await end_binding(transaction, bound, "bound_ended", now, to=bound.person)
            await self._record(transaction, "session.unbind", session.id, f"from {bound.conversation}")
            return BindingOrder(session.name, bound.conversation, bound.everybody, bound=False)

        return await self._database.write(unit)


async def _require_bindable(transaction: Transaction, session: CodeSession, where: ConversationKey) -> None:
    row = await transaction.one("SELECT place FROM conversations WHERE id = :id", id=str(where))
    if row is None:
        raise StoreError(f"there is no conversation {where}", hint="see `soul queue inbox list --json` for their ids")
    if row["place"] == Place.TERMINAL:
        raise BindingRefused(f"{where} is no thread of Slack", hint="give a thread of Slack")
    if row["place"] == Place.DM and not session.person:
        raise BindingRefused(
            "direct messages are bound to a session of their own person alone", hint="give a thread of a channel"
        )
    there = await bound_thread(transaction, where)
    if there is not None and there.session != session.id:
        name = await session_of(transaction, where.workspace, there.session)
        called = name.name if name else there.session
        raise BindingRefused(f"{where} is bound to {called}", hint=f"first: soul sessions unbind {called}")
