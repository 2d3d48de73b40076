"""Events that the daemon itself puts into the inbox: due intentions and decided approvals."""

from collections.abc import Mapping

from daemon.core.perception import ConversationKey, Modality
from daemon.core.ports.arrivals import Joined, RoomWaySent
from daemon.core.timetable import platform_time
from daemon.memory.database import Transaction
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.records import as_json, conversation_columns


async def store_internal_event(
    transaction: Transaction,
    *,
    name: str,
    conversation: ConversationKey,
    modality: Modality,
    author: str,
    place: str,
    audience: str,
    params: Mapping[str, object],
    now: int,
    body: str = "",
    process: str = "",
    at_ms: int | None = None,
) -> str:
    """Put an event into the inbox, once for each `name` within its channel; gives the row's id.

    It happened at `at_ms`, else now. The gate is asked about the user `author`. `process` is the mental process that it
    visits; when empty, the current one of the conversation perceives it.
    """
    id_ = "/".join((conversation.soul, conversation.workspace, conversation.channel, name))
    await transaction.insert(
        "inbox",
        "ON CONFLICT (id) DO NOTHING",
        id=id_,
        channel=conversation.channel,
        ts=platform_time(now if at_ms is None else at_ms),
        **conversation_columns(conversation),
        author=author,
        place=place,
        audience=audience,
        body=body,
        source="live",
        state="new",
        received_ms=now,
        envelope="{}",
        modality=modality,
        process=process or None,
        params=as_json(params),
    )
    return id_


async def store_act_in_channel(
    transaction: Transaction,
    act: Joined | RoomWaySent,
    now: int,
    *,
    author: str,
    name: str,
    params: Mapping[str, object],
) -> str:
    """Put what a user did in a channel, without a message, into the inbox of its timeline; gives the row's id."""
    where = ConversationKey(act.soul, act.workspace, act.channel)
    await open_conversation(transaction, where, act.place, act.audience, now)
    return await store_internal_event(
        transaction,
        name=name,
        conversation=where,
        modality=Modality.DECISION,
        author=author,
        place=act.place,
        audience=str(act.audience),
        params=params,
        now=now,
    )
