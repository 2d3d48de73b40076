"""Fans a reply in progress out to its readers; a slow reader never blocks the producer."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.speech import Task

_MOST_UNREAD: Final = 65_536  # characters kept for a slow reader; the stored reply has the rest
_MOST_TASKS: Final = 64


@dataclass(slots=True)
class ReplyUpdate:
    """What is new for a reader; `restarted` says that everything before it is void."""

    restarted: bool = False
    text: str = ""
    tasks: tuple[Task, ...] = ()


class ReplyReader:
    """One client waiting for the reply to one message, whose `ts` is in seconds.

    `changed` is set when there is something to take or to look up; `look_up` says that memory.db may have the reply.
    """

    def __init__(self, ts: float) -> None:
        self.ts = ts
        self.changed = asyncio.Event()
        self.look_up = True
        self._restarted = False
        self._pieces: list[str] = []
        self._size = 0
        self._tasks: dict[str, Task] = {}

    def restart(self) -> None:
        """A reply begins; drop what an earlier attempt said."""
        self._restarted, self._size = True, 0
        self._pieces.clear()
        self._tasks.clear()
        self.changed.set()

    def add_text(self, text: str) -> None:
        """Take more of the reply; beyond the cap on unread text it is dropped, since the stored reply has it."""
        if self._size < _MOST_UNREAD:
            self._pieces.append(text)
        self._size += len(text)
        self.changed.set()

    def add_task(self, task: Task) -> None:
        """Take a task; only its newest state is kept."""
        if task.id in self._tasks or len(self._tasks) < _MOST_TASKS:
            self._tasks[task.id] = task
            self.changed.set()

    def wake(self) -> None:
        """memory.db may have the reply by now."""
        self.look_up = True
        self.changed.set()

    def take(self) -> ReplyUpdate:
        """Everything new since the last call."""
        update = ReplyUpdate(self._restarted, "".join(self._pieces), tuple(self._tasks.values()))
        if self._size < _MOST_UNREAD:  # after a gap no more text may follow: it would read as if nothing were missing
            self._size = 0
        self._restarted = False
        self._pieces.clear()
        self._tasks.clear()
        return update


@dataclass(slots=True)
class _Draft:
    """A reply in progress to the messages up to `ts`."""

    ts: float
    text: list[str] = field(default_factory=list)
    size: int = 0
    tasks: dict[str, Task] = field(default_factory=dict)


class LiveReplies:
    """All replies in progress and their readers, by conversation."""

    def __init__(self) -> None:
        self.closing = False
        self._readers: dict[ConversationKey, list[ReplyReader]] = {}
        self._drafts: dict[ConversationKey, _Draft] = {}

    @property
    def reader_count(self) -> int:
        """How many clients wait."""
        return sum(map(len, self._readers.values()))

    @contextmanager
    def reader(self, conversation: ConversationKey, ts: str) -> Iterator[ReplyReader]:
        """A reader for the reply to the message with this ts; it starts with what the draft holds already."""
        reader = ReplyReader(float(ts))
        draft = self._drafts.get(conversation)
        if draft is not None and reader.ts <= draft.ts:
            reader.restart()
            for text in draft.text:
                reader.add_text(text)
            for task in draft.tasks.values():
                reader.add_task(task)
        self._readers.setdefault(conversation, []).append(reader)
        try:
            yield reader
        finally:
            self._readers[conversation].remove(reader)
            if not self._readers[conversation]:
                del self._readers[conversation]

    def begin(self, conversation: ConversationKey, ts: str) -> None:
        """Begin a reply to the messages up to `ts`."""
        self._drafts[conversation] = draft = _Draft(float(ts))
        for reader in self._readers_of(conversation, draft):
            reader.restart()

    def say(self, conversation: ConversationKey, text: str) -> None:
        """Add to the reply in progress; ignored where there is none."""
        if (draft := self._drafts.get(conversation)) is None:
            return
        if draft.size < _MOST_UNREAD:
            draft.text.append(text)
        draft.size += len(text)
        for reader in self._readers_of(conversation, draft):
            reader.add_text(text)

    def show(self, conversation: ConversationKey, task: Task) -> None:
        """Show a task's state beside the reply in progress; ignored where there is none."""
        if (draft := self._drafts.get(conversation)) is None:
            return
        if task.id in draft.tasks or len(draft.tasks) < _MOST_TASKS:
            draft.tasks[task.id] = task
        for reader in self._readers_of(conversation, draft):
            reader.add_task(task)

    def end(self, conversation: ConversationKey) -> None:
        """The draft is over; the readers look the result up in memory.db."""
        self._drafts.pop(conversation, None)
        for reader in self._readers.get(conversation, ()):
            reader.wake()

    def close(self) -> None:
        """Wake every reader for the last time: the daemon stops."""
        self.closing = True
        for readers in self._readers.values():
            for reader in readers:
                reader.wake()

    def _readers_of(self, conversation: ConversationKey, draft: _Draft) -> list[ReplyReader]:
        return [reader for reader in self._readers.get(conversation, ()) if reader.ts <= draft.ts]
