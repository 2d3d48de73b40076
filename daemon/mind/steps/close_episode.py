"""The step that looks through a visit once it is over: its outcome, what is left to do, and a journal line."""

from typing import Annotated, Final

from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, as_it_is, between, filled_items, structured_step, within
from daemon.soul_engine import TURNS, heading, with_notes

LEFT = "left to do"
"""The region of what an earlier visit left to do."""

_TAGS: Final = 5

_Line = Annotated[str, within(300)]
_Item = Annotated[str, within(120)]
_Items = Annotated[tuple[_Item, ...], filled_items(8)]
_Tag = Annotated[str, within(40)]


class VisitReport(JSONAnswer, strict=True, title="_Report"):
    """A model's report on a visit."""

    content: _Line
    action_taken: _Line = ""
    key_outcome: _Line = ""
    future_implication: _Line = ""
    current_task: _Item = ""
    completed_items: _Items = ()
    pending_items: _Items = ()
    significance: Annotated[int, between(1, 10)] = 5
    tags: Annotated[tuple[_Tag, ...], filled_items(_TAGS)] = ()
    journal: Annotated[str, within(500)] = ""
    tone: _Tag = ""


def with_left(memory: WorkingMemory, items: tuple[str, ...]) -> WorkingMemory:
    """Add what the visit found left to do, as data."""
    return with_notes(memory, LEFT, "\n".join(f"- {one}" for one in items))


def close_episode(name: str) -> Step[VisitReport]:
    """Build the step that reports on a visit, whose turns are in the region TURNS. It leaves no memory."""

    def command(memory: WorkingMemory) -> str:
        left = prompt("close_episode_left", heading=heading(LEFT)) if memory.region(LEFT) else ""
        return prompt("close_episode", name=name, turns=heading(TURNS), left=left, tags=_TAGS)

    return structured_step(
        "close_episode",
        command,
        VisitReport,
        as_it_is,
        creativity=0.4,
        placeholder='{"content": ""}',
        max_output_tokens=700,
    )
