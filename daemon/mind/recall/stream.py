"""The last thoughts of a soul that thinks whole ones, as its next is shown them (seed 002, *Stream of thought*)."""

from typing import Final

from pydantic import ValidationError

from daemon.core.text import shortened
from daemon.memory.stream.reading import KeptThought, LastThoughts
from daemon.mind.thought import CognitiveOutput

_LONGEST: Final = 1_200  # characters of the inner speech of the last thought here
_SHORTEST: Final = 300  # of each of the others


def held_in(thought: KeptThought | None) -> CognitiveOutput | None:
    """What a kept thought holds; None for none, and for one that is not of today's form."""
    try:
        return CognitiveOutput.model_validate_json(thought.output) if thought is not None else None
    except ValidationError:
        return None


def thoughts_in_mind(thoughts: LastThoughts) -> tuple[str, ...]:
    """Recent thoughts in short, and whole the last one of the conversation itself; oldest first."""
    recent = [held.inner_speech for one in thoughts.recent if (held := held_in(one)) is not None]
    previous = held_in(thoughts.previous)
    texts = [*(shortened(one, _SHORTEST) for one in recent), "" if previous is None else _whole(previous)]
    texts[-1] = "\n".join(filter(None, (texts[-1], _line("Without effect", "; ".join(left_out(thoughts.previous))))))
    return tuple(filter(None, texts))


def left_out(thought: KeptThought | None) -> tuple[str, ...]:
    """Which parts of a thought did not take effect and why, such as "goal_updates: duplicate"; each once."""
    return () if thought is None else tuple(dict.fromkeys(f"{part}: {reason}" for part, reason in thought.refused))


def focus_of(thoughts: LastThoughts) -> str:
    """What the last thought of the conversation said to look out for, or wanted to look up; empty for nothing."""
    previous = held_in(thoughts.previous)
    if previous is None:
        return ""
    return " ".join((*previous.attention.focus_on, *(one.query for one in previous.memory_ops if one.query)))


def _whole(thought: CognitiveOutput) -> str:
    about = thought.self_model_updates
    lines = [
        shortened(thought.inner_speech, _LONGEST),
        _line("How you were", about.current_state),
        _line("Unsure of", about.new_uncertainty),
        *(
            _line(f"Expected ({one.confidence:.0%})", f"{one.what} {one.timeframe}".strip())
            for one in thought.predictions
        ),
        _line("To look out for", "; ".join(thought.attention.focus_on)),
        *(_line("Meant to", one.goal) for one in thought.goal_updates if one.action == "add"),
    ]
    return "\n".join(filter(None, lines))


def _line(what: str, words: str) -> str:
    return f"{what}: {words}" if words else ""
