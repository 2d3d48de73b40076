"""The step that sums up for the members of a channel what was said there since the last digest."""

from collections.abc import Sequence
from functools import partial

from daemon.core.fencing import clean_name
from daemon.core.ports.channel import ThreadMessage
from daemon.core.step import Step
from daemon.core.text import one_line
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.steps.external_dialog import read_spoken, spoken_text
from daemon.soul import Soul
from daemon.soul_engine import TURNS, heading, with_notes

_MOST_CHARACTERS = 16_000


def talk_of_room(name: str, said: Sequence[ThreadMessage]) -> WorkingMemory:
    """Build the memory that `digest` runs on: what was said, one line each, the newest where there is much."""
    lines, length = list[str](), 0
    for one in reversed(said):
        line = f"{clean_name(one.name)}: {one_line(one.text)}"
        length += len(line) + 1
        if length > _MOST_CHARACTERS:
            break
        lines.append(line)
    return with_notes(WorkingMemory(name), TURNS, "\n".join(reversed(lines)))


def digest(soul: Soul, *, words: int = 180) -> Step[str]:
    """Build the step for the digest as it is posted. A private thought is malformed. It leaves no memory."""
    return Step(
        name="digest",
        command=prompt("digest", name=soul.display_name, turns=heading(TURNS), words=words),
        read=partial(read_spoken, soul),
        visible=partial(spoken_text, soul),
        remember=lambda _: (),
        creativity=0.3,
        max_output_tokens=words * 6,
    )
