"""The parts of an Implicit Semantic Machine: its goal, its actions, their results and how it ends (seed 001)."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum

from daemon.core.errors import ModelError
from daemon.core.expectations import Limits, Spent
from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.core.perception import Modality
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.ism.problem import Problem
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.steps.choose_actions import Choice, choose_actions
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.transitions import opening_process, situation_of
from daemon.soul import Soul


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


HOUSE_ACTIONS = frozenset(
    {
        "think",
        "research",
        "read",
        "ask",
        "remember",
        "remind",
        "share",
        "tell",
        "handoff",
        "respond",
        "escalate",
        "done",
    }
)
"""Names that no extension may take, in lower case."""


@dataclass(frozen=True, slots=True)
class ActionExtension:
    """What stands behind an entry point of `soul_daemon.actions`.

    The model chooses it by `name` and `description`, which are read as the daemon's own words. `handler` carries it
    out; the input of its use was written by a model. `acts`: it changes something, and is not offered where the soul
    may only read.
    """

    name: str
    description: str
    handler: Callable[[ProcessContext, ActionUse], Coroutine[object, object, Recurse | Stay | Transition]]
    acts: bool = False


def action_named(name: str) -> ActionExtension:
    """The action that a package brings under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.ACTION, name)
    if not isinstance(found, ActionExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no ActionExtension", hint="see docs/EXTENDING.md")
    if found.name.casefold() in HOUSE_ACTIONS:
        raise ExtensionFault(f"{name!r} calls its action {found.name}, as one of the house's", hint="ask its author")
    return found


def extended_actions(context: ProcessContext, *, acts: bool) -> tuple[Action, ...]:
    """The actions that the soul names in `[extensions]`; its files were checked when they were read."""
    named = (action_named(name) for name in context.soul.extensions.actions)
    return tuple(_action(context, one) for one in named if acts or not one.acts)


def _action(context: ProcessContext, found: ActionExtension) -> Action:
    async def handle(use: ActionUse) -> Recurse | Stay | Transition:
        return await found.handler(context, use)

    return Action(found.name, found.description, handle)


_GOAL = "Understand the problem that the person has, and help to solve it."
_PLAYBOOK = (
    "Look before you answer: first in what was said here, then in what your actions reach. Open what looks right but "
    "is shown in part. Think when results have to be put together. Ask only what nobody but the person can tell, and "
    "one thing at a time. What you don't find you don't make up. Hand on only what you can't do yourself. Answer as "
    "soon as you can; being thorough is no reason to go on."
)


def goal_and_playbook(soul: Soul) -> tuple[str, str]:
    """The goal and the playbook of a soul's autonomous work: its author's words, or else the daemon's."""
    return soul.ism.goal or _GOAL, soul.playbook or _PLAYBOOK


_ANSWERS = (
    "The person's last message answers the question that you asked in your own last message, or says more about the "
    "problem that you asked it for."
)


async def lapsed(context: ProcessContext, problem: Problem) -> Transition | None:
    """The transition with which the message is answered instead, if the problem's open question has lapsed.

    It lapses with the visit in which it was asked, and with the first message that does not answer it: one question to
    the model, whose failure counts as an answer.
    """
    if not problem.asks or context.perception.modality is not Modality.WORDS:
        return None
    if context.visit.begins:
        target, reason = opening_process(context.state.process, situation_of(context)) or ("engaged", "a visit begins")
        return Transition(context.memory, target, f"the question lapsed: {reason}", execute_now=True)
    try:
        step = with_soul_creativity(context.soul, mental_query(_ANSWERS))
        _, answers = await context.mind.run(context.memory, step)
    except ModelError:
        return None
    if answers:
        return None
    reason = "the question lapsed: they speak of something else"
    return Transition(context.memory, "engaged", reason, execute_now=True, decided_by="model")
