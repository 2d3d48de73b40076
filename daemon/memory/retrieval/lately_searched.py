"""What lanes found a moment ago: the matter at hand is searched by before each reply, and seldom changes in between.

Only numbers and scores are kept, by what was asked and who reads: every row is read again before it is shown, and only
if its readers may know it then. What was said since, the newest words find.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.clock import Clock
from daemon.memory.knowledge.meaning import Meant
from daemon.memory.retrieval.lanes import SearchLane, narrowed

_SECONDS: Final = 120.0
_MOST: Final = 64
_HITS: Final = 40  # of words, and of each view: only what fits such a lane about as well as its best gets a seat

Found = tuple[SearchLane, Meant]
"""A lane, and how near memories are to it."""

_Key = tuple[str, ConversationKey, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Kept:
    found: Found
    until: float


class LatelySearched:
    """Lanes that are not older than two minutes, the last 64."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[_Key, _Kept] = {}

    def get(self, text: str, here: ConversationKey, codes: Collection[Sequence[str]]) -> Found | None:
        """What a text found for the same readers in the same place."""
        kept = self._kept.get(_key(text, here, codes))
        return kept.found if kept is not None and self._clock.monotonic() < kept.until else None

    def keep(self, here: ConversationKey, codes: Collection[Sequence[str]], found: Sequence[Found]) -> None:
        """Keep what lanes found, in place of the oldest."""
        until = self._clock.monotonic() + _SECONDS
        for lane, meant in found:
            key = _key(lane.question.text, here, codes)
            self._kept.pop(key, None)
            self._kept[key] = _Kept(narrowed(lane, meant, _HITS), until)
        self._kept = dict([*self._kept.items()][-_MOST:])


def _key(text: str, here: ConversationKey, codes: Collection[Sequence[str]]) -> _Key:
    return text, here, frozenset(code for group in codes for code in group)
