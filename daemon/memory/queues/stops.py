"""Stops what is under way in a conversation: durable before it is acknowledged, so that a kill can't undo it.

The messages that are being answered are marked, and whoever holds them ends without another word: the daemon that
thinks about them now, or the one that claims them after its death. Of a reply that is being sent, the parts that wait
are left out. Messages that came meanwhile are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daemon.core.errors import LostLease
from daemon.core.perception import BESIDE, Perception
from daemon.core.phrases import phrase_in
from daemon.core.ports.arrivals import Acceptance, TypedCommand
from daemon.core.sentences import SENTENCES
from daemon.memory.database import Transaction
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.knowledge.turns import OF_SOUL

NOT_BEING_POSTED = """
  NOT EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = a.conversation AND o.state IN ('pending', 'sending')
                AND o.state = 'sending' AND o.approval = a.id AND o.platform_ts IS NULL)
"""  # while a question is being posted its message has no known ts, and its buttons could not be removed


async def is_being_posted(transaction: Transaction, id_: str) -> bool:
    """Whether the question is being sent to the platform, so that its message has no known ts yet."""
    row = await transaction.one(f"SELECT 1 FROM approvals a WHERE id = :id AND {NOT_BEING_POSTED}", id=id_)  # noqa: S608 - a constant of this module
    return row is None


async def remove_buttons(transaction: Transaction, conversation: str, id_: str, note: str, now: int) -> None:
    """Add the outcome to the question's message, by a revision when it is posted and else before it is posted."""
    await transaction.run(
        """
        UPDATE outbox SET approval = NULL, body = body || :note
        WHERE conversation = :conversation AND approval = :id AND state = 'pending' AND platform_ts IS NULL
        """,
        note=note,
        conversation=conversation,
        id=id_,
    )
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises)
        SELECT id || '!decided', conversation, soul, workspace, part, 0, body || :note, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, platform_ts
        FROM outbox WHERE conversation = :conversation AND approval = :id AND platform_ts IS NOT NULL
        ON CONFLICT (id) DO NOTHING
        """,
        note=note,
        conversation=conversation,
        id=id_,
        now=now,
    )


async def lapse(transaction: Transaction, approvals: Sequence[str], now: int) -> None:
    """Have questions lapse whose reply or problem a person stopped: no click counts any more, and nothing is said.

    Their messages lose their buttons and say so; one that is just being posted does as soon as it surely is.
    """
    for id_ in approvals:
        row = await transaction.one("SELECT conversation FROM approvals WHERE id = :id AND state = 'waiting'", id=id_)
        if row is None:
            continue
        await transaction.run(
            """
            UPDATE outbox SET stopped = 'halted'
            WHERE conversation = :conversation AND approval = :id AND stopped <> 'halted'
            """,
            conversation=row["conversation"],
            id=id_,
        )
        if await is_being_posted(transaction, id_):
            await transaction.run(
                "UPDATE approvals SET expires_ms = min(expires_ms, :now) WHERE id = :id", now=now, id=id_
            )
        else:
            await lapse_now(transaction, row["conversation"], id_, now)


async def was_stopped(transaction: Transaction, conversation: str, id_: str) -> bool:
    """Whether a question lapses because its reply or its problem was stopped."""
    row = await transaction.one(
        "SELECT 1 FROM outbox WHERE conversation = :conversation AND approval = :id AND stopped = 'halted'",
        conversation=conversation,
        id=id_,
    )
    return row is not None


async def lapse_now(transaction: Transaction, conversation: str, id_: str, now: int) -> None:
    """Close a question without an event: one that nobody has seen is not posted at all."""
    await transaction.run(
        "UPDATE approvals SET state = 'expired', decided_ms = :now WHERE id = :id AND state = 'waiting'",
        now=now,
        id=id_,
    )
    await transaction.run(
        """
        UPDATE outbox SET state = 'dropped', reason = 'it was stopped', settled_ms = :now
        WHERE conversation = :conversation AND approval = :id AND state = 'pending' AND platform_ts IS NULL
        """,
        now=now,
        conversation=conversation,
        id=id_,
    )
    await remove_buttons(transaction, conversation, id_, f"\n\n_{SENTENCES['lapsed']}_", now)


STOPPED = "it was stopped"
"""Why a post is not sent."""


class Stopped(LostLease):
    """A person stopped the cycle: nothing of it may be committed but the words that say so."""


@dataclass(frozen=True, slots=True)
class StopPlace:
    """Where somebody says stop: a thread, by its first message; `whole`: all of a channel, as in direct messages.

    `own`: only what is done for nobody but them.
    """

    soul: str
    workspace: str
    channel: str
    thread: str
    author: str
    whole: bool = False
    own: bool = False


async def stop_work(transaction: Transaction, place: StopPlace, now: int) -> tuple[str, ...]:
    """Stop what is under way there, if the person takes part in it; gives the conversations that were stopped."""
    rows = await transaction.rows(
        f"""
        SELECT c.id FROM conversations c
        WHERE c.workspace = :workspace AND c.channel = :channel AND c.thread <> :beside AND {OF_SOUL}
          AND c.id IN (SELECT conversation FROM inbox WHERE state IN ('new', 'claimed')
                       UNION SELECT conversation FROM outbox WHERE state IN ('pending', 'sending'))
          AND (:whole OR c.thread = :thread
            OR EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id AND i.state IN ('new', 'claimed')
                                               AND i.ts = :thread)
            OR EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = c.id AND o.state IN ('pending', 'sending')
                                                AND o.reply_to = :thread))
          AND (EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id AND i.author = :author
                                               AND i.state IN ('new', 'claimed', 'answered'))
            OR EXISTS (SELECT 1 FROM turns t WHERE t.conversation = c.id AND t.author = :author))
          AND (NOT :own OR NOT (
            EXISTS (SELECT 1 FROM inbox i WHERE i.conversation = c.id AND i.state = 'claimed' AND i.author <> :author)
            OR EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = c.id AND o.state IN ('pending', 'sending')
                                                AND o.recipient <> :author)))
        """,  # noqa: S608 - a constant of this package
        soul=place.soul,
        workspace=place.workspace,
        channel=place.channel,
        thread=place.thread,
        beside=BESIDE,
        author=place.author,
        whole=place.whole,
        own=place.own,
    )
    author = place.author if place.own else None
    return tuple([row["id"] for row in rows if await _stop(transaction, row["id"], author, now)])


async def stop_by_command(transaction: Transaction, command: TypedCommand, now: int) -> tuple[str, ...]:
    """Stop what is done for the person alone in the channel where they typed it, or else in their direct messages.

    Gives the conversations that were stopped.
    """
    there = StopPlace(command.soul, command.workspace, command.asked_in, "", command.author, whole=True, own=True)
    stopped = await stop_work(transaction, there, now) if command.asked_in != command.channel else ()
    return stopped or await stop_work(transaction, replace(there, channel=command.channel, own=False), now)


async def _stop(transaction: Transaction, conversation: str, author: str | None, now: int) -> bool:
    """Whether anything was under way: messages that are answered, a reply that is sent, or else messages that wait."""
    answering = await _mark(transaction, conversation, "claimed", author)
    left_out = await _leave_out(transaction, conversation, now)
    return answering or left_out or await _mark(transaction, conversation, "new", author)


async def _mark(transaction: Transaction, conversation: str, state: str, author: str | None) -> bool:
    """Mark messages, of an `author` only theirs, as stopped; whether there were any."""
    rows = await transaction.rows(
        """
        UPDATE inbox SET stopped = 1
        WHERE conversation = :id AND state IN ('new', 'claimed') AND state = :state AND absorbed = 0
          AND (state = 'claimed' OR modality = 'words')
          AND (:author IS NULL OR author = :author) RETURNING id
        """,
        id=conversation,
        state=state,
        author=author,
    )
    return bool(rows)


async def _leave_out(transaction: Transaction, conversation: str, now: int) -> bool:
    """Send no more of a reply: what was not begun is dropped, what may be visible is closed as it stands."""
    replies = """
        conversation = :id AND stopped = '' AND note = 0 AND revises IS NULL AND file = ''
          AND instr(id, '!') = 0
    """
    await transaction.run(
        f"UPDATE outbox SET stopped = 'halted' WHERE {replies} AND state IN ('pending', 'sending')",  # noqa: S608 - a literal
        id=conversation,
    )
    dropped = await transaction.rows(
        """
        UPDATE outbox SET state = 'dropped', reason = :why, settled_ms = :now
        WHERE conversation = :id AND state = 'pending' AND stopped = 'halted' AND platform_ts IS NULL AND draft_lost = 0
        RETURNING id, reply_to, recipient, newer_than_ts
        """,
        id=conversation,
        why=STOPPED,
        now=now,
    )
    asking = await transaction.rows(
        """
        SELECT approval FROM outbox WHERE conversation = :id AND stopped = 'halted' AND approval IS NOT NULL
          AND state IN ('sending', 'dropped')
        """,
        id=conversation,
    )
    await lapse(transaction, [row["approval"] for row in asking], now)
    for row in dropped[:1]:
        await note_in_conversation(
            transaction,
            conversation,
            row["id"],
            SENTENCES["stop_rest"],
            reply_to=row["reply_to"],
            recipient=row["recipient"],
            newer_than_ts=row["newer_than_ts"],
            now=now,
        )
    return bool(dropped)


async def accept_stop(transaction: Transaction, place: StopPlace, now: int) -> tuple[Acceptance, str, tuple[str, ...]]:
    """Stop by a platform's button; ignored where nothing is under way, or not for this person to stop."""
    stopped = await stop_work(transaction, place, now)
    return (Acceptance.ACCEPTED, "stopped", stopped) if stopped else (Acceptance.IGNORED, "nothing to stop", ())


async def settle_stop(transaction: Transaction, message: Perception, now: int) -> None:
    """A message that said stop, and did, is answered by the end of the reply.

    One with more words ends as the reply does, in a cycle of its own that says nothing: they stand in the transcript.
    """
    ended = "state = 'answered', reason = 'it stopped a reply', settled_ms = :now"
    end = ended if phrase_in(message.content) else "stopped = 1"
    sql = f"UPDATE inbox SET {end} WHERE id = :id AND state = 'new'"  # noqa: S608 - one of two literals
    await transaction.run(sql, id=message.id, now=now)
