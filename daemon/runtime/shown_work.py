"""Shows in a cycle that the soul speaks or solves a problem, beside what it does."""

from collections.abc import Callable, Mapping

from daemon.core.ports.speech import Speech, Task
from daemon.mind.mental_process import MentalProcess, Outcome, ProcessContext
from daemon.mind.state_machine import DECISION_PROCESS
from daemon.shared.souls import Doing


class ShownSpeech:
    """Implements `Speech`; the soul speaks once it has said a word."""

    def __init__(self, speech: Speech, does: Callable[[Doing], None]) -> None:
        self._speech = speech
        self._does = does

    @property
    def shown(self) -> str:
        """See `Speech.shown`."""
        return self._speech.shown

    async def say(self, text: str) -> None:
        """See `Speech.say`."""
        self._does(Doing.SPEAKING)
        await self._speech.say(text)

    async def show(self, task: Task) -> None:
        """See `Speech.show`."""
        await self._speech.show(task)

    async def settle(self) -> None:
        """See `Speech.settle`."""
        await self._speech.settle()


def shown_solving(processes: Mapping[str, MentalProcess], does: Callable[[Doing], None]) -> Mapping[str, MentalProcess]:
    """The mental processes, of which that for hard problems says that the soul solves one."""
    if DECISION_PROCESS not in processes:
        return processes
    solve = processes[DECISION_PROCESS]

    async def solving(context: ProcessContext) -> Outcome:
        does(Doing.SOLVING)
        try:
            return await solve(context)
        finally:
            does(Doing.THINKING)

    return {**processes, DECISION_PROCESS: solving}
