"""Runs mental processes for one perception: where it begins, ten hops at most, visits that hand back (Open Souls 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daemon.errors import ProcessFailed
from daemon.memory.records import ProcessState
from daemon.memory.transitions import PathStep
from daemon.mental_process import MOST_HOPS, MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.transitions import against, beginning, situation_of
from daemon.working_memory import WorkingMemory

FIRST = "engaged"
"""The process that a conversation falls back to when the one it is in exists no more."""


@dataclass(frozen=True, slots=True)
class Course:
    """How a perception went through the processes: the memory, the state at the end, and the path with its reasons."""

    memory: WorkingMemory
    state: ProcessState
    path: tuple[PathStep, ...]


async def run_processes(context: ProcessContext, state: ProcessState, processes: Mapping[str, MentalProcess]) -> Course:
    """Run the current process, or the one that the perception visits, and whatever it hands over to at once.

    A visit hands the conversation back as it was, unless the visited process moves it on (Open Souls 3.6, without its
    loss of process memory). Raises ProcessFailed after more than ten hops, and what the processes raise.
    """
    run = _Run(context, processes, state if state.process in processes else replace(state, process=FIRST, kept={}))
    await run.to_its_end()
    return Course(run.context.memory, run.state, tuple(run.path))


class _Run:
    """One perception on its way through the processes."""

    def __init__(self, context: ProcessContext, processes: Mapping[str, MentalProcess], state: ProcessState) -> None:
        self.context = context
        self.state = state
        self.path: list[PathStep] = []
        self._processes = processes
        self._hop = 0
        self._home = state

    async def to_its_end(self) -> None:
        visiting = self._enter()
        while not self._settled(await self._once()):
            self._hop += 1
            if self._hop > MOST_HOPS:
                raise ProcessFailed(
                    f"{self.state.process} and others hand over to each other without end",
                    hint="see `soul trace` for the path",
                )
            visiting = False
        if visiting and self.path[-1].act != "move":
            self._note("return", self._home.process, "schedule", "a visit hands the conversation back")
            self.state = self._home

    def _enter(self) -> bool:
        """Begin where the perception or the spell of talk wants it; whether that is only a visit."""
        perception, situation = self.context.perception, situation_of(self._in(self.state))
        if perception.process is not None and perception.process in self._processes:
            self._note("visit", perception.process, "schedule", "it has fallen due", perception.params)
            self.state = ProcessState(perception.process, self._home.process, 0, perception.params)
            return True
        if not self.state.kept and (begun := beginning(self.state.process, situation)):
            self._move("enter", Transition(self.context.memory, *begun))
        return False

    async def _once(self) -> Outcome:
        context = self._in(self.state)
        outcome = await self._processes[self.state.process](context)
        self.context = replace(self.context, memory=outcome.memory)
        return outcome

    def _settled(self, outcome: Outcome) -> bool:
        """Take over where a process ended up; whether the perception is done with."""
        state = self.state
        if isinstance(outcome, Transition) and outcome.to != state.process:
            refused = against(state.process, outcome.to, situation_of(self._in(state)))
            if not refused and outcome.to in self._processes:
                self._move("move", outcome)
                return not outcome.execute_now
            self._note("refuse", outcome.to, "rule", refused or f"there is no process {outcome.to!r}", outcome.params)
            if outcome.execute_now and not self.context.motor.reply and state.process != FIRST:
                self.state = ProcessState(FIRST, state.process)  # whoever was to answer can't; somebody has to
                return False
        kept = outcome.keep if isinstance(outcome, Stay) and outcome.keep is not None else state.kept
        self.state = replace(state, invocations=state.invocations + 1, kept=kept)
        self._note("stay", state.process, "rule", "")
        return True

    def _move(self, act: str, transition: Transition) -> None:
        self._note(act, transition.to, transition.decided_by, transition.reason, transition.params)
        self.state = ProcessState(transition.to, self.state.process, 0, transition.params)

    def _note(
        self, act: str, target: str, decided_by: str, reason: str, params: Mapping[str, object] | None = None
    ) -> None:
        self.path.append(PathStep(self._hop, act, self.state.process, target, decided_by, reason, params or {}))

    def _in(self, state: ProcessState) -> ProcessContext:
        return replace(
            self.context,
            process=state.process,
            previous=state.previous,
            invocation=state.invocations,
            params=state.params,
            kept=state.kept,
        )
