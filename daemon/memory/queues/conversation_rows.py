"""The row of a conversation, which exists before anything that belongs to it."""

from typing import Final

from daemon.core.perception import Audience, ConversationKey, Place
from daemon.memory.database import Transaction

_KNOWN: Final = "ON CONFLICT (id) DO NOTHING"
_HEARD: Final = """
    ON CONFLICT (id) DO UPDATE SET last_ms = excluded.last_ms, place = excluded.place, audience = excluded.audience
    """


async def open_conversation(
    transaction: Transaction, key: ConversationKey, place: Place, audience: Audience, now: int, *, heard: bool = False
) -> None:
    """Make sure that a conversation has its row; when it was `heard` from, a row that is there says so too."""
    await transaction.insert(
        "conversations",
        _HEARD if heard else _KNOWN,
        id=str(key),
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        thread=key.thread,
        place=place,
        audience=str(audience),
        last_ms=now,
    )
