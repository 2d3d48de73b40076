"""Threads and DMs that are bound to sessions: at most one session a thread and one thread a session."""

import secrets
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

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
    """Return True if a daemon in the workspace hosts the soul. `Presence` deletes the row of a dead daemon."""
    row = await transaction.one(
        """
        SELECT 1 FROM presence p, json_each(p.detail, '$.souls') s WHERE p.workspace = :workspace AND s.key = :soul
        """,
        workspace=workspace,
        soul=soul,
    )
    return row is not None


async def called_by_people(transaction: Transaction) -> dict[str, str]:
    """Return the shown name of each hosted soul. Daemons of older versions, which store none, are left out."""
    rows = await transaction.rows(
        "SELECT s.key AS soul, s.value AS shown FROM presence p, json_each(p.detail, '$.called') s ORDER BY started_ms"
    )
    return {row["soul"]: row["shown"] for row in rows}


async def other_apps(transaction: Transaction, where: ConversationKey) -> dict[str, frozenset[str]]:
    """Return the bot accounts of each soul that runs only under other Slack apps than the soul of `where`.

    A Slack app can post only in channels that its own bot is in. Daemons that name no account are left out.
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
    """Return the conversation of a thread's current soul, or of a hosted earlier one if it isn't hosted."""
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
    """An error: the thread can't be bound, or isn't. Nothing changed."""


async def bound_thread(transaction: Transaction, where: ConversationKey) -> BoundThread | None:
    """Return the binding of a conversation or of its DM, also after a handover to another soul."""
    timeline = ConversationKey(where.soul, where.workspace, where.channel)
    row = await transaction.one(_THERE, id=str(where), timeline=str(timeline))
    return _read(row) if row else None


async def bound_to(transaction: Transaction, session: str) -> BoundThread | None:
    row = await transaction.one("SELECT * FROM bound_threads WHERE session = :session", session=session)
    return _read(row) if row else None


async def bound_by_session(transaction: Transaction) -> Mapping[str, str]:
    """Return each bound session's conversation."""
    return {row["session"]: row["conversation"] for row in await transaction.rows("SELECT * FROM bound_threads")}


async def is_for_session(transaction: Transaction, perception: Perception) -> bool:
    """Return True if a message that mentions no soul goes to the bound session, or ends the binding."""
    bound = await bound_thread(transaction, perception.conversation)
    if bound is None or bound.takes(perception):
        return bound is not None
    phrase = phrase_said(perception)
    return phrase is not None and phrase.command is Command.UNBIND


async def bind(transaction: Transaction, new: BoundThread, now: int) -> None:
    """Bind a thread to a session, unbound elsewhere. Raises BindingRefused if another session has the thread."""
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
    """End a binding, and post the sentence with key `why`, if any, in the language of the user `to`.

    Return False if the binding had ended already.
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
    """End all bindings of a user's sessions, and say so in their threads."""
    rows = await transaction.rows(
        "SELECT * FROM bound_threads WHERE workspace = :workspace AND person = :person AND person <> ''",
        workspace=workspace,
        person=person,
    )
    for row in rows:
        await end_binding(transaction, _read(row), "bound_lost", now)


async def say_of_binding(transaction: Transaction, bound: BoundThread, why: str, now: int, *, to: str) -> None:
    """Post a sentence of `SENTENCES` in a bound thread, which anyone may read: none of them names the session."""
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
    """Keep a thread bound after its handover to another soul."""
    await transaction.run(
        "UPDATE OR REPLACE bound_threads SET conversation = :to WHERE conversation = :id", id=str(where), to=str(to)
    )


async def follow_session(transaction: Transaction, old: str, new: str) -> None:
    """Move the binding and the waiting posts of a session to the one that follows it after `/clear`."""
    await transaction.run("UPDATE OR REPLACE bound_threads SET session = :new WHERE session = :old", old=old, new=new)
    await transaction.run(
        "UPDATE shared_messages SET sender = :new WHERE sender = :old AND kind = 'said' AND state = 'waiting'",
        old=old,
        new=new,
    )


async def drop_unwatched(transaction: Transaction, session: str, now: int) -> None:
    """Drop unapproved messages of other users to a session that no longer asks for permission, and notify them."""
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
    """Drop unread messages that go to a session only by its binding, or only those of users other than its owner."""
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
