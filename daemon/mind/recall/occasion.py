"""What an unasked thought is about, where neither a goal nor an expectation says so, and what time let pass."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from daemon.core.perception import Modality, Perception
from daemon.core.spans import span_in_words
from daemon.core.tempo import ANSWERED, PROPOSED, RESULTS
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.core.zones import zone_of
from daemon.mind.recall.visit import Visit
from daemon.mind.thought.occasion import occasion_of

_ENDED: Final = "The visit here has ended, and something was said in it that you have not thought about yet."
_CAME: Final[Mapping[object, str]] = {
    PROPOSED: "An admin has decided on what you proposed: it stands below your last thought.",
    ANSWERED: "A session that was asked from here has answered, and the people here have read its answer above.",
}
_SILENCE_S: Final = 3_600.0
"""From so many seconds without a word on, a silence is perceived."""


def with_occasion(memory: WorkingMemory, perception: Perception) -> WorkingMemory:
    """The memory with a sentence that says what has happened; the memory itself where nothing has to."""
    sentences = " ".join(_sentences(perception))
    return memory.with_memory(Memory(Role.SYSTEM, f"({sentences})")) if sentences else memory


def _sentences(perception: Perception) -> Iterator[str]:
    occasion, results = occasion_of(perception), perception.params.get(RESULTS, [PROPOSED])
    if occasion == "visit_end":
        yield _ENDED
    if occasion == "result" and isinstance(results, list):
        yield from (_CAME[one] for one in results if one in _CAME)


def passed(perception: Perception, visit: Visit) -> tuple[str, ...]:
    """What time let pass: a silence before these words, and the end of a visit."""
    if occasion_of(perception) == "visit_end":
        return ("the visit has ended",)
    return tuple(filter(None, (silence_before(perception, visit),)))


def silence_before(perception: Perception, visit: Visit) -> str:
    """The silence that these words end, such as "a silence of 2 hours"; empty where there was none to speak of."""
    silent = perception.modality is Modality.WORDS and visit.silence >= _SILENCE_S
    return f"a silence of {span_in_words(visit.silence)}" if silent else ""


def day_in_words(when_ms: int, now_ms: int, zone: str) -> str:
    """A moment as a person in this zone would name it, such as "yesterday, 3:14 PM"; times in ms, UTC."""
    there = zone_of(zone) or UTC
    when, now = (datetime.fromtimestamp(one / 1000, there) for one in (when_ms, now_ms))
    ago = (now.date() - when.date()).days
    day = {0: "today", 1: "yesterday"}.get(ago, f"{when:%Y-%m-%d}")
    return f"{day}, {when.hour % 12 or 12}:{when:%M %p}"
