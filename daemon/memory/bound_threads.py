"""Threads that are bound to a session: one session each, and one thread of a session, as rows with one writer.

A thread in direct messages belongs to the session to which these were bound. Whoever ends a binding says so in the
thread, in the same transaction; what goes to the session because of it alone, and was not read, is dropped with it.
"""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import ConversationKey, Perception
from daemon.core.phrases import Command, phrase_said
from daemon.core.questions import BoundThread
from daemon.core.sentences import SENTENCES
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.knowledge.turns import handed_among
from daemon.memory.records import read_row
from daemon.memory.stream.emptying import empty_thoughts_on


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


_THERE: Final = """
  SELECT b.* FROM bound_threads b WHERE b.conversation IN (:id, :timeline)
    OR b.conversation IN (SELECT handed_to || substr(id, length(soul) + 1) FROM conversations
                          WHERE id IN (:id, :timeline) AND handed_to <> '')
  ORDER BY length(b.conversation) DESC LIMIT 1
"""


class BindingRefused(DaemonError):
    """A thread that may not be bound, or is not; nothing changed."""


async def bound_thread(transaction: Transaction, where: ConversationKey) -> BoundThread | None:
    """What a conversation is bound to, or its direct messages are, wherever it was handed since."""
    timeline = ConversationKey(where.soul, where.workspace, where.channel)
    row = await transaction.one(_THERE, id=str(where), timeline=str(timeline))
    return _read(row) if row else None


async def bound_to(transaction: Transaction, session: str) -> BoundThread | None:
    """The thread of a session."""
    row = await transaction.one("SELECT * FROM bound_threads WHERE session = :session", session=session)
    return _read(row) if row else None


async def bound_by_session(transaction: Transaction) -> Mapping[str, str]:
    """The conversations that are bound, by session."""
    return {row["session"]: row["conversation"] for row in await transaction.rows("SELECT * FROM bound_threads")}


async def is_for_session(transaction: Transaction, perception: Perception) -> bool:
    """Whether a message that addresses nobody goes to the session of its thread, or ends that."""
    bound = await bound_thread(transaction, perception.conversation)
    if bound is None or bound.takes(perception):
        return bound is not None
    phrase = phrase_said(perception)
    return phrase is not None and phrase.command is Command.UNBIND


async def bind(transaction: Transaction, new: BoundThread, now: int) -> None:
    """Bind a thread; a session that is bound elsewhere leaves that thread, which hears so.

    Raises BindingRefused where another session has the thread.
    """
    where = ConversationKey.parse(new.conversation)
    if (there := await bound_thread(transaction, where)) is not None:
        if there.session != new.session:
            raise BindingRefused("the thread is bound to another session", hint="unbind it first")
        if not new.everybody:
            await _let_go(transaction, there, others_alone=True)
    if (elsewhere := await bound_to(transaction, new.session)) is not None and elsewhere.conversation != str(where):
        await end_binding(transaction, elsewhere, "bound_moved", now)
    await transaction.insert(
        "bound_threads",
        """
        ON CONFLICT (conversation) DO UPDATE SET everybody = excluded.everybody, person = excluded.person,
          gone_ms = NULL
        """,
        conversation=str(where),
        session=new.session,
        workspace=where.workspace,
        person=new.person,
        everybody=new.everybody,
        bound_ms=now,
    )


async def end_binding(transaction: Transaction, bound: BoundThread, why: str, now: int, *, to: str = "") -> bool:
    """End a binding if it still is; the thread hears `why`, a key of the sentences, unless that is empty.

    `to` is who is spoken to, in their language.
    """
    ended = await transaction.one(
        "DELETE FROM bound_threads WHERE conversation = :id AND session = :session RETURNING 1",
        id=bound.conversation,
        session=bound.session,
    )
    if ended is None:
        return False
    await _let_go(transaction, bound)
    if why:
        await say_of_binding(transaction, bound, why, now, to=to)
    return True


async def unbind_all(transaction: Transaction, workspace: str, person: str, now: int) -> None:
    """End the bindings of a person's sessions; the threads hear so."""
    rows = await transaction.rows(
        "SELECT * FROM bound_threads WHERE workspace = :workspace AND person = :person AND person <> ''",
        workspace=workspace,
        person=person,
    )
    for row in rows:
        await end_binding(transaction, _read(row), "bound_lost", now)


async def say_of_binding(transaction: Transaction, bound: BoundThread, why: str, now: int, *, to: str) -> None:
    """Say a sentence of the table in a bound thread; none of them names the session, whoever reads there by now."""
    where = ConversationKey.parse(bound.conversation)
    await note_in_conversation(
        transaction,
        bound.conversation,
        f"bound {secrets.token_hex(6)}",
        SENTENCES[why],
        reply_to=where.thread,
        recipient=to,
        now=now,
    )


async def hand_on(transaction: Transaction, where: ConversationKey, to: ConversationKey) -> None:
    """A thread that is handed to another soul stays bound."""
    await transaction.run(
        "UPDATE OR REPLACE bound_threads SET conversation = :to WHERE conversation = :id", id=str(where), to=str(to)
    )


async def follow_session(transaction: Transaction, old: str, new: str) -> None:
    """After `/clear` the thread of the one session is that of the next one, and so is what the one said there."""
    await transaction.run("UPDATE OR REPLACE bound_threads SET session = :new WHERE session = :old", old=old, new=new)
    await transaction.run(
        "UPDATE shared_messages SET sender = :new WHERE sender = :old AND kind = 'said' AND state = 'waiting'",
        old=old,
        new=new,
    )


async def drop_unwatched(transaction: Transaction, session: str, now: int) -> None:
    """A session asks no permission from now on: others' words that no one allowed don't go there, and they hear so."""
    rows = await transaction.rows(
        f"""
        UPDATE shared_messages SET state = 'dropped', words = '', reason = 'its session asks no permission by now'
        WHERE addressee = :session AND {_UNREAD} AND behalf <> owner RETURNING *
        """,  # noqa: S608 - a constant
        session=session,
    )
    await empty_thoughts_on(transaction, [row["id"] for row in rows])
    for row in rows:
        await note_in_conversation(
            transaction,
            str(await holder_of(transaction, ConversationKey.parse(row["conversation"]))),
            f"unwatched {row['id']}",
            SENTENCES["bound_unwatched"],
            reply_to=row["reply_to"],
            recipient=row["behalf"],
            now=now,
        )


async def _let_go(transaction: Transaction, bound: BoundThread, *, others_alone: bool = False) -> None:
    """Drop what goes to a session by its binding alone and was not read there, or what others than its owner said."""
    await transaction.run(
        f"""
        UPDATE shared_messages SET state = 'dropped', reason = 'its thread is bound no more'
        WHERE addressee = :session AND {_UNREAD} AND (NOT :others OR behalf <> owner)
        """,  # noqa: S608 - a constant
        session=bound.session,
        others=others_alone,
    )


_UNREAD: Final = "bound = 1 AND kind IN ('question', 'task') AND state = 'waiting'"


def _read(row: sqlite3.Row) -> BoundThread:
    return read_row(BoundThread, row, everybody=bool)
