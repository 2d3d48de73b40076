"""Fills a fresh working memory with what the soul should have in mind for a conversation (design, section 3)."""

from collections.abc import Sequence

from daemon.memory.records import Speaks, Turn
from daemon.memory.turns import Transcript
from daemon.perception import Perception
from daemon.ports import Overheard
from daemon.soul import Soul
from daemon.soul_engine import SUMMARY, begin, clean_name, with_notes, with_now, with_thread
from daemon.working_memory import Memory, Role, WorkingMemory

TURNS_READ = 80
"""Newest turns fetched for a prompt; the budgets in tokens decide how many of them are shown."""

OVERHEARD_READ = 30
"""Earlier messages of a thread that are read when the soul is asked in."""


def recall(
    soul: Soul, perception: Perception, transcript: Transcript, overheard: Sequence[Overheard], now_ms: int
) -> WorkingMemory:
    """Working memory before the perception: who the soul is, where and when it is, what was said here before.

    `overheard` is what was said around the soul, of those who may be heard; the transcript is what it took part in.
    """
    memory = with_now(begin(soul), now_ms, perception.place)
    memory = with_notes(memory, SUMMARY, transcript.summary)
    memory = with_thread(memory, overheard)
    return memory.concat(tuple(as_memory(turn) for turn in transcript.turns))


def as_memory(turn: Turn) -> Memory:
    """A turn of the transcript as a memory."""
    if turn.speaker is Speaks.SOUL:
        return Memory(Role.ASSISTANT, turn.body)
    return Memory(Role.USER, turn.body, name=clean_name(turn.name))
