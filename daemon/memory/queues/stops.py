"""Stops of what is under way in a conversation, durable before they are acknowledged."""

from collections.abc import Sequence

from msgspec.structs import replace

from daemon.core.errors import LostLease
from daemon.core.perception import BESIDE, Perception
from daemon.core.phrases import phrase_in
from daemon.core.ports.arrivals import Acceptance, TypedCommand
from daemon.core.sentences import SENTENCES
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.knowledge.turns import OF_SOUL

NOT_BEING_POSTED = """
  NOT EXISTS (SELECT 1 FROM outbox o WHERE o.conversation = a.conversation AND o.state IN ('pending', 'sending')
                AND o.state = 'sending' AND o.approval = a.id AND o.platform_ts IS NULL)
"""  # while a question is being posted its message has no known ts, and its buttons could not be removed


async def is_being_posted(transaction: Transaction, id_: str) -> bool:
    """Return whether the question is being sent, while its message has no known ts yet."""
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
    """Let questions lapse whose reply or problem a user stopped: later clicks don't count.

    Their messages lose their buttons and say so. A question that is being posted follows once it surely is posted.
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
    """Return whether a question lapses because its reply or its problem was stopped."""
    row = await transaction.one(
        "SELECT 1 FROM outbox WHERE conversation = :conversation AND approval = :id AND stopped = 'halted'",
        conversation=conversation,
        id=id_,
    )
    return row is not None


async def lapse_now(transaction: Transaction, conversation: str, id_: str, now: int) -> None:
    """Close a question without an event. A question that is not posted yet is dropped."""
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
"""The reason why a post is not sent."""


class Stopped(LostLease):
    """A user's stop of the cycle. Only the words that say so may be committed."""


class StopPlace(Value):
    """The place of a stop: a thread, by its first message, or with `whole` all of a channel, such as a DM.

    `own`: only what is done for this author alone.
    """

    soul: str
    workspace: str
    channel: str
    thread: str
    author: str
    whole: bool = False
    own: bool = False


async def stop_work(transaction: Transaction, place: StopPlace, now: int) -> tuple[str, ...]:
    """Stop what is under way in a place, if the author takes part in it, and return the stopped conversations.

    Messages being answered are marked, and the daemon that holds or next claims them ends without another word. Of a
    reply being sent, the waiting parts are left out. Messages that came later are kept.
    """
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
    """Stop what is done for the person alone in the command's channel, or else in their DMs."""
    there = StopPlace(command.soul, command.workspace, command.asked_in, "", command.author, whole=True, own=True)
    stopped = await stop_work(transaction, there, now) if command.asked_in != command.channel else ()
    return stopped or await stop_work(transaction, replace(there, channel=command.channel, own=False), now)


async def _stop(transaction: Transaction, conversation: str, author: str | None, now: int) -> bool:
    answering = await _mark(transaction, conversation, "claimed", author)
    left_out = await _leave_out(transaction, conversation, now)
    return answering or left_out or await _mark(transaction, conversation, "new", author)


async def _mark(transaction: Transaction, conversation: str, state: str, author: str | None) -> bool:
    """Mark messages as stopped, only the `author`'s if given, and return whether there were any."""
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
    """Drop the parts of a reply that were not begun, and close the visible part as it is."""
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
    """Stop by a platform's button. Ignored if nothing is under way, or the user may not stop it."""
    stopped = await stop_work(transaction, place, now)
    return (Acceptance.ACCEPTED, "stopped", stopped) if stopped else (Acceptance.IGNORED, "nothing to stop", ())


async def settle_stop(transaction: Transaction, message: Perception, now: int) -> None:
    """Settle a message that said stop and did.

    Without other words it is answered by the end of the reply. With them it ends in its own silent cycle, and its words
    stay in the transcript.
    """
    ended = "state = 'answered', reason = 'it stopped a reply', settled_ms = :now"
    end = ended if phrase_in(message.content) else "stopped = 1"
    sql = f"UPDATE inbox SET {end} WHERE id = :id AND state = 'new'"  # noqa: S608 - one of two literals
    await transaction.run(sql, id=message.id, now=now)
