"""What reached the soul's senses, in the prompt's region `readings`: a line each, what it looks out for first."""

from collections.abc import Sequence
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.reminder_words import time_in
from daemon.core.words import keys_of_words, shares_words, words_heard
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens
from daemon.memory.senses.perceiving import Reading, Sensed
from daemon.memory.stream.reading import LastThoughts
from daemon.mind.recall.stream import held_in
from daemon.soul import Soul
from daemon.soul_engine import READINGS

SENSE: Final = "sense"
"""The key in a memory's metadata of the sense that it reached."""

_LONGEST: Final = 120  # tokens of one line, so that one doesn't take the room of all


def with_sensed(memory: WorkingMemory, sensed: Sensed, thoughts: LastThoughts, soul: Soul, zone: str) -> WorkingMemory:
    """Put as much of it as its budget has room for, as data, and say how much isn't shown.

    The memory itself where nothing was sensed. What the last thought here looked out for stands first, and what it did
    not care for last; of equals the newest first.
    """
    if not (sensed.readings or sensed.dropped):
        return memory
    lines, left = list[Memory](), soul.budgets.readings
    for one in _in_order(sensed.readings, thoughts):
        left -= min(_LONGEST, estimate_tokens(one.words))
        if lines and left < 0:
            break
        lines.append(_line(one, zone))
    return memory.with_region(READINGS, *_left_out(len(sensed.readings) - len(lines), sensed.dropped), *lines)


def _in_order(readings: Sequence[Reading], thoughts: LastThoughts) -> Sequence[Reading]:
    previous = held_in(thoughts.previous)
    if previous is None:
        return readings
    attention = previous.attention

    def place(one: Reading) -> int:
        words = words_heard(f"{one.sense} {one.words}")
        keys = keys_of_words(words)
        lifted = any(shares_words(what, words, keys) for what in attention.focus_on)
        return 0 if lifted else 2 if any(shares_words(what, words, keys) for what in attention.deprioritize) else 1

    return sorted(readings, key=place)


def _line(one: Reading, zone: str) -> Memory:
    times = f", {one.n} times, the last" if one.n > 1 else ""
    name = f"from {clean_name(one.sense)}{times} at {time_in(one.at_ms, zone)}"
    return Memory(Role.USER, one.words, name=name, metadata={SENSE: one.sense})


def _left_out(hidden: int, dropped: int) -> Sequence[Memory]:
    """What the house says of readings that stand there not."""
    more = f"{hidden} more came, and are not shown." if hidden else ""
    gone = f"{dropped} older ones were dropped." if dropped else ""
    return [Memory(Role.SYSTEM, said)] if (said := " ".join(filter(None, (more, gone)))) else []
