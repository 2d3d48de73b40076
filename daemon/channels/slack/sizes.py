"""Slack's size limits of what we send, counted as Slack counts them; no other module of the channel holds one.

Slack counts a text in bytes of UTF-8 after it has escaped `& < >`. A stream has one budget for all that it shows: its
text and the titles of its cards once, their details twice. It stands in no document; many runs put it between 10,600
and 11,300 bytes (openclaw#143882, centaur#563). chat.update refuses a longer `text` than 4,000 bytes, also beside
blocks (gitlab-org/gitlab!258898).
"""

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final

PLAIN: Final = 4_000
"""Bytes of a message's `text`."""
STREAM: Final = 10_600
"""Bytes of all that one stream shows."""
CARDS: Final = 2_000
"""Bytes that we spend on the cards of one stream."""
PART: Final = 8_400
"""Bytes of one part of a reply; with cards it fits into a stream, and always into a markdown block."""
MARKDOWN: Final = 12_000
"""Characters of all markdown blocks of a message, and of one piece of a stream's text."""
SECTION: Final = 2_900
"""Bytes of a section block; Slack takes 3,000 characters."""

_GROWS: Final = re.compile(r"[<>]|&(?!(?:amp|lt|gt);)")
_ESCAPED: Final[Mapping[str, int]] = {"<": 4, ">": 4, "&": 5}


def size(text: str) -> int:
    """Bytes of a text as Slack counts them; an entity that is escaped already counts as it stands."""
    return len(text.encode("utf-8", "surrogatepass")) + sum(_ESCAPED[found] - 1 for found in _GROWS.findall(text))


def sizes(text: str) -> list[int]:
    """The size of every beginning of a text, the empty one first; an `&` counts as one to be escaped."""
    if text.isascii() and not _GROWS.search(text) and "&" not in text:
        return list(range(len(text) + 1))
    return list(accumulate((_ESCAPED.get(character) or _utf8(ord(character)) for character in text), initial=0))


def weight(chunks: Iterable[Mapping[str, object]]) -> int:
    """Bytes that chunks take of a stream's budget."""
    return sum(_weight(chunk) for chunk in chunks)


def _weight(chunk: Mapping[str, object]) -> int:
    once = sum(size(str(chunk.get(name, ""))) for name in ("text", "title"))
    return once + 2 * sum(size(str(chunk.get(name, ""))) for name in ("details", "output"))


def _utf8(code: int) -> int:
    if code < 0x80:  # noqa: PLR2004  # the bounds of UTF-8's lengths, here and below
        return 1
    if code < 0x800:  # noqa: PLR2004
        return 2
    return 3 if code < 0x10000 else 4  # noqa: PLR2004
