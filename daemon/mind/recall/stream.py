"""The last thoughts of a soul that thinks whole ones, as its next is shown them (seed 002, *Stream of thought*)."""

import json
from contextlib import suppress
from typing import Final

from pydantic import ValidationError

from daemon.core.spans import dated
from daemon.core.text import shortened
from daemon.memory.stream.effects import BY_AUTHORITY
from daemon.memory.stream.reading import KeptThought, LastThoughts
from daemon.mind.thought import CognitiveOutput, without

_LONGEST: Final = 1_200  # characters of the inner speech of the last thought here
_SHORTEST: Final = 300  # of each of the others


def held_in(thought: KeptThought | None) -> CognitiveOutput | None:
    """What a kept thought holds in effect; None for none, and for one that is not of today's form."""
    try:
        held = CognitiveOutput.model_validate_json(thought.output) if thought is not None else None
    except ValidationError:
        return None
    withheld = {part for part, reason in thought.refused if reason == BY_AUTHORITY} if thought is not None else set()
    return held and without(held, withheld)


def allowed_of(thoughts: LastThoughts) -> CognitiveOutput:
    """What thoughts here proposed and an admin allowed since the last one, as one thought that holds nothing else."""
    allowed = CognitiveOutput(inner_speech="")
    found: dict[str, object] = {"inner_speech": ""}
    for one in thoughts.settled:
        if one.allowed and one.value:
            # what can't be read, is too many together, or of another day's form: the others stand
            with suppress(ValueError, RecursionError):
                value, before = json.loads(one.value), found.get(one.field)
                together = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
                allowed = CognitiveOutput.model_validate(found | {one.field: together})
                found[one.field] = together
    return allowed


def settled_lines(thoughts: LastThoughts) -> tuple[str, ...]:
    """What an admin decided of what thoughts here proposed, for the thought that perceives it first."""
    return tuple(
        f"{'Allowed' if one.allowed else 'Declined'} by an admin: {one.field} {shortened(one.value, _SHORTEST)}".strip()
        for one in thoughts.settled
    )


def thoughts_in_mind(thoughts: LastThoughts, now_ms: int) -> tuple[str, ...]:
    """Recent thoughts in short, and whole the last one of the conversation itself; oldest first.

    Those of another day say how old they are; of the last one here the prompt says so beside the time.
    """
    recent = [
        dated(shortened(held.inner_speech, _SHORTEST), one.at_ms, now_ms)
        for one in thoughts.recent
        if (held := held_in(one)) is not None
    ]
    previous = held_in(thoughts.previous)
    texts = [*recent, "" if previous is None else _whole(previous)]
    came = (_line("Without effect", "; ".join(left_out(thoughts.previous))), *settled_lines(thoughts))
    texts[-1] = "\n".join(filter(None, (texts[-1], *came)))
    return tuple(filter(None, texts))


def left_out(thought: KeptThought | None) -> tuple[str, ...]:
    """Which parts of a thought did not take effect and why, such as "goal_updates: duplicate"; each once."""
    return () if thought is None else tuple(dict.fromkeys(f"{part}: {reason}" for part, reason in thought.refused))


def focus_of(thoughts: LastThoughts) -> str:
    """What the last thought of the conversation said to look out for, or wanted to look up; empty for nothing."""
    sought = [one for one in (held_in(thoughts.previous), allowed_of(thoughts)) if one is not None]
    focus = (words for one in sought for words in one.attention.focus_on)
    return " ".join((*focus, *(op.query for one in sought for op in one.memory_ops if op.query)))


def _whole(thought: CognitiveOutput) -> str:
    about = thought.self_model_updates
    lines = [
        shortened(thought.inner_speech, _LONGEST),
        "" if thought.external_speech else "You said nothing aloud.",
        _line("How you were", about.current_state),
        _line("Unsure of", about.new_uncertainty),
        _line("To look out for", "; ".join(thought.attention.focus_on)),
    ]
    return "\n".join(filter(None, lines))


def _line(what: str, words: str) -> str:
    return f"{what}: {words}" if words else ""
