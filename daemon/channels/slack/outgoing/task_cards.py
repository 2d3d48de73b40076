"""The task cards of one reply: the tasks' current state, the state that Slack shows, and the updates between them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from daemon.channels.slack.incoming.text import label
from daemon.channels.slack.outgoing.links import BREAK
from daemon.channels.slack.outgoing.markup import inert
from daemon.core.ports import Task, TaskState
from daemon.core.text import shortened

TITLE: Final = 120  # characters of a card's first line
DETAILS: Final = 500
MOST: Final = 40  # cards under one reply; a message holds 50 blocks
_WORKING: Final = "Working on it"
_ENDED: Final = frozenset({TaskState.COMPLETE, TaskState.ERROR})
# Places where a link, a mention or Slack's own syntax could begin; a card holds none of them.
_POWER: Final = re.compile(
    r"(?<=:)(?=//)|(?<=\])(?=\()|(?<=<)(?=[^\s\u2060])|(?<=@)(?=\w)|(?<=\bwww)(?=\.)|(?<=\bmailto)(?=:)", re.IGNORECASE
)


def card_text(text: str, limit: int) -> str:
    """Text as one inert line of at most `limit` visible characters, without links and mentions."""
    return _POWER.sub(BREAK, shortened(label(inert(text), 4 * limit), limit))


class TaskCards:
    """Tasks by id, in the order of their first appearance.

    Slack replaces a card's title and status with every update but appends to its details, so details that a card
    already shows are never sent again.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._shown: Mapping[str, Task] = {}

    def put(self, task: Task) -> Task | None:
        """Set a task's current state and return the task as it may be shown; None if there are too many cards."""
        if task.id not in self._tasks and len(self._tasks) >= MOST:
            return None
        safe = replace(task, title=card_text(task.title, TITLE) or "…", details=card_text(task.details, DETAILS))
        self._tasks[task.id] = safe
        return safe

    @property
    def changed(self) -> bool:
        """Whether Slack doesn't show the current state of every task yet."""
        return self._tasks != self._shown

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task in its current state."""
        return dict(self._tasks)

    def update(self) -> list[dict[str, Any]]:
        """The chunks after which Slack shows every task's current state."""
        changes = self._changes(self._tasks)
        return [_title(_WORKING), *changes] if changes and not self._shown else changes

    def mark_shown(self, tasks: Mapping[str, Task]) -> None:
        """Note what Slack shows: the `tasks` from which the update was made."""
        self._shown = tasks

    def keep_alive(self) -> list[dict[str, Any]]:
        """An unchanged card in progress, for a stream that Slack would end as silent; empty if none is in progress."""
        running = [task for task in self._shown.values() if task.state not in _ENDED]
        return [_card(replace(running[0], details=""))] if running else []

    def closing(self) -> tuple[dict[str, Any], ...]:
        """The chunks that end every card: Slack shows an error where a finished message has tasks in progress.

        Tasks in progress become complete; tasks that never began are marked as not needed.
        """
        if not self._tasks:
            return ()
        final = {id_: _ended(task) for id_, task in self._tasks.items()}
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


def _title(text: str) -> dict[str, Any]:
    return {"type": "plan_update", "title": text}


def _ended(task: Task) -> Task:
    if task.state is TaskState.PENDING:
        return replace(task, title=f"{task.title} (not needed)", state=TaskState.COMPLETE)
    return task if task.state in _ENDED else replace(task, state=TaskState.COMPLETE)


def _summary(final: Mapping[str, Task]) -> str:
    failed = sum(task.state is TaskState.ERROR for task in final.values())
    steps = "1 step" if len(final) == 1 else f"{len(final)} steps"
    return f"Worked through {steps}" + (f", {failed} of them failed" if failed else "")
