"""What is shown of a reply where there is no stream of it."""

from collections.abc import Callable
from dataclasses import replace

from daemon.channels.slack.status_line import status_for
from daemon.channels.slack.task_cards import TITLE, card_text
from daemon.core.ports.speech import Task, TaskState
from daemon.core.sentences import Words


class StatusOnly:
    """A `Speech` for conversations without a stream: tasks appear in the status line, the reply with its delivery."""

    shown = ""

    def __init__(self, status: Callable[[str], None], words: Words) -> None:
        self._status = status
        self._words = words

    async def say(self, text: str) -> None:
        """Show nothing."""

    async def show(self, task: Task) -> None:
        """Show a task in progress; returns at once."""
        if task.state is TaskState.IN_PROGRESS:
            self._status(status_for(replace(task, title=card_text(task.title, TITLE)), self._words))

    async def settle(self) -> None:
        """Do nothing."""
