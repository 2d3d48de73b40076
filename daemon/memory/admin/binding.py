"""Binding and handing over threads as an admin. A person's session is bound only if that person agrees."""

from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey, Place
from daemon.core.questions import BoundThread, News
from daemon.core.sessions import CodeSession
from daemon.core.value import Value
from daemon.memory.admin.schedule_admin import find_conversation, last_person
from daemon.memory.audit import AuditedChanges, one_write
from daemon.memory.bound_threads import (
    BindingRefused,
    bind,
    bound_thread,
    bound_to,
    end_binding,
    holder_of,
    other_apps,
    say_of_binding,
)
from daemon.memory.database import Transaction
from daemon.memory.queues.handoffs import Handoff, HandoffRefused, hand_over
from daemon.memory.shared.question_acts import have_bound
from daemon.memory.shared.sessions import session_of


class BindingOrder(Value):
    """A session and its conversation. `bound` is False while the session's owner is asked first."""

    session: str
    conversation: str
    everybody: bool
    bound: bool


class BindingAdmin(AuditedChanges):
    """The binding of threads by the admin `actor`."""

    @one_write
    async def bind(self, transaction: Transaction, session: CodeSession, name: str, *, everybody: bool) -> BindingOrder:
        """Bind the conversation `name` (`find_conversation`), or ask the session's owner. Raises BindingRefused."""
        now = self._clock.now_ms()
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

    @one_write
    async def unbind(self, transaction: Transaction, session: CodeSession) -> BindingOrder:
        """End a session's binding, with a line in its thread. Raises BindingRefused and StoreError."""
        now = self._clock.now_ms()
        bound = await bound_to(transaction, session.id)
        if bound is None:
            raise BindingRefused(f"{session.name} is bound to no thread", hint="see `soul sessions --json`")
        await end_binding(transaction, bound, "bound_ended", now, to=bound.person)
        await self._record(transaction, "session.unbind", session.id, f"from {bound.conversation}")
        return BindingOrder(session.name, bound.conversation, bound.everybody, bound=False)


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


class HandedOver(Value):
    """A conversation, its soul before and after the handover, and the time in ms."""

    conversation: str
    soul: str
    handed_to: str
    at_ms: int


class Handing(AuditedChanges):
    """The handover of threads by the admin `actor`."""

    async def other_apps(self, name: str, to: str) -> tuple[ConversationKey, frozenset[str]]:
        """Return the conversation `name`, and the soul's bots if only another app hosts it. Raises StoreError."""

        async def unit(transaction: Transaction) -> tuple[ConversationKey, frozenset[str]]:
            where = await find_conversation(transaction, name)
            return where, (await other_apps(transaction, where)).get(to, frozenset())

        return await self._database.read(unit)

    @one_write
    async def hand_over(self, transaction: Transaction, name: str, to: str) -> HandedOver:
        """Hand the thread of the conversation `name` (`find_conversation`) to a hosted soul. Raises HandoffRefused."""
        now = self._clock.now_ms()
        where = await find_conversation(transaction, name)
        row = await transaction.one("SELECT * FROM conversations WHERE id = :id", id=str(where))
        assert row is not None  # found in this very transaction
        if row["handed_to"]:
            theirs = f"{row['handed_to']}{str(where).removeprefix(where.soul)}"
            raise HandoffRefused(f"{where} was handed to {row['handed_to']} before", hint=f"hand over {theirs}")
        if row["lease_owner"] and row["lease_until"] > now:
            raise HandoffRefused(f"{where.soul} is answering in {where}", hint="try again once it has answered")
        await transaction.run(  # a cycle that hangs there can't be committed any more
            "UPDATE conversations SET fence = fence + 1, lease_owner = '', lease_until = 0 WHERE id = :id",
            id=str(where),
        )
        post = await transaction.one(
            "SELECT reply_to FROM outbox WHERE conversation = :id AND reply_to <> '' ORDER BY seq DESC LIMIT 1",
            id=str(where),
        )
        recipient = await last_person(transaction, where)
        handoff = Handoff(to, recipient, post["reply_to"] if post else where.thread)
        await hand_over(transaction, where, handoff, now)
        await self._record(transaction, "conversation.handed", str(where), f"to {to}")
        return HandedOver(str(where), where.soul, to, now)
