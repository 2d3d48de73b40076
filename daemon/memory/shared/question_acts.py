"""Questions to sessions and bindings of threads as effects of a cycle, stored together with the cycle's words."""

import json
import secrets
from collections.abc import Mapping
from typing import Final

from daemon.core.notes import MARK, NoteKind, NoteState
from daemon.core.perception import Audience, ConversationKey, Modality, Place
from daemon.core.questions import BUTTON, NEWS_PARAM, BoundThread, News
from daemon.core.sessions import CodeSession, Visibility
from daemon.core.timetable import surely_past
from daemon.core.value import Value
from daemon.memory.bound_threads import BindingRefused, bind, bound_thread, end_binding, holder_of
from daemon.memory.database import Transaction
from daemon.memory.queues.approvals import NewApproval, store_approval
from daemon.memory.queues.claims import ReadersChanged, open_conversation
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import conversation_columns
from daemon.memory.shared.messages import note_of
from daemon.memory.shared.questions import is_full, tell_people
from daemon.memory.shared.sessions import session_of

TOOL = "session"
"""The tool of an approval that lets a question through to a session."""


class AskedOwner(Value):
    """The question in a session owner's DM, in `parts`. The buttons are below the last."""

    person: str
    channel: str
    audience: Audience
    parts: tuple[str, ...]
    seconds: float

    async def ask(
        self, transaction: Transaction, here: ConversationKey, approval: str, what: Mapping[str, object], now: int
    ) -> None:
        """Store the approval and its posts. `what` is kept as the approval's arguments."""
        where = ConversationKey(here.soul, here.workspace, self.channel)
        await open_conversation(transaction, where, Place.DM, self.audience, now)
        new = NewApproval(approval, TOOL, what, (self.person,), now + int(self.seconds * 1000))
        await store_approval(transaction, new, conversation=where, turn=0, audience=self.audience, now=now)
        for part, body in enumerate(self.parts):
            last = part == len(self.parts) - 1
            await transaction.insert(
                "outbox",
                id=f"{where}!{approval}#{part}",
                part=part,
                last=int(last),
                body=body,
                reply_to="",
                recipient=self.person,
                newer_than_ts=surely_past(now),
                audience=str(self.audience),
                approval=approval if last else None,
                state="pending",
                created_ms=now,
                **conversation_columns(where),
            )


class PutToSession(Value):
    """A question or task for a session. `asks` asks its owner first, unless the owner wrote it.

    `called` is the session's name and `owner` its person when the soul's words were made. If one of them changed, or
    too many questions wait, the words are made again. `audience` read the conversation. `bound`: the thread is bound to
    the session, which may be gone.
    """

    session: str
    called: str
    owner: str
    kind: NoteKind
    words: str
    asker: str
    reply_to: str
    audience: Audience
    asks: AskedOwner | None = None
    bound: bool = False

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Send the question (see `MemoryAct.perform`). Raises ReadersChanged if the words must be made again."""
        where = asker.conversation
        session = await session_of(transaction, where.workspace, self.session)
        as_said = session is not None and (session.name, session.person) == (self.called, self.owner)
        if session is not None:
            as_said = as_said and await self._may_go(transaction, asker, session)
        if session is None or not as_said or await is_full(transaction, session.id, now):
            raise ReadersChanged(f"{self.called} may not be asked now", hint="nothing to do: the reply is begun anew")
        name = f"{MARK}{secrets.token_hex(6)}"
        await transaction.insert(
            "shared_messages",
            id=name,
            kind=self.kind,
            sender=where.soul,
            addressee=session.id,
            workspace=where.workspace,
            conversation=str(where),
            heard_in="",
            inbox="",
            behalf=asker.person,
            audience=str(self.audience),
            hops=1,
            state=NoteState.HELD if self.asks else NoteState.WAITING,
            created_ms=now,
            words=self.words,
            owner=self.owner,
            called=self.called,
            asker=self.asker,
            reply_to=self.reply_to,
            said_ts=asker.ts,
            bound=self.bound,
            let_ms=None if self.asks else now,
        )
        if self.asks is not None:
            await self.asks.ask(transaction, where, f"{BUTTON}{name}", {"session": self.called}, now)

    async def _may_go(self, transaction: Transaction, asker: Asker, session: CodeSession) -> bool:
        if not self.bound:
            return session.may_be_asked
        bound = await bound_thread(transaction, asker.conversation)
        if bound is None or bound.session != session.id or session.visibility is Visibility.HIDDEN:
            return False
        own = bool(session.person) and asker.person == session.person
        return own or (bound.everybody and not session.unwatched)


class Decided(Value):
    """A session owner's decision about a question, or the end of its time. People get the news either way."""

    approval: str
    expired: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Apply the decision (see `MemoryAct.perform`). Only the owner's own click counts, and once."""
        question = await note_of(transaction, self.approval.removeprefix(BUTTON))
        if question is None or question.state is not NoteState.HELD:
            return
        used = await use_up(transaction, self.approval, question.owner, asker.conversation.workspace, now)
        news = News.ALLOWED if used and question.owner else News.EXPIRED if self.expired else News.REFUSED
        state = {News.ALLOWED: NoteState.WAITING, News.EXPIRED: NoteState.EXPIRED}.get(news, NoteState.REFUSED)
        await transaction.run(
            "UPDATE shared_messages SET state = :state, reason = :reason, let_ms = :let WHERE id = :id",
            state=state,
            reason="" if used else "its owner did not decide in time" if self.expired else "its owner did not allow it",
            let=now if used else None,
            id=question.id,
        )
        await tell_people(transaction, question, news, now)


async def use_up(transaction: Transaction, approval: str, owner: str, workspace: str, now: int) -> bool:
    """Use an approval that its owner gave by their own click, once and in time. Return False if there is none."""
    used = await transaction.one(
        """
        UPDATE approvals SET state = 'used' WHERE id = :id AND state = 'approved' AND decided_by = :owner
          AND decided_ms + expires_ms - created_ms >= :now AND workspace = :workspace RETURNING 1
        """,
        id=approval,
        owner=owner,
        now=now,
        workspace=workspace,
    )
    return used is not None


BINDS: Final = f"{BUTTON}bind-"
"""The prefix of an approval's id that binds a thread."""

SESSION_PARAM: Final = "session"
EVERYBODY_PARAM: Final = "everybody"
"""The param of a binding event that lets all users speak to the session."""


class Bound(Value):
    """The binding of the thread to a session. `called` and `owner` are as in `PutToSession`."""

    session: str
    called: str
    owner: str
    everybody: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Bind the thread (see `MemoryAct.perform`). Raises ReadersChanged if the words must be made again."""
        session = await session_of(transaction, asker.conversation.workspace, self.session)
        if session is None or (session.name, session.person) != (self.called, self.owner) or not session.may_be_asked:
            raise ReadersChanged(f"{self.called} may not be bound now", hint="nothing to do: the reply is begun anew")
        new = BoundThread(str(asker.conversation), session.id, session.person, self.everybody, now)
        try:
            await bind(transaction, new, now)
        except BindingRefused as refused:
            raise ReadersChanged(refused.message, hint="nothing to do: the reply is begun anew") from refused


class Unbound(Value):
    """The end of the thread's binding to this session."""

    bound: BoundThread

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await end_binding(transaction, self.bound, "", now, to=asker.person)


class AskedToBind(Value):
    """The question to a session's owner about binding the thread to it."""

    session: str
    called: str
    everybody: bool
    asks: AskedOwner

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        what = {
            "session": self.called,
            "id": self.session,
            "conversation": str(asker.conversation),
            "everybody": self.everybody,
        }
        await self.asks.ask(transaction, asker.conversation, f"{BINDS}{secrets.token_hex(6)}", what, now)


class DecidedToBind(Value):
    """The owner's decision about a binding. If allowed, an inbox event in the thread binds it."""

    approval: str

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """Apply the decision (see `MemoryAct.perform`). Only the owner's own click counts, and once."""
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
    """Put a binding event into a conversation's inbox: `BIND` asks the owner, `BOUND` follows their approval."""
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
