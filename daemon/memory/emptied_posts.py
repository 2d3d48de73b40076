"""Posts that lost their words before they were sent, because a user's words in them were forgotten.

A message that still waits for such a reply is answered again, and the turns of the first answer are deleted. If that
can't be done twice, as for a decision or a correction of a note, a note is left instead.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from daemon.core.initiative import NEVER_QUIET_THERE, QuietThere
from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.phrases import Command, phrase_in
from daemon.core.sentences import SENTENCES
from daemon.core.timetable import surely_past
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.records import IN_PRIVATE, Speaks


class Note(StrEnum):
    """A sentence that replaces a post, sent in the soul's words. A conversation has one waiting note of each kind."""

    DEAD = SENTENCES["note_dead"]
    EXPIRED = SENTENCES["note_expired"]
    IN_DOUBT = SENTENCES["note_in_doubt"]
    UNKNOWN = SENTENCES["note_unknown"]
    UNREAD = SENTENCES["note_unread"]
    NOT_FIRED = SENTENCES["note_not_fired"]
    REWORDED = SENTENCES["note_reworded"]
    AS_SET = SENTENCES["note_as_set"]


async def note_on_post(transaction: Transaction, key: str, note: Note, now: int) -> None:
    """Queue a note in place of a post, in its thread, at most one for each post."""
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, note)
        SELECT conversation || '!note:' || seq, conversation, soul, workspace, 0, 1, :body, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, 1
        FROM outbox o WHERE id = :key AND note = 0 AND NOT EXISTS (
          SELECT 1 FROM outbox w WHERE w.conversation = o.conversation AND w.state IN ('pending', 'sending')
                                   AND w.note = 1 AND w.body = :body)
        ON CONFLICT (id) DO NOTHING
        """,
        key=key,
        body=note,
        now=now,
    )


async def drop_note(transaction: Transaction, key: str, now: int) -> None:
    """Take back the note on a post that arrived after all, unless it is being sent at this moment."""
    await transaction.run(
        """
        UPDATE outbox SET state = 'dropped', reason = 'its post arrived', settled_ms = :now
        WHERE id = (SELECT conversation || '!note:' || seq FROM outbox WHERE id = :key)
          AND (state = 'pending' OR (state = 'sending' AND lease_until <= :now))
        """,
        key=key,
        now=now,
    )


async def note_in_conversation(
    transaction: Transaction,
    conversation: str,
    name: str,
    note: str,
    *,
    reply_to: str,
    recipient: str,
    now: int,
    newer_than_ts: str | None = None,
    quiet: QuietThere = NEVER_QUIET_THERE,
) -> None:
    """Queue a note in a conversation, once for each `name`.

    `note` is an English sentence of `SENTENCES`. The note is surely newer than the message `newer_than_ts`, by default
    than one of some minutes ago. In `quiet` hours it isn't sent.
    """
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, note, quiet)
        SELECT id || '!note:' || :name, id, soul, workspace, 0, 1, :body, :reply_to, :recipient, :newer_than_ts,
               audience, 'pending', :now, 1, :quiet
        FROM conversations WHERE id = :conversation
        ON CONFLICT (id) DO NOTHING
        """,
        conversation=conversation,
        name=name,
        body=note,
        reply_to=reply_to,
        recipient=recipient,
        newer_than_ts=surely_past(now) if newer_than_ts is None else newer_than_ts,
        now=now,
        quiet=str(quiet),
    )


_WHY: Final = "its reply was emptied before it arrived"
_HARMLESS: Final = (  # commands that may safely run twice
    *(Command.KNOWN, Command.WHY, Command.WHY_SAID, Command.EXPORT),
    *(Command.SESSIONS, Command.WORKS_ON, Command.HELP, Command.STATUS, Command.REMINDERS),
)


async def posts_waiting(transaction: Transaction, workspace: str) -> list[str]:
    """Return the keys of posts that surely were not sent yet and hold words."""
    rows = await transaction.rows(
        """
        SELECT id FROM outbox WHERE state = 'pending' AND cleared = 0
          AND workspace = :workspace ORDER BY seq
        """,
        workspace=workspace,
    )
    return [row["id"] for row in rows]


async def end_emptied(transaction: Transaction, keys: Iterable[str], now: int) -> None:
    """End emptied posts and the waiting parts of their replies. A draft that users see ends with a plain line."""
    for key in keys:
        post = await transaction.one("SELECT * FROM outbox WHERE id = :id AND cleared = 1", id=key)
        if post is None:
            continue
        messages = await _answered_by(transaction, post)
        again = bool(messages) and await _may_be_answered_again(transaction, messages)
        again = again and not await _is_partly_out(transaction, post)
        if not again and post["recipient"]:
            await note_on_post(transaction, key, Note.DEAD, now)
        await _end_parts(transaction, post, now, again=again)
        for message in messages if again else ():
            await _have_answered(transaction, message, now)


async def _answered_by(transaction: Transaction, post: sqlite3.Row) -> list[sqlite3.Row]:
    """Return the messages that the post's reply answers, as far as their words are kept."""
    where, private, asked = _whole(post["id"]).partition(IN_PRIVATE)
    if private:  # the answer went to the direct messages of the user who asked elsewhere
        key, (channel, _, ts) = ConversationKey.parse(where), asked.partition(":")
        return await transaction.rows(
            """
            SELECT * FROM inbox WHERE id = :id AND state = 'answered' AND cleared = 0
            """,
            id=f"{key.soul}/{key.workspace}/{channel}/{ts}",
        )
    return await transaction.rows(
        """
        SELECT * FROM inbox WHERE conversation = :conversation AND answered_by = :first AND state = 'answered'
          AND cleared = 0 ORDER BY ts
        """,
        conversation=post["conversation"],
        first=f"{_whole(post['id'])}#0",
    )


async def _may_be_answered_again(transaction: Transaction, messages: Sequence[sqlite3.Row]) -> bool:
    for message in messages:
        alone = message["place"] in (Place.DM, Place.TERMINAL)
        phrase = phrase_in(message["body"], alone=alone) if message["modality"] == Modality.WORDS else None
        if message["modality"] == Modality.DECISION or (phrase is not None and phrase.command not in _HARMLESS):
            return False
        elsewhere = await transaction.one(  # a post of that cycle in another conversation is not taken back
            f"SELECT 1 FROM turns WHERE trace_id IN ({_TRACES}) AND speaker = 'soul' AND conversation <> :conversation",  # noqa: S608 - constant
            conversation=message["conversation"],
            ts=message["ts"],
        )
        if elsewhere is not None:
            return False
    return True


async def _is_partly_out(transaction: Transaction, post: sqlite3.Row) -> bool:
    sent = await transaction.one(
        """
        SELECT 1 FROM outbox WHERE conversation = :conversation AND note = 0 AND state = 'sent'
          AND id >= :whole || '#' AND id < :whole || '#:'
        """,
        conversation=post["conversation"],
        whole=_whole(post["id"]),
    )
    return sent is not None


async def _end_parts(transaction: Transaction, post: sqlite3.Row, now: int, *, again: bool) -> None:
    """Drop the waiting parts of the reply. A private answer is deleted instead, because its key is used again."""
    whole = _whole(post["id"])
    parts = await transaction.rows(
        """
        SELECT id, platform_ts, draft_lost FROM outbox WHERE conversation = :conversation AND note = 0
          AND id >= :whole || '#' AND id < :whole || '#:' AND (state = 'pending' OR id = :id)
        """,
        conversation=post["conversation"],
        whole=whole,
        id=post["id"],
    )
    for part in parts:
        if again and IN_PRIVATE in whole:
            await transaction.run("DELETE FROM outbox WHERE id = :id", id=part["id"])
        elif part["platform_ts"] or part["draft_lost"]:
            await transaction.run(
                """
                UPDATE outbox SET state = 'pending', body = :gone, note = 1, last = 1, cleared = 0, approval = NULL,
                       nod = '', settled_ms = NULL, lease_owner = '', lease_until = 0, not_before = 0 WHERE id = :id
                """,
                gone=SENTENCES["gone"],
                id=part["id"],
            )
        else:
            await transaction.run(
                """
                UPDATE outbox SET state = 'dropped', body = '', cleared = 1, reason = '', settled_ms = :now,
                       lease_owner = '', lease_until = 0 WHERE id = :id
                """,
                now=now,
                id=part["id"],
            )


async def _have_answered(transaction: Transaction, message: sqlite3.Row, now: int) -> None:
    """Let a message wait as if it had just arrived. Its new reply brings its reminders and requests again."""
    where = {"conversation": message["conversation"], "ts": message["ts"]}
    turns = await transaction.rows(
        f"""
        SELECT seq, speaker, said_ms FROM turns WHERE conversation = :conversation AND trace_id IN ({_TRACES})
        ORDER BY seq
        """,  # noqa: S608 - a constant of this module
        **where,
    )
    for said_ms in {row["said_ms"] for row in turns}:
        await transaction.run(
            """
            DELETE FROM intentions WHERE conversation = :conversation AND created_ms = :said_ms AND state = 'waiting'
            """,
            conversation=message["conversation"],
            said_ms=said_ms,
        )
    _, _, version = _whole(message["answered_by"]).rpartition("@")
    await transaction.run(
        "DELETE FROM approvals WHERE conversation = :conversation AND turn = :turn AND state = 'waiting'",
        conversation=message["conversation"],
        turn=int(version),
    )
    if turns:
        await forget_summary(transaction, message["conversation"], turns[0]["seq"])
    await forget(transaction, [turn_id(Speaks(row["speaker"]), row["seq"]) for row in turns], now, _WHY)
    await delete_these(transaction, [row["seq"] for row in turns], now, _WHY)
    await transaction.run(
        """
        UPDATE inbox SET state = 'new', answered_by = NULL, settled_ms = NULL, reason = '', voided = 0,
               attempts = max(0, attempts - 1), not_before = :now WHERE id = :id
        """,
        id=message["id"],
        now=now,
    )


def _whole(key: str) -> str:
    return key.rpartition("#")[0]


_TRACES: Final = "SELECT trace_id FROM turns WHERE conversation = :conversation AND ts = :ts AND trace_id <> ''"
