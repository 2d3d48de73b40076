"""The parts of an Implicit Semantic Machine: its goal, its actions, what they give back and how it ends (seed 001)."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum

from daemon.core.limits import Limits, Spent
from daemon.core.working_memory import WorkingMemory
from daemon.mind.cognition import Step
from daemon.mind.mental_process import Outcome, Stay, Transition
from daemon.mind.steps.choose_actions import Choice, choose_actions


@dataclass(frozen=True, slots=True)
class Recurse:
    """An action is done and the work goes on; the observation feeds the next choice (seed 001's `recurse`)."""

    memory: WorkingMemory
    internal: WorkingMemory
    observation: str = ""


@dataclass(frozen=True, slots=True)
class ActionUse:
    """What a handler is given: `memory` holds the conversation, the goal, the playbook, the log and the newest results.

    `internal` is the machine's own memory: what was chosen and what came of it. `input` is data, written by a model.
    `loop` counts the choices of this piece of work from one.
    """

    memory: WorkingMemory
    internal: WorkingMemory
    input: str
    loop: int

    def recurse(
        self, memory: WorkingMemory | None = None, internal: WorkingMemory | None = None, observation: str = ""
    ) -> Recurse:
        """Go on, with other memories in place of those given if they changed, and what was observed."""
        kept, own = (self.memory if memory is None else memory), (self.internal if internal is None else internal)
        return Recurse(kept, own, observation)


Handler = Callable[[ActionUse], Coroutine[object, object, Recurse | Stay | Transition]]
"""Carries an action out. Stay ends the work as answered, Transition moves on to another process, Recurse goes on.

It is cancelled when somebody says something or time is over. What it raises becomes an observation, unless it is
Interrupted or a StoreError, which end the work.
"""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the soul may choose to do; name and description are the house's own words, never a stranger's."""

    name: str
    description: str
    handler: Handler


@dataclass(frozen=True, slots=True)
class Machine:
    """A goal, a playbook to be guided by, the actions at hand and the limits; all words in it are the house's own.

    `conclude` is given the memory and why the work ends without an answer (a plain clause); it answers with the best
    there is so far, honestly. It is cut when somebody says something, unless a limit is met by then, but by no limit.
    `choose` makes the step that chooses. Raises ValueError for names of actions that can't be told apart.
    """

    goal: str
    playbook: str
    actions: tuple[Action, ...]
    limits: Limits
    conclude: Callable[[WorkingMemory, str], Coroutine[object, object, Stay]]
    choose: Callable[[Sequence[str]], Step[Choice]] = choose_actions

    def __post_init__(self) -> None:
        self.choosing()

    def choosing(self) -> Step[Choice]:
        """The step that chooses among the actions."""
        return self.choose([action.name for action in self.actions])


class End(StrEnum):
    """How the work ended."""

    DONE = "done"  # a model says that the goal is reached, and `conclude` answered
    ANSWERED = "answered"  # an action answered
    MOVED = "moved"  # an action moves on to another process
    INTERRUPTED = "interrupted"  # somebody said something: take it in and go on with what the result holds
    CONCLUDED = "concluded"  # a limit or a lack of progress ended it, and `conclude` answered


@dataclass(frozen=True, slots=True)
class ISMResult:
    """Where the work has come to; `outcome` is None only if it was interrupted, `why` is set if `conclude` answered."""

    end: End
    outcome: Outcome | None
    memory: WorkingMemory
    internal: WorkingMemory
    spent: Spent
    why: str = ""


class Progress(StrEnum):
    """What can be told of the work while it goes on."""

    CHOSEN = "chosen"
    STARTED = "started"
    FINISHED = "finished"
    REFUSED = "refused"
    FAILED = "failed"
    CUT = "cut"
    CONCLUDING = "concluding"


@dataclass(frozen=True, slots=True)
class LoopEvent:
    """Progress, fit to be shown to people: which action of which choice, both counted from one, `place` 0 for neither.

    Nothing in it was written by a model: `action` is empty where no action has the name that was chosen, and `detail`
    is the house's own words. Only `error`, what a failed action raised, is for the log alone.
    """

    kind: Progress
    loop: int
    place: int = 0
    action: str = ""
    detail: str = ""
    error: Exception | None = None


Note = Callable[[LoopEvent], Awaitable[None]]
"""Whoever watches; must not raise."""
