"""Questions to sessions in the table of notes: approved, delivered once, answered once, expired after a day.

Each statement changes a row only from its expected state: of two at once one counts. The news for people is an inbox
event in the asker's conversation, stored with its change.
"""

import secrets
from collections.abc import Mapping
from typing import Final

from daemon.core.notes import FROM_PARAM, MARK, NOTE_PARAM, NoteKind, NoteState, SharedMessage
from daemon.core.perception import ConversationKey, Modality
from daemon.core.ports.services import Clock
from daemon.core.questions import (
    LATE_MS,
    MOST_HOURLY,
    MOST_WAITING,
    MOST_WAKES,
    NEWS_PARAM,
    OVER_MS,
    WAKE_AGAIN_MS,
    WOKEN_WITHIN_MS,
    News,
)
from daemon.core.sessions import CodeSession, HookEvent
from daemon.core.value import Value
from daemon.memory.bound_threads import holder_of
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.shared.messages import note_of, read_note

_HOUR_MS: Final = 3_600_000
_ASKED: Final = "kind IN ('question', 'task')"
_OPEN: Final = f"{_ASKED} AND state IN ('held', 'waiting', 'delivered')"
_READABLE: Final = f"{_ASKED} AND state IN ('waiting', 'delivered')"


class OpenQuestion(Value):
    """An open question, and the news that people got about it."""

    note: SharedMessage
    let_ms: int | None
    said_late: bool
    said_gone: bool

    def news(self, now_ms: int, *, gone: bool) -> News | None:
        """Return the news for people now, with its session `gone` or not, or None."""
        held = self.let_ms is None
        if gone and self.note.bound and self.note.state is NoteState.WAITING:
            return None  # it ends with its binding, which is reported once in the thread
        if now_ms - self.note.created_ms >= OVER_MS:
            return News.EXPIRED if held else News.OVER
        if held or self.said_gone:
            return None
        if gone:
            return None if self.note.bound else News.GONE
        return News.LATE if not self.said_late and now_ms - (self.let_ms or 0) >= LATE_MS else None


class QuestionStore:
    def __init__(self, database: Database, clock: Clock, workspace: str) -> None:
        self._database = database
        self._clock = clock
        self._workspace = workspace

    async def is_full(self, session: str) -> bool:
        """Return True if a session can't be asked more for now. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.read(lambda transaction: is_full(transaction, session, now))

    async def note(self, name: str) -> SharedMessage | None:
        return await self._database.read(lambda transaction: note_of(transaction, name))

    async def open(self, soul: str) -> list[OpenQuestion]:
        """Return the open questions from a soul or from threads handed to it, oldest first. Raises StoreError."""
        rows = await self._database.rows(
            f"""
            SELECT * FROM shared_messages WHERE {_OPEN} AND workspace = :workspace AND
              (sender = :soul OR conversation IN (SELECT id FROM conversations WHERE handed_to = :soul))
            ORDER BY created_ms, rowid
            """,  # noqa: S608 - a constant
            soul=soul,
            workspace=self._workspace,
        )
        return [
            OpenQuestion(read_note(row), row["let_ms"], bool(row["said_late"]), bool(row["said_gone"])) for row in rows
        ]

    async def tell(self, question: OpenQuestion, news: News) -> bool:
        """Give people news about an open question, once. An expired question ends. Raises StoreError."""
        now = self._clock.now_ms()
        return await self._database.write(lambda transaction: _tell(transaction, question.note, news, now))

    async def readable(self, session: str) -> list[SharedMessage]:
        """Return the questions that a session may read and hasn't answered, oldest first. Raises StoreError."""
        return await self._database.read(lambda transaction: _readable(transaction, session))

    async def fetch(self, session: str) -> list[SharedMessage]:
        """Return the questions as `readable`, marked as delivered. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> list[SharedMessage]:
            await transaction.run(
                f"""
                UPDATE shared_messages SET state = 'delivered', how = 'fetch', delivered_ms = :now
                WHERE addressee = :session AND {_ASKED} AND state = 'waiting'
                """,  # noqa: S608 - a constant
                session=session,
                now=now,
            )
            return await _readable(transaction, session)

        return await self._database.write(unit)

    async def answer(self, session: str, name: str, words: str) -> NoteState | None:
        """Answer a question. Return its state before, or None if the session may not read it. Raises StoreError."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> NoteState | None:
            found = await note_of(transaction, name)
            if found is None or found.addressee != session or found.kind not in (NoteKind.QUESTION, NoteKind.TASK):
                return None
            if found.state in (NoteState.HELD, NoteState.REFUSED):  # the session never saw it
                return None
            await settle(transaction, found, words, now)
            return found.state

        return await self._database.write(unit)


async def is_full(transaction: Transaction, session: str, now: int) -> bool:
    """Return True if too many questions for a session wait, or came within the hour."""
    row = await transaction.one(
        f"""
        SELECT coalesce(sum(state IN ('held', 'waiting', 'delivered')), 0) AS waiting,
          coalesce(sum(created_ms > :hour), 0) AS hourly
        FROM shared_messages WHERE addressee = :session AND {_ASKED}
        """,  # noqa: S608 - a constant
        session=session,
        hour=now - _HOUR_MS,
    )
    assert row is not None  # sums of no rows are a row, too
    return bool(row["waiting"] >= MOST_WAITING or row["hourly"] >= MOST_HOURLY)


async def open_by_session(transaction: Transaction) -> Mapping[str, int]:
    """Return the number of open questions of each session."""
    rows = await transaction.rows(
        f"SELECT addressee, count(*) AS number FROM shared_messages WHERE {_OPEN} GROUP BY addressee"  # noqa: S608 - a constant
    )
    return {row["addressee"]: row["number"] for row in rows}


async def hand_out(transaction: Transaction, session: str, prompt: str, now: int) -> SharedMessage | None:
    """Return the oldest waiting question for a session, delivered at the end of its turn `prompt`."""
    row = await transaction.one(
        f"""
        UPDATE shared_messages SET state = 'delivered', how = 'stop', prompt = :prompt, delivered_ms = :now
        WHERE id = (SELECT id FROM shared_messages WHERE addressee = :session AND {_ASKED} AND state = 'waiting'
                      AND offered_ms <= :now - {WOKEN_WITHIN_MS} ORDER BY created_ms, rowid LIMIT 1) RETURNING *
        """,  # noqa: S608 - constants
        session=session,
        prompt=prompt,
        now=now,
    )
    return read_note(row) if row else None


async def offer(transaction: Transaction, session: str, now: int) -> SharedMessage | None:
    """Return the oldest question to wake an idle session with, or None while another was just offered."""
    row = await transaction.one(
        f"""
        UPDATE shared_messages SET offers = offers + 1, offered_ms = :now
        WHERE id = (SELECT id FROM shared_messages WHERE addressee = :session AND {_ASKED} AND state = 'waiting'
                      AND offers < {MOST_WAKES} AND offered_ms <= :now - {WAKE_AGAIN_MS}
                    ORDER BY created_ms, rowid LIMIT 1)
          AND NOT EXISTS (SELECT 1 FROM shared_messages WHERE addressee = :session AND {_ASKED}
                            AND state = 'waiting' AND offered_ms > :now - {WOKEN_WITHIN_MS}) RETURNING *
        """,  # noqa: S608 - constants
        session=session,
        now=now,
    )
    return read_note(row) if row else None


async def began(transaction: Transaction, session: str, name: str, prompt: str, now: int) -> None:
    """Mark a question as delivered by the turn `prompt`, which it woke."""
    await transaction.run(
        f"""
        UPDATE shared_messages SET state = 'delivered', how = 'socket', prompt = :prompt, delivered_ms = :now
        WHERE id = :name AND addressee = :session AND {_ASKED} AND state = 'waiting'
        """,  # noqa: S608 - a constant
        name=name,
        session=session,
        prompt=prompt,
        now=now,
    )


async def take_back(transaction: Transaction, session: str, *, prompt: str = "", until_ms: int = 0) -> None:
    """Make questions without an answer wait again: those of the turn `prompt`, or read until `until_ms`."""
    await transaction.run(
        f"""
        UPDATE shared_messages
        SET state = 'waiting', how = '', prompt = '', delivered_ms = NULL, offers = 0, offered_ms = 0
        WHERE addressee = :session AND {_ASKED} AND state = 'delivered'
          AND ((how = 'stop' AND prompt = :prompt AND prompt <> '')
               OR (how IN ('stop', 'socket') AND delivered_ms <= :until))
        """,  # noqa: S608 - a constant
        session=session,
        prompt=prompt,
        until=until_ms,
    )


async def cut_off(transaction: Transaction, session: str, turn: str, until_ms: int, *, wakes: bool) -> None:
    """Make questions wait again that were read until a time in another turn than this one.

    Unless the session still `wakes` for them, they wait for the end of a turn: its person may have stopped the one
    before.
    """
    await transaction.run(
        f"""
        UPDATE shared_messages SET state = 'waiting', how = '', prompt = '', delivered_ms = NULL,
          offers = CASE WHEN :wakes THEN offers ELSE {MOST_WAKES} END,
          offered_ms = CASE WHEN :wakes THEN offered_ms ELSE 0 END
        WHERE addressee = :session AND {_ASKED} AND state = 'delivered' AND how IN ('stop', 'socket')
          AND prompt <> :turn AND delivered_ms <= :until
        """,  # noqa: S608 - constants
        session=session,
        turn=turn,
        until=until_ms,
        wakes=wakes,
    )


async def answered_in_turn(transaction: Transaction, session: str, prompt: str, words: str, now: int) -> None:
    """Take a session's words as the answer to the question that it read at the end or beginning of this turn."""
    row = await transaction.one(
        f"""
        SELECT * FROM shared_messages
        WHERE addressee = :session AND prompt = :prompt AND how IN ('stop', 'socket') AND {_ASKED}
          AND state = 'delivered' ORDER BY delivered_ms DESC LIMIT 1
        """,  # noqa: S608 - a constant
        session=session,
        prompt=prompt,
    )
    if row is not None:
        await settle(transaction, read_note(row), words, now)


async def follow(transaction: Transaction, old: str, new: str) -> None:
    """Move open questions to the session that follows after `/clear`."""
    await transaction.run(
        f"""
        UPDATE shared_messages SET addressee = :new, prompt = '', offers = 0, offered_ms = 0
        WHERE addressee = :old AND {_OPEN}
        """,  # noqa: S608 - a constant
        old=old,
        new=new,
    )


async def settle(transaction: Transaction, question: SharedMessage, words: str, now: int) -> None:
    """Store an answer if the question waits for one, and report it in the asker's conversation."""
    taken = await transaction.one(
        f"""
        UPDATE shared_messages SET state = 'answered', answered_ms = :now WHERE id = :id AND {_READABLE} RETURNING 1
        """,  # noqa: S608 - a constant
        id=question.id,
        now=now,
    )
    if taken is None:
        return
    name = f"{MARK}{secrets.token_hex(6)}"
    inbox, heard_in = await tell_people(transaction, question, News.ANSWER, now, answer=name)
    await transaction.insert(
        "shared_messages",
        id=name,
        kind=NoteKind.ANSWER,
        sender=question.addressee,
        addressee=question.sender,
        workspace=question.workspace,
        conversation="",
        heard_in=heard_in,
        inbox=inbox,
        behalf=question.behalf,
        audience=str(question.audience),
        hops=question.hops + 1,
        answers=question.id,
        state=NoteState.WAITING if inbox else NoteState.DROPPED,
        reason="" if inbox else "its conversation is gone",
        created_ms=now,
        words=words,
        owner=question.owner,
        called=question.called,
        asker=question.asker,
        reply_to=question.reply_to,
    )


async def tell_people(
    transaction: Transaction, question: SharedMessage, news: News, now: int, *, answer: str = ""
) -> tuple[str, str]:
    """Put news about a question into its asker's conversation, once for each kind, for the soul that has the thread.

    Return the inbox row's id ('' if the conversation is gone) and the conversation. `answer` is the id of the answering
    note.
    """
    key = await holder_of(transaction, ConversationKey.parse(question.conversation))
    row = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=str(key))
    if row is None:
        return "", str(key)
    stored = await store_internal_event(
        transaction,
        name=answer or f"{question.id}:{news}",
        conversation=key,
        modality=Modality.NOTE,
        author=question.behalf,
        place=row["place"],
        audience=row["audience"],
        params={NOTE_PARAM: answer or question.id, FROM_PARAM: question.addressee, NEWS_PARAM: str(news)},
        now=now,
    )
    return stored, str(key)


async def _readable(transaction: Transaction, session: str) -> list[SharedMessage]:
    rows = await transaction.rows(
        f"SELECT * FROM shared_messages WHERE addressee = :session AND {_READABLE} ORDER BY created_ms, rowid",  # noqa: S608 - a constant
        session=session,
    )
    return [read_note(row) for row in rows]


_TELLING: Final[Mapping[News, str]] = {
    News.LATE: f"said_late = 1 WHERE {_READABLE} AND said_late = 0",
    News.GONE: f"said_gone = 1 WHERE {_READABLE} AND said_gone = 0",
    News.OVER: f"state = 'expired', reason = 'no answer came' WHERE {_READABLE}",
    News.EXPIRED: f"state = 'expired', reason = 'its owner did not decide in time' WHERE {_OPEN} AND state = 'held'",
}


async def _tell(transaction: Transaction, question: SharedMessage, news: News, now: int) -> bool:
    changed = await transaction.one(
        f"UPDATE shared_messages SET {_TELLING[news]} AND id = :id RETURNING 1",  # noqa: S608 - constants
        id=question.id,
    )
    if changed is None:
        return False
    await tell_people(transaction, question, news, now)
    return True


_IN_TURNS: Final = frozenset({"UserPromptSubmit", "Stop"})


async def at_the_edge_of_a_turn(
    transaction: Transaction, event: HookEvent, session: CodeSession
) -> SharedMessage | None:
    """Record the beginning of a turn with a question, or the answer in it. Return the question to read now, or None.

    Questions are delivered one at a time, and only if the script passes them on at once: otherwise the answer's
    question is unclear. A turn stopped by its person has no end event: its question waits again at the next turn's
    event.
    """
    if event.hook == "StopFailure":
        await cut_off(transaction, session.id, "", event.happened_ms, wakes=True)
    elif event.prompt and event.hook in _IN_TURNS:
        await cut_off(transaction, session.id, event.prompt, event.happened_ms, wakes=False)
    if event.note and event.prompt and event.hook == "UserPromptSubmit":
        await began(transaction, session.id, event.note, event.prompt, event.received_ms)
    if not event.ends_turn:
        return None
    if event.said:
        await answered_in_turn(transaction, session.id, event.prompt, event.said, event.received_ms)
    if event.goes_on or not event.at_once or not session.living:
        return None
    return await hand_out(transaction, session.id, event.prompt, event.received_ms)
