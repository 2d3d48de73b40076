"""Where a prompt is marked for the provider's cache: at the ends of what is sent again, if that is long enough."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.ports.models import Message, SystemPart
from daemon.core.working_memory import estimate_tokens

MOST_MARKS: Final = 4
"""As many as Anthropic takes in one request."""

MARK: Final = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class CacheMarks:
    """The places of the system parts and of the messages at whose end a cached prefix ends."""

    system: frozenset[int] = frozenset()
    messages: frozenset[int] = frozenset()


def cache_marks(system: Sequence[SystemPart], chat: Sequence[Message], smallest: int | None) -> CacheMarks:
    """Marks behind each stable part and each message that is worth caching, of too many the last ones.

    A prefix of less than `smallest` tokens, by our own estimate, is not marked: no provider keeps it. None: no marks.
    """
    if smallest is None:
        return CacheMarks()
    ends = [part.stable for part in system] + [message.cached for message in chat]
    texts = [part.text for part in system] + [message.text for message in chat]
    places, size = [], 0
    for place, (ends_here, text) in enumerate(zip(ends, texts, strict=True)):
        size += estimate_tokens(text)
        if ends_here and size >= smallest:
            places.append(place)
    kept = places[-MOST_MARKS:]
    count = len(system)
    return CacheMarks(
        frozenset(place for place in kept if place < count),
        frozenset(place - count for place in kept if place >= count),
    )


def text_block(text: str, *, marked: bool) -> dict[str, Any]:
    """One block of text, as Anthropic and OpenRouter take it."""
    return {"type": "text", "text": text} | ({"cache_control": dict(MARK)} if marked else {})
