"""A reply while it grows, and the tasks that are shown beside it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class TaskState(StrEnum):
    """Progress of a task."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Task:
    """One step of a plan, shown to users during the work; showing the same `id` again replaces it.

    Its texts may be read by every reader of the reply: never private thought.
    """

    id: str
    title: str
    state: TaskState
    details: str = ""


class Speech(Protocol):
    """Shows a reply while it is generated: best effort only; the outbox delivers the reply."""

    @property
    def shown(self) -> str:
        """What people surely see of the reply."""

    async def say(self, text: str) -> None:
        """Show more of the reply, as markdown. Never raises for the platform's failures; it stops showing instead."""

    async def show(self, task: Task) -> None:
        """Show a task as a card or a status line, as the platform allows. Never raises for the platform's failures."""

    async def settle(self) -> None:
        """Stop appending and wait for open requests; the draft, if there is one, stays for `Channel.deliver`."""


@dataclass(frozen=True, slots=True)
class DraftLog:
    """Callbacks with which a Speech records its draft in the store.

    `opening` is awaited before the first visible byte; then either `opened` with the platform's id, or `refused` when
    the draft surely does not exist. Neither is called when the platform's answer was lost.
    """

    opening: Callable[[], Awaitable[None]]
    opened: Callable[[str], Awaitable[None]]
    refused: Callable[[], Awaitable[None]]


class UnseenSpeech:
    """A reply that is shown once it is whole."""

    shown = ""

    async def say(self, text: str) -> None:
        """See `Speech.say`."""

    async def show(self, task: Task) -> None:
        """See `Speech.show`."""

    async def settle(self) -> None:
        """See `Speech.settle`."""
