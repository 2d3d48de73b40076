"""Replies while they are made, handed to whoever waits for them; nobody who listens slowly makes the speaker wait."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports import Task

_MOST_UNHEARD: Final = 65_536  # characters kept for a slow reader; what comes after them stands in the final words
_MOST_TASKS: Final = 64


@dataclass(slots=True)
class ReplyUpdate:
    """What an ear took in since it was last asked: `anew` says that everything before it is void."""

    anew: bool = False
    text: str = ""
    tasks: tuple[Task, ...] = ()


class Ear:
    """One reader's place at a reply. `ts` is that of the message whose answer it waits for, in seconds."""

    def __init__(self, ts: float) -> None:
        self.ts = ts
        self.news = asyncio.Event()
        self.look = True  # whether memory.db may have the answer by now
        self._anew = False
        self._pieces: list[str] = []
        self._size = 0
        self._tasks: dict[str, Task] = {}

    def begin(self) -> None:
        """The reply begins, perhaps once more."""
        self._anew, self._size = True, 0
        self._pieces.clear()
        self._tasks.clear()
        self.news.set()

    def hear(self, text: str) -> None:
        """More of the reply. Once too much is unheard, the rest of it is left out: the final words have it."""
        if self._size < _MOST_UNHEARD:
            self._pieces.append(text)
        self._size += len(text)
        self.news.set()

    def see(self, task: Task) -> None:
        """A task as it stands now; only its latest state is kept."""
        if task.id in self._tasks or len(self._tasks) < _MOST_TASKS:
            self._tasks[task.id] = task
            self.news.set()

    def nudge(self) -> None:
        """The answer may be in memory.db by now."""
        self.look = True
        self.news.set()

    def take(self) -> ReplyUpdate:
        """Everything since the last call."""
        taken = ReplyUpdate(self._anew, "".join(self._pieces), tuple(self._tasks.values()))
        if self._size < _MOST_UNHEARD:  # else a hole follows, and what came after it would read as if it belonged there
            self._size = 0
        self._anew = False
        self._pieces.clear()
        self._tasks.clear()
        return taken


@dataclass(slots=True)
class _Draft:
    """A reply in the making: to the messages up to `ts`."""

    ts: float
    text: list[str] = field(default_factory=list)
    size: int = 0
    tasks: dict[str, Task] = field(default_factory=dict)


class Hub:
    """Joins those who speak with those who listen, by conversation."""

    def __init__(self) -> None:
        self.closing = False
        self._ears: dict[ConversationKey, list[Ear]] = {}
        self._drafts: dict[ConversationKey, _Draft] = {}

    @property
    def listening(self) -> int:
        """How many ears there are."""
        return sum(map(len, self._ears.values()))

    @contextmanager
    def listen(self, conversation: ConversationKey, ts: str) -> Iterator[Ear]:
        """An ear for the answer to the message with this ts; it hears at once what was said of it before."""
        ear = Ear(float(ts))
        draft = self._drafts.get(conversation)
        if draft is not None and ear.ts <= draft.ts:
            ear.begin()
            for text in draft.text:
                ear.hear(text)
            for task in draft.tasks.values():
                ear.see(task)
        self._ears.setdefault(conversation, []).append(ear)
        try:
            yield ear
        finally:
            self._ears[conversation].remove(ear)
            if not self._ears[conversation]:
                del self._ears[conversation]

    def begin(self, conversation: ConversationKey, ts: str) -> None:
        """A reply to the messages up to `ts` begins."""
        self._drafts[conversation] = draft = _Draft(float(ts))
        for ear in self._those_waiting(conversation, draft):
            ear.begin()

    def say(self, conversation: ConversationKey, text: str) -> None:
        """More of the reply that was begun there."""
        if (draft := self._drafts.get(conversation)) is None:
            return
        if draft.size < _MOST_UNHEARD:
            draft.text.append(text)
        draft.size += len(text)
        for ear in self._those_waiting(conversation, draft):
            ear.hear(text)

    def show(self, conversation: ConversationKey, task: Task) -> None:
        """How far a task is that belongs to the reply begun there."""
        if (draft := self._drafts.get(conversation)) is None:
            return
        if task.id in draft.tasks or len(draft.tasks) < _MOST_TASKS:
            draft.tasks[task.id] = task
        for ear in self._those_waiting(conversation, draft):
            ear.see(task)

    def end(self, conversation: ConversationKey) -> None:
        """Nothing more is said just now; memory.db has what came of it."""
        self._drafts.pop(conversation, None)
        for ear in self._ears.get(conversation, ()):
            ear.nudge()

    def close(self) -> None:
        """Have everybody told that the house closes."""
        self.closing = True
        for ears in self._ears.values():
            for ear in ears:
                ear.nudge()

    def _those_waiting(self, conversation: ConversationKey, draft: _Draft) -> list[Ear]:
        return [ear for ear in self._ears.get(conversation, ()) if ear.ts <= draft.ts]
