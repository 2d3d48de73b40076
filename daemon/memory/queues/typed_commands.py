"""Takes a slash command: an event in the direct messages of its user, stored before it is acknowledged."""

from typing import Final

from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.ports import Acceptance, TypedCommand
from daemon.memory.database import Transaction
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.internal_events import store_internal_event

TYPED: Final = "typed"
"""The parameter that names the arrival, by which it is answered where it was typed."""

ASKED_IN: Final = "typed_in"
"""The parameter that names the room in which it was typed."""


async def take_command(transaction: Transaction, command: TypedCommand, now: int) -> tuple[Acceptance, str]:
    """Put the words into the inbox of the conversation in which only their user reads."""
    where = ConversationKey(command.soul, command.workspace, command.channel)
    await open_conversation(transaction, where, Place.DM, command.audience, now)
    await store_internal_event(
        transaction,
        name=command.event_id,
        conversation=where,
        modality=Modality.DECISION,
        author=command.author,
        place=Place.DM,
        audience=str(command.audience),
        body=command.words,
        process="",
        params={TYPED: command.event_id, ASKED_IN: command.asked_in},
        at_ms=now,
        now=now,
    )
    return Acceptance.ACCEPTED, ""
