"""The parts of an Implicit Semantic Machine: its goal, its actions, their results and how it ends (seed 001)."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum

from daemon.core.limits import Limits, Spent
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.mental_process import Outcome, Stay, Transition
from daemon.mind.steps.choose_actions import Choice, choose_actions


@dataclass(frozen=True, slots=True)
class Recurse:
    """The action is done and the work goes on; the observation feeds the next choice (seed 001's `recurse`)."""

    memory: WorkingMemory
    internal: WorkingMemory
    observation: str = ""


@dataclass(frozen=True, slots=True)
class ActionUse:
    """The argument of a handler: `memory` holds the conversation, goal, playbook, log and newest results.

    `internal` is the machine's own memory of choices and observations. `input` is data, written by a model. `loop`
    counts the choices of this run from one.
    """

    memory: WorkingMemory
    internal: WorkingMemory
    input: str
    loop: int

    def recurse(
        self, memory: WorkingMemory | None = None, internal: WorkingMemory | None = None, observation: str = ""
    ) -> Recurse:
        """Go on with an observation, and with changed memories where given."""
        return Recurse(
            self.memory if memory is None else memory, self.internal if internal is None else internal, observation
        )


Handler = Callable[[ActionUse], Coroutine[object, object, Recurse | Stay | Transition]]
"""Carries out an action. Stay ends the work as answered, Transition moves to another process, Recurse goes on.

It is cancelled by a new message and by the time limit. What it raises becomes an observation, except Interrupted and
StoreErrors, which end the work.
"""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that the soul may choose to do; name and description must be the daemon's own words.

    `aloud` gives what of an input users may be shown: nothing, unless the action says otherwise.
    """

    name: str
    description: str
    handler: Handler
    aloud: Callable[[str], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class Machine:
    """A goal, a playbook, actions and limits; all words in it are the daemon's own.

    `conclude` takes the memory and why the work ends without an answer (a plain clause), and answers with the best
    result so far. A new message cancels it, unless a limit is met by then; no limit cancels it. `choose` makes the step
    that chooses. Raises ValueError for empty, equal or reserved names of actions.
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

    DONE = "done"  # the model says that the goal is reached, and `conclude` answered
    ANSWERED = "answered"  # an action answered
    MOVED = "moved"  # an action moves to another process
    INTERRUPTED = "interrupted"  # a new message arrived: absorb it and go on with what the result holds
    CONCLUDED = "concluded"  # a limit or a lack of progress ended the work, and `conclude` answered


@dataclass(frozen=True, slots=True)
class ISMResult:
    """The state of the work; `outcome` is None only if it was interrupted, `why` is set if `conclude` answered."""

    end: End
    outcome: Outcome | None
    memory: WorkingMemory
    internal: WorkingMemory
    spent: Spent
    why: str = ""


class Progress(StrEnum):
    """What happens to an action or a choice."""

    CHOSEN = "chosen"
    STARTED = "started"
    FINISHED = "finished"
    REFUSED = "refused"
    FAILED = "failed"
    CUT = "cut"
    CONCLUDING = "concluding"


@dataclass(frozen=True, slots=True)
class LoopEvent:
    """Progress that users may see: action number `place` of choice number `loop`, from one; `place` 0 for no action.

    Nothing in it is a model's words but `sought`, what of its input an action shows: `action` is empty where no action
    has the chosen name, and `detail` is the daemon's own. `error`, what a failed action raised, is for the log alone.
    """

    kind: Progress
    loop: int
    place: int = 0
    action: str = ""
    sought: str = ""
    detail: str = ""
    error: Exception | None = None


Note = Callable[[LoopEvent], Awaitable[None]]
"""Receives the events of the work; must not raise."""
