"""The task cards of one reply: the tasks' current state, the state that Slack shows, and the updates between them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from daemon.channels.slack.links import BREAK
from daemon.channels.slack.markup import inert
from daemon.channels.slack.sizes import CARDS, weight
from daemon.channels.slack.text import label
from daemon.core.ports.speech import Task, TaskState
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import shortened

TITLE: Final = 120  # characters of a card's first line
DETAILS: Final = 500
MOST: Final = 40  # cards under one reply; a message holds 50 blocks
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
    already shows are never sent again. All cards together stay within their part of a stream's budget: at first new
    details are left out, then new titles, at last new cards. `words` are those around the tasks' own.
    """

    def __init__(self, words: Words = HOUSE_WORDS) -> None:
        self._words = words
        self._tasks: dict[str, Task] = {}
        self._shown: Mapping[str, Task] = {}
        self._grown: dict[str, str] = {}  # all details that Slack shows, those that were replaced included

    def put(self, task: Task) -> Task | None:
        """Set a task's current state and return the task as it may be shown; None if its card has no room."""
        before = self._tasks.get(task.id)
        if before is None and len(self._tasks) >= MOST:
            return None
        safe = replace(task, title=card_text(task.title, TITLE) or "…", details=card_text(task.details, DETAILS))
        smaller = replace(safe, details=before.details if before else "")
        last = replace(smaller, title=before.title) if before else None
        fitting = next((one for one in (safe, smaller) if self._fits(one)), last)
        if fitting is not None:
            self._tasks[task.id] = fitting
        return fitting

    def _fits(self, task: Task) -> bool:
        """Whether the cards' budget has room for a task in this state, up to the end of the stream."""
        all_tasks = (self._tasks | {task.id: task}).values()
        cards = [_card(replace(one, title=self._not_needed(one), details=self._all_details(one))) for one in all_tasks]
        return weight([_title(self._summary(MOST, MOST)), *cards]) <= CARDS

    def _all_details(self, task: Task) -> str:
        return self._grown.get(task.id, "") + self._more(task)

    @property
    def changed(self) -> bool:
        """Whether Slack doesn't show the current state of every task yet."""
        return self._tasks != self._shown

    @property
    def running(self) -> bool:
        """Whether a task is not over yet."""
        return any(task.state not in _ENDED for task in self._tasks.values())

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task in its current state."""
        return dict(self._tasks)

    def update(self) -> list[dict[str, Any]]:
        """The chunks after which Slack shows every task's current state."""
        changes = self._changes(self._tasks)
        return [_title(self._words.say("cards_begun")), *changes] if changes and not self._shown else changes

    def mark_shown(self, tasks: Mapping[str, Task]) -> None:
        """Note what Slack shows: the `tasks` from which the update was made."""
        self._grown |= {id_: self._all_details(task) for id_, task in tasks.items()}
        self._shown = tasks

    def afresh(self) -> "TaskCards":
        """The same tasks for a new message, which shows none of them yet."""
        fresh = TaskCards(self._words)
        fresh._tasks = self._tasks  # one dictionary, so that no state gets lost meanwhile
        return fresh

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
        final = {id_: self._ended(task) for id_, task in self._tasks.items()}
        failed = sum(task.state is TaskState.ERROR for task in final.values())
        return (_title(self._summary(len(final), failed)), *self._changes(final))

    def _ended(self, task: Task) -> Task:
        if task.state is TaskState.PENDING:
            return replace(task, title=self._not_needed(task), state=TaskState.COMPLETE)
        return task if task.state in _ENDED else replace(task, state=TaskState.COMPLETE)

    def _not_needed(self, task: Task) -> str:
        return self._words.say("card_not_needed", title=task.title)

    def _summary(self, steps: int, failed: int) -> str:
        done = self._words.say("cards_done_one") if steps == 1 else self._words.say("cards_done", steps=steps)
        return self._words.say("cards_failed", done=done, failed=failed) if failed else done

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
