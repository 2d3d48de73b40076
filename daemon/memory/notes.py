"""Plain lines of the daemon itself, said where a reply, a message or a reminder came to nothing.

A note is a row of the outbox with a key of its own. It waits for a week for its first chance, and gets no note itself.
"""

from enum import StrEnum

from daemon.core.initiative import NEVER_QUIET_THERE, QuietThere
from daemon.core.sentences import SENTENCES
from daemon.core.timetable import surely_past
from daemon.memory.database import Transaction


class Note(StrEnum):
    """What a note says; the courier sends it in the soul's own words and in the language of its reader.

    A conversation in which one waits to be sent gets no second one of the same words.
    """

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
    """Queue a note in a conversation, once for each `name`; it is a sentence of the table, in English.

    It is surely newer than the message `newer_than_ts`; without one, than what was written some minutes ago. In `quiet`
    hours it isn't sent.
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
