"""Takes a slash command: an event in the direct messages of its user, stored before it is acknowledged."""

from typing import Final

from daemon.core.perception import NO_MESSAGE, ConversationKey, Modality, Place
from daemon.core.ports.arrivals import Acceptance, TypedCommand
from daemon.memory.database import Transaction
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.internal_events import store_internal_event

TYPED: Final = "typed"
"""The parameter that names the arrival, by which it is answered where it was typed."""

ASKED_IN: Final = "typed_in"
"""The parameter that names the room in which it was typed."""


HOME: Final = "home"
"""The parameter that names what was done on the home page."""

_CORRECTS: Final = "wrong"  # what is typed there is the person's own words


async def take_command(transaction: Transaction, command: TypedCommand, now: int) -> tuple[Acceptance, str]:
    """Put the words into the inbox of the conversation in which only their user reads."""
    where = ConversationKey(command.soul, command.workspace, command.channel)
    await open_conversation(transaction, where, Place.DM, command.audience, now)
    params: dict[str, object] = {TYPED: command.event_id, ASKED_IN: command.asked_in, NO_MESSAGE: True}
    if command.home:
        params[HOME] = command.home
    await store_internal_event(
        transaction,
        name=command.event_id,
        conversation=where,
        modality=Modality.WORDS if command.home.startswith(_CORRECTS) else Modality.DECISION,
        author=command.author,
        place=Place.DM,
        audience=str(command.audience),
        body=command.words,
        params=params,
        now=now,
    )
    return Acceptance.ACCEPTED, ""
