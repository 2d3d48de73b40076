"""How does the soul solve a problem by itself? It chooses actions towards a goal, within limits (seed 001)."""

import unicodedata
from collections.abc import Callable, Coroutine
from typing import TypeVar

from msgspec.structs import replace

from daemon.core.concurrency import alongside
from daemon.core.errors import DaemonError, ModelError, StoreError
from daemon.core.expectations import Spent
from daemon.core.sentences import Sentence
from daemon.core.working_memory import WorkingMemory
from daemon.ism.machine import ActionUse, End, ISMResult, LoopEvent, Machine, Note, Progress, Recurse
from daemon.ism.problem import with_actions, with_observation, with_work, without_work
from daemon.mind.cognition import Mind
from daemon.mind.process import Interrupt, Interrupted, Outcome, Stay, Transition
from daemon.mind.steps.choose_actions import Choice, ChosenAction

FRUITLESS = 2
"""The number of choices in a row without a new action after which the work counts as going in circles."""

REACHED = "the goal is reached"
CIRCLES = Sentence("why_circles")
LOST = Sentence("why_lost")

T = TypeVar("T")

_CHOICE = ChosenAction("your choice")
"""The pseudo-action under which errors about the whole choice are reported."""


async def run_ism(
    machine: Machine,
    memory: WorkingMemory,
    *,
    mind: Mind,
    interrupt: Interrupt,
    usage: Callable[[], tuple[int, float]],
    internal: WorkingMemory | None = None,
    spent_so_far: Spent = Spent(),  # noqa: B008 - a frozen value
    note: Note,
) -> ISMResult:
    """Choose and act until an action answers or moves on, a limit or the goal is reached, or a message arrives.

    `usage` returns the tokens and US dollars that `mind` has used so far, of which only the growth counts. `internal`
    and `spent_so_far` come from the result of earlier work that is resumed here. Raises StoreErrors and what
    `conclude` raises.
    """
    own = WorkingMemory(memory.soul_name) if internal is None else internal
    work = _Work(
        machine, memory, internal=own, mind=mind, interrupt=interrupt, usage=usage, before=spent_so_far, note=note
    )
    try:
        try:
            outcome = await work.until_answered()
        except _WorkEnds as over:
            return work.result(over.end, await work.conclude(over.why), over.why)
    except Interrupted:
        return work.result(End.INTERRUPTED)
    return work.result(End.MOVED if isinstance(outcome, Transition) else End.ANSWERED, outcome)


class _WorkEnds(Exception):
    """The end of the work without an answering action. `why` is a plain clause."""

    def __init__(self, why: str, end: End = End.CONCLUDED) -> None:
        super().__init__(why)
        self.why, self.end = why, end


class _Work:
    """One run of a machine: its memories, the actions it has tried and what it has spent."""

    def __init__(
        self,
        machine: Machine,
        memory: WorkingMemory,
        *,
        internal: WorkingMemory,
        mind: Mind,
        interrupt: Interrupt,
        usage: Callable[[], tuple[int, float]],
        before: Spent,
        note: Note,
    ) -> None:
        self._machine, self._mind, self._interrupt, self._note = machine, mind, interrupt, note
        self._memory, self._internal = memory, internal
        self._actions = {action.name: action for action in machine.actions}
        self._usage, self._before, self._loops = usage, before, before.loops
        self._began, (self._tokens, self._usd) = mind.clock.monotonic(), usage()
        self._tried: set[tuple[str, str]] = set()
        self._fruitless = 0

    async def until_answered(self) -> Outcome:
        """Choose and act in a loop. Raises Interrupted, or _WorkEnds if no action answered."""
        while self._loops < self._machine.limits.loops:
            choice = await self._choose()
            self._loops += 1
            outcome = await self._carry_out(choice)
            if outcome is not None:
                return outcome
        raise _WorkEnds(self._machine.limits.out_of_loops)

    async def conclude(self, why: str) -> Stay:
        """Return the best answer so far. Raises Interrupted unless a limit is met, and what `conclude` raises."""
        await self._note(LoopEvent(Progress.CONCLUDING, self._loops, detail=why))
        concluding = self._machine.conclude(self._in_mind(), why)
        if self._machine.limits.met_by(self._spent()):  # a new message gets a separate turn
            return await concluding
        return await self._interrupt.unless_called(concluding)

    def result(self, end: End, outcome: Outcome | None = None, why: str = "") -> ISMResult:
        """Return the state of the work, without the regions that exist only for it."""
        if outcome is not None:
            outcome = replace(outcome, memory=without_work(outcome.memory))
            self._memory = outcome.memory
        return ISMResult(end, outcome, self._memory, self._internal, self._spent(), why)

    # -- choosing ----------------------------------------------------------------------------------------------------

    async def _choose(self) -> Choice:
        """Return the next choice and remember it. Raises _WorkEnds if the model gives none, even after a repair."""
        self._check()
        most = self._machine.limits.loops
        step = replace(self._machine.choosing(), cue=f"This is choice {self._loops + 1} of at most {most}.")
        memory = with_actions(self._in_mind(), [(one.name, one.description) for one in self._machine.actions])
        try:
            _, choice = await self._unless_cut(self._mind.run(memory, step))
        except ModelError as error:
            raise _WorkEnds(LOST) from error
        self._internal = self._internal.concat(step.remember(choice))
        return choice

    async def _carry_out(self, choice: Choice) -> Outcome | None:
        """Carry out the actions of a choice in order, up to one that answers. Raises Interrupted or _WorkEnds."""
        names = ", ".join(action.name for action in choice.actions if action.name in self._actions)
        await self._note(LoopEvent(Progress.CHOSEN, self._loops, detail=names))
        tried = len(self._tried)
        for place, action in enumerate(choice.actions, 1):
            self._check()
            if refusal := self._refusal(action):
                await self._report(Progress.REFUSED, place, action, refusal)
                continue
            self._tried.add(_identity(action))
            outcome = await self._act(place, action)
            if outcome is not None:
                return outcome
        if choice.done:
            raise _WorkEnds(REACHED, End.DONE)
        self._judge(choice, fruitless=len(self._tried) == tried)
        return None

    def _refusal(self, action: ChosenAction) -> str:
        """Return why an action is not carried out, for the model, or an empty string if it is."""
        if action.name not in self._actions:
            return f"There is no such action. The actions are: {', '.join(self._actions)}."
        if _identity(action) in self._tried:
            return "This was tried already, with the same input, and is not done again. Do something else."
        return ""

    def _judge(self, choice: Choice, *, fruitless: bool) -> None:
        """Report errors about a whole choice. Raises _WorkEnds after too many fruitless choices in a row."""
        if not choice.actions:
            self._observe(_CHOICE, "Nothing was chosen. Choose at least one action, or that you are done.")
        if choice.left_out:
            self._observe(_CHOICE, f"The last {choice.left_out} of the chosen actions were not carried out.")
        self._fruitless = self._fruitless + 1 if fruitless else 0
        if self._fruitless >= FRUITLESS:
            raise _WorkEnds(CIRCLES)

    # -- acting ------------------------------------------------------------------------------------------------------

    async def _act(self, place: int, action: ChosenAction) -> Outcome | None:
        """Carry out one action and observe the result. Raises Interrupted, _WorkEnds or a StoreError."""
        await self._note(self._event(Progress.STARTED, place, action))
        handler = self._actions[action.name].handler
        try:
            result = await self._unless_cut(
                handler(ActionUse(self._in_mind(), self._internal, action.input, self._loops))
            )
        except (Interrupted, _WorkEnds):
            await self._report(Progress.CUT, place, action, "It was cut off before it was finished.")
            raise
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - an action that fails in any way does not end the work
            await self._report(Progress.FAILED, place, action, _failure(error), error)
            return None
        await self._note(self._event(Progress.FINISHED, place, action))
        if not isinstance(result, Recurse):
            return result
        self._memory, self._internal = without_work(result.memory), result.internal
        self._observe(action, result.observation.strip() or "It is done.")
        return None

    async def _report(
        self, kind: Progress, place: int, action: ChosenAction, text: str, error: Exception | None = None
    ) -> None:
        self._observe(action, text)
        await self._note(self._event(kind, place, action, error))

    def _event(self, kind: Progress, place: int, chosen: ChosenAction, error: Exception | None = None) -> LoopEvent:
        action = self._actions.get(chosen.name)
        if action is None:
            return LoopEvent(kind, self._loops, place, error=error)
        return LoopEvent(kind, self._loops, place, action.name, action.aloud(chosen.input), error=error)

    def _observe(self, action: ChosenAction, text: str) -> None:
        self._internal = with_observation(self._internal, action, text)

    # -- limits ------------------------------------------------------------------------------------------------------

    def _in_mind(self) -> WorkingMemory:
        return with_work(self._memory, self._internal, self._machine.goal, self._machine.playbook)

    def _spent(self) -> Spent:
        tokens, usd = self._usage()
        before, seconds = self._before, self._mind.clock.monotonic() - self._began
        return Spent(
            self._loops, before.tokens + tokens - self._tokens, before.usd + usd - self._usd, before.seconds + seconds
        )

    def _check(self) -> None:
        """Raise Interrupted if a new message has arrived, _WorkEnds if a limit is met."""
        if self._interrupt.pending:
            raise Interrupted
        if why := self._machine.limits.met_by(self._spent()):
            raise _WorkEnds(why)

    async def _unless_cut(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of `work`. Raises Interrupted for a new message, _WorkEnds at the time limit."""
        async with alongside(self._time_runs_out()):
            return await self._interrupt.unless_called(work)

    async def _time_runs_out(self) -> None:
        limits = self._machine.limits
        await self._mind.clock.sleep(limits.seconds - self._spent().seconds)
        raise _WorkEnds(limits.out_of_time)


def _identity(action: ChosenAction) -> tuple[str, str]:
    return action.name, " ".join(unicodedata.normalize("NFKC", action.input).casefold().split())


def _failure(error: Exception) -> str:
    """Describe a failure in a plain sentence. Details of unexpected failures go to the log, not to a model."""
    return f"It failed: {error}." if isinstance(error, DaemonError) else "It failed for a reason that is not known."
