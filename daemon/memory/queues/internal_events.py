"""What reaches the soul otherwise than as words: things fallen due and decisions, put into the inbox by the house."""

from collections.abc import Mapping

from daemon.core.perception import ConversationKey, Modality
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.records import as_json


async def store_occurrence(
    transaction: Transaction,
    *,
    name: str,
    conversation: ConversationKey,
    modality: Modality,
    author: str,
    place: str,
    audience: str,
    body: str,
    process: str,
    params: Mapping[str, object],
    at_ms: int,
    now: int,
) -> None:
    """Put something into the inbox, once for each `name` within its channel.

    `at_ms` is when it happened, `author` the person about whom the gate is asked; an empty `process` means whatever the
    conversation is in.
    """
    await transaction.run(
        """
        INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body, source, state,
                           received_ms, envelope, modality, process, params)
        VALUES (:id, :soul, :workspace, :channel, :ts, :conversation, :author, :place, :audience, :body, 'live', 'new',
                :now, '{}', :modality, :process, :params)
        ON CONFLICT (id) DO NOTHING
        """,
        id="/".join((conversation.soul, conversation.workspace, conversation.channel, name)),
        soul=conversation.soul,
        workspace=conversation.workspace,
        channel=conversation.channel,
        ts=platform_time(at_ms),
        conversation=str(conversation),
        author=author,
        place=place,
        audience=audience,
        body=body,
        now=now,
        modality=modality,
        process=process or None,
        params=as_json(params),
    )


async def record(transaction: Transaction, *, actor: str, act: str, subject: str, detail: str, now: int) -> None:
    """Put who did what on record, for good; no words of anybody."""
    await transaction.run(
        "INSERT INTO audit (actor, act, object, detail, done_ms) VALUES (:actor, :act, :object, :detail, :now)",
        actor=actor,
        act=act,
        object=subject,
        detail=detail,
        now=now,
    )
