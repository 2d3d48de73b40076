"""Takes a question about a message, which its user typed into a dialog: words without a message of the platform."""

from daemon.core.perception import NO_MESSAGE, ConversationKey, Modality
from daemon.core.ports.arrivals import Acceptance, AskedAbout
from daemon.memory.database import Transaction
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.internal_events import store_internal_event


async def take_question(transaction: Transaction, asked: AskedAbout, now: int) -> tuple[Acceptance, str]:
    """Put the question into the inbox of the conversation in which it is answered."""
    where = ConversationKey(asked.soul, asked.workspace, asked.channel, asked.thread)
    await open_conversation(transaction, where, asked.place, asked.audience, now, heard=True)
    await store_internal_event(
        transaction,
        name=asked.event_id,
        conversation=where,
        modality=Modality.WORDS,
        author=asked.author,
        place=asked.place,
        audience=str(asked.audience),
        body=asked.words,
        params={NO_MESSAGE: True},
        now=now,
    )
    return Acceptance.ACCEPTED, ""
