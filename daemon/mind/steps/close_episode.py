"""The step that looks through a visit once it is over: its outcome, what is left to do, and a journal line."""

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line, shortened
from daemon.core.working_memory import WorkingMemory
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured
from daemon.soul_engine import TURNS, heading, with_notes

LEFT = "left to do"
"""The region of what an earlier visit left to do."""

_LINE: Final = 300  # characters
_JOURNAL: Final = 500
_ITEM, _ITEMS, _TAG, _TAGS = 120, 8, 40, 5
_MOST, _LEAST = 10, 1


@dataclass(frozen=True, slots=True)
class VisitReport:
    """A model's report on a visit: one line each, without keys, within the lengths."""

    content: str
    action_taken: str
    key_outcome: str
    future_implication: str
    current_task: str
    completed_items: tuple[str, ...]
    pending_items: tuple[str, ...]
    significance: int
    tags: tuple[str, ...]
    journal: str
    tone: str


class _Report(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    content: str
    action_taken: str = ""
    key_outcome: str = ""
    future_implication: str = ""
    current_task: str = ""
    completed_items: list[str] = []
    pending_items: list[str] = []
    significance: int = 5
    tags: list[str] = []
    journal: str = ""
    tone: str = ""


def with_left(memory: WorkingMemory, items: tuple[str, ...]) -> WorkingMemory:
    """Add what the visit found left to do, as data."""
    return with_notes(memory, LEFT, "\n".join(f"- {one}" for one in items))


def close_episode(name: str) -> Step[VisitReport]:
    """Build the step that reports on a visit, whose turns are in the region TURNS. It leaves no memory."""
    json_schema, read_report = structured(_Report)

    def command(memory: WorkingMemory) -> str:
        left = prompt("close_episode_left", heading=heading(LEFT)) if memory.region(LEFT) else ""
        return prompt("close_episode", name=name, turns=heading(TURNS), left=left, tags=_TAGS)

    def read(answer: str) -> VisitReport:
        found = read_report(answer)
        return VisitReport(
            content=_line(found.content),
            action_taken=_line(found.action_taken),
            key_outcome=_line(found.key_outcome),
            future_implication=_line(found.future_implication),
            current_task=_line(found.current_task, _ITEM),
            completed_items=_items(found.completed_items),
            pending_items=_items(found.pending_items),
            significance=min(_MOST, max(_LEAST, found.significance)),
            tags=tuple(one for tag in found.tags[:_TAGS] if (one := _line(tag, _TAG))),
            journal=_line(found.journal, _JOURNAL),
            tone=_line(found.tone, _TAG),
        )

    return Step(
        name="close_episode",
        command=command,
        read=read,
        remember=lambda _: (),
        creativity=0.4,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder='{"content": ""}',
        max_output_tokens=700,
    )


def _items(given: list[str]) -> tuple[str, ...]:
    return tuple(one for item in given[:_ITEMS] if (one := _line(item, _ITEM)))


def _line(text: str, cap: int = _LINE) -> str:
    return shortened(one_line(remove_keys(text)), cap)
