"""How time passes for a whole thought (seed 002, `temporal_context`), and the sentences of its prompt that say so."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from daemon.core.spans import span_in_words
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.core.zones import zone_of
from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.occasion import silence_before
from daemon.mind.thought.cognitive_input import TemporalContext
from daemon.soul_engine import NOW

_PARTS_OF_DAY: Final = ((5, "night"), (12, "morning"), (18, "afternoon"), (22, "evening"), (24, "night"))


def temporal_context(context: ProcessContext) -> TemporalContext:
    """How long ago the last thought here was and how long the visit lasts, as far as either is known."""
    previous, visit, now_ms = context.cycle.thoughts.previous, context.visit, context.mind.clock.now_ms()
    there = datetime.fromtimestamp(now_ms / 1000, zone_of(context.perception.zone) or UTC)
    return TemporalContext(
        time_since_last_thought="" if previous is None else span_in_words((now_ms - previous.at_ms) / 1000),
        session_duration=span_in_words((now_ms - visit.begun_ms) / 1000) if visit.begun_ms else "",
        time_of_day=next(name for until, name in _PARTS_OF_DAY if there.hour < until),
        interactions_this_session=visit.exchanges,
    )


def with_passing_time(memory: WorkingMemory, context: ProcessContext) -> WorkingMemory:
    """The memory with what is known of it beside the time of day; the memory itself where nothing is."""
    said = time_in_words(temporal_context(context), silence_before(context.perception, context.visit))
    return memory.with_region(NOW, *memory.region(NOW)[:1], Memory(Role.SYSTEM, said)) if said else memory


def time_in_words(time: TemporalContext, silence: str = "") -> str:
    """What passed, in short sentences; `silence` is the one that the newest words end. Empty where nothing is known."""
    return " ".join(_sentences(time, silence))


def _sentences(time: TemporalContext, silence: str) -> Iterator[str]:
    if time.time_since_last_thought:
        yield f"Your last thought here was {time.time_since_last_thought} ago."
    number = time.interactions_this_session
    replies = f"{number} {'reply' if number == 1 else 'replies'} of yours"
    if time.session_duration:
        yield f"This visit has lasted {time.session_duration}, with {replies}."
    elif number:
        yield f"In this visit there {'was' if number == 1 else 'were'} {replies}."
    if silence:
        yield f"These words end {silence}."
