"""Runs mental processes for one perception: where it begins, ten hops at most, visits that hand back (Open Souls 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daemon.core.errors import ProcessFailed
from daemon.core.perception import Modality
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.state_history import PathStep
from daemon.memory.records import ProcessState
from daemon.mind.mental_process import MOST_HOPS, MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.mind.transitions import opening_process, situation_of, why_refused

FIRST = "engaged"
"""The process that a conversation falls back to when the one it is in exists no more."""

DECIDED = "problem_solving"
"""The process that asks for permission and so is the one for decisions, wherever the talk has gone meanwhile."""


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """How a perception went through the processes: the memory, the state at the end, and the path with its reasons."""

    memory: WorkingMemory
    state: ProcessState
    path: tuple[PathStep, ...]


async def run_processes(
    context: ProcessContext, state: ProcessState, processes: Mapping[str, MentalProcess]
) -> ProcessRun:
    """Run the current process, or the one that the perception visits, and whatever it hands over to at once.

    A visit hands the conversation back as it was, unless the visited process moves it on or waits for something itself
    (Open Souls 3.6, without its loss of process memory). Raises ProcessFailed after more than ten hops, and what the
    processes raise.
    """
    tenable = state.process in processes and context.soul.may_be(state.process)
    run = _Run(context, processes, state if tenable else ProcessState(FIRST, state.process))
    await run.to_its_end()
    return ProcessRun(run.context.memory, run.state, tuple(run.path))


class _Run:
    """One perception on its way through the processes."""

    def __init__(self, context: ProcessContext, processes: Mapping[str, MentalProcess], state: ProcessState) -> None:
        self.context = context
        self.state = state
        self.path: list[PathStep] = []
        self._processes = processes
        self._hop = 0
        self._home = state
        self._visits = False

    async def to_its_end(self) -> None:
        perception = self.context.perception
        if perception.process is not None and not self._visit(perception.process) and self._is_silence():
            return
        if perception.modality is Modality.DECISION:
            self._attend_to_decision()
        elif perception.modality is Modality.WORDS and not self._visits:
            self._begin()
        while not self._settled(await self._once()):
            self._hop += 1
            if self._hop > MOST_HOPS:
                raise ProcessFailed(
                    f"{self.state.process} and others hand over to each other without end",
                    hint="see `soul trace` for the path",
                )
        if self._visits and not self._is_parked() and all(step.act != "move" for step in self.path):
            self._note("return", self._home.process, "schedule", "a visit hands the conversation back")
            self.state = self._home

    def _visit(self, process: str) -> bool:
        """Go where the perception wants it; False, and it stays, where the table of entries is against it."""
        refused = self._against(process)
        if refused:
            self._note("refuse", process, "schedule", refused, self.context.perception.params)
            return False
        self._go_visiting(process, "schedule", "it has fallen due")
        return True

    def _is_parked(self) -> bool:
        """Whether the visited process asked something and waits; the answer has to find it there."""
        return self.state.process == DECIDED and bool(self.state.process_memory)

    def _attend_to_decision(self) -> None:
        """Somebody waits to be told what came of their decision, so that no entry condition stands against it."""
        if self.state.process != DECIDED and DECIDED in self._processes:
            self._go_visiting(DECIDED, "rule", "what was asked to be allowed has been decided")

    def _go_visiting(self, process: str, decided_by: str, reason: str) -> None:
        self._visits = True
        self._note("visit", process, decided_by, reason, self.context.perception.params)
        self.state = ProcessState(process, self._home.process, 0, self.context.perception.params)

    def _is_silence(self) -> bool:
        """Whether nothing is perceived but time that has passed: that concerns nobody but the process it was for."""
        return self.context.perception.modality is Modality.TIME and not self.context.perception.content.strip()

    def _begin(self) -> None:
        """Words may begin a spell of talk; a matter that waits for its answer goes on."""
        if not self.state.process_memory and (
            begun := opening_process(self.state.process, situation_of(self._in(self.state)))
        ):
            self._move("enter", Transition(self.context.memory, *begun))

    def _against(self, target: str) -> str:
        if target not in self._processes:
            return f"there is no process {target!r}"
        return why_refused(self.state.process, target, situation_of(self._in(self.state)))

    async def _once(self) -> Outcome:
        context = self._in(self.state)
        outcome = await self._processes[self.state.process](context)
        self.context = replace(self.context, memory=outcome.memory)
        return outcome

    def _settled(self, outcome: Outcome) -> bool:
        """Take over where a process ended up; whether the perception is done with."""
        state = self.state
        if isinstance(outcome, Transition) and outcome.to != state.process:
            refused = self._against(outcome.to)
            if not refused:
                self._move("move", outcome)
                return not outcome.execute_now
            self._note("refuse", outcome.to, "rule", refused, outcome.params)
            if outcome.execute_now and not self.context.motor.reply and state.process != FIRST:
                self._note("visit" if self._visits else "move", FIRST, "rule", "somebody has to answer")
                self.state = ProcessState(FIRST, state.process)
                return False
        kept = (
            outcome.process_memory
            if isinstance(outcome, Stay) and outcome.process_memory is not None
            else state.process_memory
        )
        self.state = replace(state, invocations=state.invocations + 1, process_memory=kept)
        self._note("stay", state.process, "rule", "nothing leads elsewhere")
        return True

    def _move(self, act: str, transition: Transition) -> None:
        self._note(act, transition.to, transition.decided_by, transition.reason, transition.params)
        self.state = ProcessState(transition.to, self.state.process, 0, transition.params)

    def _note(
        self, act: str, target: str, decided_by: str, reason: str, params: Mapping[str, object] | None = None
    ) -> None:
        self.path.append(PathStep(self._hop, act, self.state.process, target, decided_by, reason, params or {}))

    def _in(self, state: ProcessState) -> ProcessContext:
        return replace(self.context, state=state)
