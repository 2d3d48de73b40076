"""Threads are bound to sessions as effects of a cycle: in the commit of the words that tell of it, or not at all."""

import json
import secrets
from dataclasses import dataclass
from typing import Final

from daemon.core.bound_threads import BoundThread
from daemon.core.perception import ConversationKey, Modality
from daemon.core.questions import BUTTON, NEWS_PARAM, News
from daemon.memory.bound_threads import BindingRefused, bind, end_binding
from daemon.memory.database import Transaction
from daemon.memory.holders import holder_of
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.shared.question_acts import AskedOwner, use_up
from daemon.memory.shared.sessions import session_of

BINDS: Final = f"{BUTTON}bind-"
"""How the id of an approval begins that binds a thread."""

SESSION_PARAM: Final = "session"
EVERYBODY_PARAM: Final = "everybody"
"""The params of an event that is about binding: the id of the session, and whether all may speak to it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The thread belongs to a session from now on; `called` and `owner` are as in `PutToSession`."""

    session: str
    called: str
    owner: str
    everybody: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`. Raises ReadersChanged where it has to be made anew."""
        session = await session_of(transaction, asker.conversation.workspace, self.session)
        if session is None or (session.name, session.person) != (self.called, self.owner) or not session.may_be_asked:
            raise ReadersChanged(f"{self.called} may not be bound now", hint="nothing to do: the reply is begun anew")
        new = BoundThread(str(asker.conversation), session.id, session.person, self.everybody, now)
        try:
            await bind(transaction, new, now)
        except BindingRefused as refused:
            raise ReadersChanged(refused.message, hint="nothing to do: the reply is begun anew") from refused


@dataclass(frozen=True, slots=True)
class Unbound:
    """The thread belongs to no session any more, if it still belongs to this one."""

    bound: BoundThread

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        await end_binding(transaction, self.bound, "", now, to=asker.person)


@dataclass(frozen=True, slots=True)
class AskedToBind:
    """The owner of a session is asked whether the thread may belong to it."""

    session: str
    called: str
    everybody: bool
    asks: AskedOwner

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`."""
        what = {
            "session": self.called,
            "id": self.session,
            "conversation": str(asker.conversation),
            "everybody": self.everybody,
        }
        await self.asks.ask(transaction, asker.conversation, f"{BINDS}{secrets.token_hex(6)}", what, now)


@dataclass(frozen=True, slots=True)
class DecidedToBind:
    """The owner decided; where they allow it, the thread is bound as the next thing that happens there."""

    approval: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; an approval is used up, and holds for its owner's own click alone."""
        row = await transaction.one("SELECT arguments, asked FROM approvals WHERE id = :id", id=self.approval)
        if row is None:
            return
        what, (owner,) = json.loads(row["arguments"]), json.loads(row["asked"])
        if not await use_up(transaction, self.approval, owner, asker.conversation.workspace, now):
            return
        await have_bound(
            transaction,
            ConversationKey.parse(what["conversation"]),
            News.BOUND,
            session=what["id"],
            owner=owner,
            everybody=what["everybody"],
            now=now,
        )


async def have_bound(
    transaction: Transaction,
    where: ConversationKey,
    news: News,
    *,
    session: str,
    owner: str,
    everybody: bool,
    now: int,
) -> None:
    """Put it into a conversation's inbox that it is to be bound: `BIND` asks the owner, at `BOUND` they allowed it."""
    where = await holder_of(transaction, where)
    row = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(where))
    if row is None:
        return
    await store_internal_event(
        transaction,
        name=f"{news}:{secrets.token_hex(6)}",
        conversation=where,
        modality=Modality.NOTE,
        author=owner,
        place=row["place"],
        audience=row["audience"],
        params={NEWS_PARAM: str(news), SESSION_PARAM: session, EVERYBODY_PARAM: everybody},
        now=now,
    )
