"""The parts of an Implicit Semantic Machine: its goal, its actions, their results and how it ends (seed 001)."""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import StrEnum

from daemon.core.errors import ModelError
from daemon.core.expectations import Limits, Spent
from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.core.perception import Modality
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory
from daemon.ism.problem import Problem
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.prompts import prompt
from daemon.mind.steps.choose_actions import Choice, choose_actions
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.transitions import opening_process, situation_of
from daemon.soul import Soul


class Recurse(Value):
    """The result of an action after which the work goes on, with an observation (seed 001's `recurse`)."""

    memory: WorkingMemory
    internal: WorkingMemory
    observation: str = ""


class ActionUse(Value):
    """The argument of a handler.

    `memory` holds the conversation, goal, playbook, log and newest results. `internal` is the machine's own memory of
    choices and observations. `input` is data, written by a model. `loop` counts the choices of this run from one.
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
"""The function that carries out an action.

Stay ends the work as answered, Transition moves to another process, Recurse goes on. A new message and the time limit
cancel it. An exception becomes an observation, except Interrupted and StoreErrors, which end the work.
"""


class Action(Value):
    """An action that the soul may choose. Its name and description must be the daemon's own words.

    `aloud` returns the part of an input that users may see, by default nothing.
    """

    name: str
    description: str
    handler: Handler
    aloud: Callable[[str], str] = lambda _: ""


class Machine(Value):
    """A goal, a playbook, actions and limits, all in the daemon's own words.

    `conclude` takes the memory and a plain clause on why the work ends without an answer. It answers with the best
    result so far. A new message cancels it, unless a limit is met before. `choose` makes the step that chooses. Raises
    ValueError for empty, equal or reserved names of actions.
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
        return self.choose([action.name for action in self.actions])


class End(StrEnum):
    """The way in which the work ended."""

    DONE = "done"  # the model says that the goal is reached, and `conclude` answered
    ANSWERED = "answered"  # an action answered
    MOVED = "moved"  # an action moves to another process
    INTERRUPTED = "interrupted"  # a new message arrived: absorb it and go on with what the result holds
    CONCLUDED = "concluded"  # a limit or a lack of progress ended the work, and `conclude` answered


class ISMResult(Value):
    """The state of the work. `outcome` is None only after an interruption, and `why` is set if `conclude` answered."""

    end: End
    outcome: Outcome | None
    memory: WorkingMemory
    internal: WorkingMemory
    spent: Spent
    why: str = ""


class Progress(StrEnum):
    """The progress of an action or a choice."""

    CHOSEN = "chosen"
    STARTED = "started"
    FINISHED = "finished"
    REFUSED = "refused"
    FAILED = "failed"
    CUT = "cut"
    CONCLUDING = "concluding"


class LoopEvent(Value):
    """An event of the work that users may see: action number `place` of choice number `loop`, both from one.

    `place` is 0 where there is no action. `action` is empty where no action has the chosen name. Only `sought`, the
    part of an input that an action shows, holds a model's words. `error`, the exception of a failed action, is for the
    log alone.
    """

    kind: Progress
    loop: int
    place: int = 0
    action: str = ""
    sought: str = ""
    detail: str = ""
    error: Exception | None = None


Note = Callable[[LoopEvent], Awaitable[None]]
"""The function that receives the events of the work. It must not raise."""


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
"""The names that no extension may take, in lower case."""


class ActionExtension(Value):
    """The object that a package registers as an entry point of `soul_daemon.actions`.

    The model chooses it by `name` and `description`, which are read as the daemon's own words. `handler` carries it
    out with an input that a model wrote. `acts` marks an action that changes something, which is not offered where the
    soul may only read.
    """

    name: str
    description: str
    handler: Callable[[ProcessContext, ActionUse], Coroutine[object, object, Recurse | Stay | Transition]]
    acts: bool = False


def action_named(name: str) -> ActionExtension:
    """Return the action that a package registers under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.ACTION, name)
    if not isinstance(found, ActionExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no ActionExtension", hint="see docs/EXTENDING.md")
    if found.name.casefold() in HOUSE_ACTIONS:
        raise ExtensionFault(f"{name!r} calls its action {found.name}, as one of the house's", hint="ask its author")
    return found


def extended_actions(context: ProcessContext, *, acts: bool) -> tuple[Action, ...]:
    """Return the actions that the soul names in `[extensions]`. Its files were checked when they were read."""
    named = (action_named(name) for name in context.soul.extensions.actions)
    return tuple(_action(context, one) for one in named if acts or not one.acts)


def _action(context: ProcessContext, found: ActionExtension) -> Action:
    async def handle(use: ActionUse) -> Recurse | Stay | Transition:
        return await found.handler(context, use)

    return Action(found.name, found.description, handle)


def goal_and_playbook(soul: Soul) -> tuple[str, str]:
    return soul.ism.goal or prompt("ism_goal"), soul.playbook or prompt("ism_playbook")


async def lapsed(context: ProcessContext, problem: Problem) -> Transition | None:
    """Return the transition with which the message is answered if the problem's open question has lapsed, else None.

    The question lapses with its visit, and with the first message that does not answer it. A model decides the latter,
    and its failure counts as an answer.
    """
    if not problem.asks or context.perception.modality is not Modality.WORDS:
        return None
    if context.visit.begins:
        target, reason = opening_process(context.state.process, situation_of(context)) or ("engaged", "a visit begins")
        return Transition(context.memory, target, f"the question lapsed: {reason}", execute_now=True)
    try:
        step = with_soul_creativity(context.soul, mental_query(prompt("question_answered")))
        _, answers = await context.mind.run(context.memory, step)
    except ModelError:
        return None
    if answers:
        return None
    reason = "the question lapsed: they speak of something else"
    return Transition(context.memory, "engaged", reason, execute_now=True, decided_by="model")
