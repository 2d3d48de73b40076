"""How does the soul solve a problem by itself? It chooses actions towards a goal, within limits (seed 001)."""

import unicodedata
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.errors import DaemonError, ModelError, StoreError
from daemon.core.limits import Spent
from daemon.core.working_memory import WorkingMemory
from daemon.ism.machine import ActionUse, End, ISMResult, LoopEvent, Machine, Note, Progress, Recurse
from daemon.ism.regions import observed, with_actions, with_work, without_work
from daemon.mind.cognition import Mind
from daemon.mind.interrupts import Interrupt, Interrupted
from daemon.mind.mental_process import Outcome, Stay, Transition
from daemon.mind.steps.choose_actions import Choice, Use

FRUITLESS = 2
"""Choices in a row that come to nothing before the work counts as going in circles."""

REACHED = "the goal is reached"
CIRCLES = "the work went in circles"
LOST = "the next step could not be chosen"

T = TypeVar("T")

_CHOICE = Use("your choice")
"""What is wrong with a choice as a whole is told like what comes of an action."""


async def _unnoted(_: LoopEvent) -> None:
    """Nobody watches."""


async def run_ism(
    machine: Machine,
    memory: WorkingMemory,
    *,
    mind: Mind,
    interrupt: Interrupt,
    usage: Callable[[], tuple[int, float]],
    internal: WorkingMemory | None = None,
    spent_so_far: Spent = Spent(),  # noqa: B008 - a frozen value
    note: Note = _unnoted,
) -> ISMResult:
    """Choose and act until an action answers or moves on, the goal is reached, a limit is met or somebody speaks.

    `usage` tells the tokens and US dollars that `mind` has used so far; what it grows by counts. `internal` and
    `spent_so_far` come from the result of work that goes on here. Raises what `conclude` raises, and StoreErrors.
    """
    own = WorkingMemory(memory.soul_name) if internal is None else internal
    work = _Work(
        machine, memory, internal=own, mind=mind, interrupt=interrupt, usage=usage, before=spent_so_far, note=note
    )
    try:
        try:
            outcome = await work.until_answered()
        except _Over as over:
            return work.result(over.end, await work.conclude(over.why), over.why)
    except Interrupted:
        return work.result(End.INTERRUPTED)
    return work.result(End.MOVED if isinstance(outcome, Transition) else End.ANSWERED, outcome)


class _Over(Exception):
    """The work ends before an action has answered; `why` is a plain clause."""

    def __init__(self, why: str, end: End = End.CONCLUDED) -> None:
        super().__init__(why)
        self.why, self.end = why, end


class _Work:
    """One run of a machine: what it has in mind, what it has tried and what it has spent."""

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
        """Choose and act, again and again. Raises Interrupted, or _Over if it ends before an action has answered."""
        while self._loops < self._machine.limits.loops:
            choice = await self._choose()
            self._loops += 1
            outcome = await self._carry_out(choice)
            if outcome is not None:
                return outcome
        raise _Over(self._machine.limits.out_of_loops)

    async def conclude(self, why: str) -> Stay:
        """The best answer so far. Raises Interrupted while no limit is met, and what `conclude` raises."""
        await self._note(LoopEvent(Progress.CONCLUDING, self._loops, detail=why))
        concluding = self._machine.conclude(self._in_mind(), why)
        if self._machine.limits.met_by(self._spent()):  # nothing is left for newer words, which get a turn of their own
            return await concluding
        return await self._interrupt.unless_called(concluding)

    def result(self, end: End, outcome: Outcome | None = None, why: str = "") -> ISMResult:
        """Where the work has come to, without the regions that were only for it."""
        if outcome is not None:
            outcome = replace(outcome, memory=without_work(outcome.memory))
            self._memory = outcome.memory
        return ISMResult(end, outcome, self._memory, self._internal, self._spent(), why)

    # -- choosing ----------------------------------------------------------------------------------------------------

    async def _choose(self) -> Choice:
        """The next choice, which is remembered. Raises _Over if none can be had, even after the Mind's repair."""
        self._look_up()
        most = self._machine.limits.loops
        step = replace(self._machine.choosing(), cue=f"This is choice {self._loops + 1} of at most {most}.")
        memory = with_actions(self._in_mind(), [(one.name, one.description) for one in self._machine.actions])
        try:
            _, choice = await self._unless_cut(self._mind.run(memory, step))
        except ModelError as error:
            raise _Over(LOST) from error
        self._internal = self._internal.concat(step.remember(choice))
        return choice

    async def _carry_out(self, choice: Choice) -> Outcome | None:
        """All actions of a choice in order, up to one that answers. Raises Interrupted or _Over."""
        names = ", ".join(use.name for use in choice.uses if use.name in self._actions)
        await self._note(LoopEvent(Progress.CHOSEN, self._loops, detail=names))
        tried = len(self._tried)
        for place, use in enumerate(choice.uses, 1):
            self._look_up()
            if refusal := self._refusal(use):
                await self._tell(Progress.REFUSED, place, use, refusal)
                continue
            self._tried.add(_trace(use))
            outcome = await self._act(place, use)
            if outcome is not None:
                return outcome
        if choice.done:
            raise _Over(REACHED, End.DONE)
        self._judge(choice, fruitless=len(self._tried) == tried)
        return None

    def _refusal(self, use: Use) -> str:
        """Why an action can't be carried out, for the model; empty if it can."""
        if use.name not in self._actions:
            return f"There is no such action. The actions are: {', '.join(self._actions)}."
        if _trace(use) in self._tried:
            return "This was tried already, with the same input, and is not done again. Do something else."
        return ""

    def _judge(self, choice: Choice, *, fruitless: bool) -> None:
        """Tell what was wrong with a choice as a whole. Raises _Over if nothing came of it, again."""
        if not choice.uses:
            self._observe(_CHOICE, "Nothing was chosen. Choose at least one action, or that you are done.")
        if choice.left_out:
            self._observe(_CHOICE, f"The last {choice.left_out} of the chosen actions were not carried out.")
        self._fruitless = self._fruitless + 1 if fruitless else 0
        if self._fruitless >= FRUITLESS:
            raise _Over(CIRCLES)

    # -- acting ------------------------------------------------------------------------------------------------------

    async def _act(self, place: int, use: Use) -> Outcome | None:
        """One action; its observation or failure feeds the next choice. Raises Interrupted, _Over or StoreErrors."""
        await self._note(LoopEvent(Progress.STARTED, self._loops, place, use.name))
        handler = self._actions[use.name].handler
        try:
            result = await self._unless_cut(handler(ActionUse(self._in_mind(), self._internal, use.input, self._loops)))
        except (Interrupted, _Over):
            await self._tell(Progress.CUT, place, use, "It was cut off before it was finished.")
            raise
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever breaks in an action, the work goes on and knows of it
            await self._tell(Progress.FAILED, place, use, _failure(error), error)
            return None
        await self._note(LoopEvent(Progress.FINISHED, self._loops, place, use.name))
        if not isinstance(result, Recurse):
            return result
        self._memory, self._internal = without_work(result.memory), result.internal
        self._observe(use, result.observation.strip() or "It is done.")
        return None

    async def _tell(self, kind: Progress, place: int, use: Use, text: str, error: Exception | None = None) -> None:
        """Tell the next choice about an action, and whoever watches that there is something to tell."""
        self._observe(use, text)
        await self._note(
            LoopEvent(kind, self._loops, place, use.name if use.name in self._actions else "", error=error)
        )

    def _observe(self, use: Use, text: str) -> None:
        self._internal = observed(self._internal, use, text)

    # -- limits ------------------------------------------------------------------------------------------------------

    def _in_mind(self) -> WorkingMemory:
        return with_work(self._memory, self._internal, self._machine.goal, self._machine.playbook)

    def _spent(self) -> Spent:
        tokens, usd = self._usage()
        before, seconds = self._before, self._mind.clock.monotonic() - self._began
        return Spent(
            self._loops, before.tokens + tokens - self._tokens, before.usd + usd - self._usd, before.seconds + seconds
        )

    def _look_up(self) -> None:
        """Raise Interrupted when somebody has said something, _Over when a limit is met."""
        if self._interrupt.pending:
            raise Interrupted
        if why := self._machine.limits.met_by(self._spent()):
            raise _Over(why)

    async def _unless_cut(self, work: Coroutine[object, object, T]) -> T:
        """What `work` gives. Raises Interrupted when somebody says something first, _Over when time is over first."""
        async with alongside(self._time_runs_out()):
            return await self._interrupt.unless_called(work)

    async def _time_runs_out(self) -> None:
        limits = self._machine.limits
        await self._mind.clock.sleep(limits.seconds - self._spent().seconds)
        raise _Over(limits.out_of_time)


def _trace(use: Use) -> tuple[str, str]:
    """What makes two uses the same: the action, and the input but for case, spaces and forms of characters."""
    return use.name, " ".join(unicodedata.normalize("NFKC", use.input).casefold().split())


def _failure(error: Exception) -> str:
    """A failure in a plain sentence; what is unexpected is for the log, not for a model."""
    return f"It failed: {error}." if isinstance(error, DaemonError) else "It failed for a reason that is not known."
