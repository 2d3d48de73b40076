"""The senses: the percepts of a thought since the last thought in its conversation, for those who read there."""

from collections.abc import Callable, Mapping
from typing import Final

from daemon.core.working_memory import DEFAULT_REGION, Role
from daemon.mind.process import ProcessContext
from daemon.mind.recall import SENSE, left_out, settled_lines
from daemon.mind.recall.mood import passed
from daemon.mind.thought.cognitive_output import Percept
from daemon.soul_engine import READINGS

_LANGUAGE, _REPORTS, _ACTS, _TIME = "language", "sense", "motor", "temporal"
_SOURCE: Final = "source"  # a key of the metadata of what people said


def _language(context: ProcessContext) -> tuple[Percept, ...]:
    """Return what people and souls wrote since the soul's last reply, oldest first."""
    turns = context.memory.region(DEFAULT_REGION)
    replies = [place for place, one in enumerate(turns) if one.role is Role.ASSISTANT]
    return tuple(
        Percept(
            modality=_LANGUAGE if _SOURCE in one.metadata else "internal",
            content=one.content,
            source=f"user:{one.name}" if _SOURCE in one.metadata else one.name or "",
            embedding_summary=context.cycle.labels.get(one.content, ""),
        )
        for one in turns[replies[-1] + 1 if replies else 0 :]
    )


def _reports(context: ProcessContext) -> tuple[Percept, ...]:
    return tuple(
        Percept(
            modality=_REPORTS,
            content=one.content,
            source=one.metadata.get(SENSE, ""),
            embedding_summary=context.cycle.labels.get(one.content, ""),
        )
        for one in context.memory.region(READINGS)
    )


def _acts(context: ProcessContext) -> tuple[Percept, ...]:
    thoughts = context.cycle.thoughts
    came = (*left_out(thoughts.previous), *settled_lines(thoughts))
    return tuple(Percept(modality=_ACTS, content=one) for one in came)


def _time(context: ProcessContext) -> tuple[Percept, ...]:
    previous, now_ms = context.cycle.thoughts.previous, context.mind.clock.now_ms()
    meant = (
        Percept(modality=_TIME, content=one.words, source=f"intention:{one.id}")
        for one in context.cycle.at_hand.intended
    )
    seconds = 0.0 if previous is None else max(0.0, (now_ms - previous.at_ms) / 1000)
    since = () if previous is None else (f"{seconds:.1f} seconds since last cycle",)
    went = (*since, *passed(context.perception, context.visit))
    return (*meant, *(Percept(modality=_TIME, content=one) for one in went))


SENSES: Final[Mapping[str, Callable[[ProcessContext], tuple[Percept, ...]]]] = {
    _LANGUAGE: _language,
    _REPORTS: _reports,
    _ACTS: _acts,
    _TIME: _time,
}
"""The senses by the modality of their percepts. Words come first: they are addressed to the soul."""
