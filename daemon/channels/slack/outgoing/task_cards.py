"""The cards of one reply's tasks: what was told, what Slack shows of it, and what closes them in the end."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from daemon.channels.slack.incoming.text import label
from daemon.channels.slack.outgoing.markup import BREAK, inert
from daemon.core.ports import Task, TaskState
from daemon.core.text import shortened

TITLE: Final = 120  # characters of a card's first line
DETAILS: Final = 500
MOST: Final = 40  # cards under one reply; a message holds 50 blocks
_WORKING: Final = "Working on it"
_ENDED: Final = frozenset({TaskState.COMPLETE, TaskState.ERROR})
# Where a link, a mention or Slack's own syntax could begin: none of them belongs on a card.
_POWER: Final = re.compile(
    r"(?<=:)(?=//)|(?<=\])(?=\()|(?<=<)(?=[^\s\u2060])|(?<=@)(?=\w)|(?<=\bwww)(?=\.)|(?<=\bmailto)(?=:)", re.IGNORECASE
)


def card_text(text: str, limit: int) -> str:
    """Text as one inert line of at most `limit` visible characters: it links nothing and addresses nobody."""
    return _POWER.sub(BREAK, shortened(label(inert(text), 4 * limit), limit))


class Plan:
    """Tasks by id, in the order in which they were first told.

    Slack replaces a card's title and status with every update but appends to its details, so what stands there already
    is never sent again.
    """

    def __init__(self) -> None:
        self._told: dict[str, Task] = {}
        self._shown: Mapping[str, Task] = {}

    def tell(self, task: Task) -> Task | None:
        """Take a task as it is now and give it as it may be shown; None when there are too many cards already."""
        if task.id not in self._told and len(self._told) >= MOST:
            return None
        shown = replace(task, title=card_text(task.title, TITLE) or "…", details=card_text(task.details, DETAILS))
        self._told[task.id] = shown
        return shown

    @property
    def waiting(self) -> bool:
        """Whether something was told that Slack doesn't show yet."""
        return self._told != self._shown

    @property
    def told(self) -> Mapping[str, Task]:
        """Every task in its latest state."""
        return dict(self._told)

    def update(self) -> list[dict[str, Any]]:
        """What Slack must be told so that it shows what was told; the newest state of each task alone."""
        changed = self._changes(self._told)
        return [_title(_WORKING), *changed] if changed and not self._shown else changed

    def took(self, told: Mapping[str, Task]) -> None:
        """Slack shows this by now: what `told` was when the update was made."""
        self._shown = told

    def pulse(self) -> list[dict[str, Any]]:
        """A card as it stands, for a stream that must not be silent for long; empty when no work is going on."""
        running = [task for task in self._shown.values() if task.state not in _ENDED]
        return [_card(replace(running[0], details=""))] if running else []

    def closing(self) -> tuple[dict[str, Any], ...]:
        """What ends every card: Slack shows an error where a finished message holds work that goes on.

        What was going on when the reply was whole is complete; what never began says so.
        """
        if not self._told:
            return ()
        final = {id_: _ended(task) for id_, task in self._told.items()}
        return (_title(_summary(final)), *self._changes(final))

    def _changes(self, now: Mapping[str, Task]) -> list[dict[str, Any]]:
        changed = [task for id_, task in now.items() if self._shown.get(id_) != task]
        return [_card(replace(task, details=self._more(task))) for task in changed]

    def _more(self, task: Task) -> str:
        """The part of a task's details that its card lacks."""
        before = self._shown[task.id].details if task.id in self._shown else ""
        if task.details.startswith(before):
            return task.details[len(before) :]
        return f"\n{task.details}" if task.details else ""


def _card(task: Task) -> dict[str, Any]:
    details = {"details": task.details} if task.details else {}
    return {"type": "task_update", "id": task.id, "title": task.title, "status": task.state.value, **details}


def _title(words: str) -> dict[str, Any]:
    return {"type": "plan_update", "title": words}


def _ended(task: Task) -> Task:
    if task.state is TaskState.PENDING:
        return replace(task, title=f"{task.title} (not needed)", state=TaskState.COMPLETE)
    return task if task.state in _ENDED else replace(task, state=TaskState.COMPLETE)


def _summary(final: Mapping[str, Task]) -> str:
    failed = sum(task.state is TaskState.ERROR for task in final.values())
    steps = "1 step" if len(final) == 1 else f"{len(final)} steps"
    return f"Worked through {steps}" + (f", {failed} of them failed" if failed else "")
