"""Runs mental processes for one perception: the first process, at most ten hops, and visits (as in Open Souls)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from daemon.core.errors import ProcessFailed
from daemon.core.perception import Modality
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.state_history import PathStep
from daemon.memory.records import ProcessState
from daemon.mind.mental_process import MOST_HOPS, MentalProcess, Outcome, ProcessContext, Stay, Transition
from daemon.mind.transitions import opening_process, situation_of, why_refused

FALLBACK = "engaged"
"""The process of a conversation whose own does not exist any more, and of messages that another one must not handle."""

DECISION_PROCESS = "problem_solving"
"""The process that asks for permission; decisions visit it from any state of the conversation."""


@dataclass(frozen=True, slots=True)
class ProcessRun:
    """The result for one perception: the memory, the state at the end, and the path with its reasons."""

    memory: WorkingMemory
    state: ProcessState
    path: tuple[PathStep, ...]


async def run_processes(
    context: ProcessContext, state: ProcessState, processes: Mapping[str, MentalProcess]
) -> ProcessRun:
    """Run the current process, or the one that the perception visits, and the targets of its immediate transitions.

    After a visit the conversation is in its former state again, unless the visited process transitioned or waits for
    an answer. Raises ProcessFailed after more than ten hops, and what the processes raise.
    """
    exists = state.process in processes and context.soul.may_be(state.process)
    run = _Run(context, processes, state if exists else ProcessState(FALLBACK, state.process))
    await run.run()
    return ProcessRun(run.context.memory, run.state, tuple(run.path))


class _Run:
    """The run of one perception through the processes."""

    def __init__(self, context: ProcessContext, processes: Mapping[str, MentalProcess], state: ProcessState) -> None:
        self.context = context
        self.state = state
        self.path: list[PathStep] = []
        self._processes = processes
        self._hop = 0
        self._home = state
        self._visits = False

    async def run(self) -> None:
        perception = self.context.perception
        if perception.process is not None and not self._visit(perception.process) and self._is_for_that_alone():
            return
        if perception.modality is Modality.DECISION:
            self._visit_for_decision()
        elif perception.modality is Modality.WORDS and not self._visits:
            self._begin()
        while not self._is_done(await self._run_process()):
            self._hop += 1
            if self._hop > MOST_HOPS:
                raise ProcessFailed(
                    f"{self.state.process} and others hand over to each other without end",
                    hint="see `soul mind trace` for the path",
                )
        if self._visits and not self._is_parked() and all(step.act != "move" for step in self.path):
            self._note("return", self._home.process, "schedule", "a visit hands the conversation back")
            self.state = self._home

    def _visit(self, process: str) -> bool:
        """Visit the process that the perception names; False if its entry is refused."""
        refused = self._why_refused(process)
        if refused:
            self._note("refuse", process, "schedule", refused, self.context.perception.params)
            return False
        self._go_visiting(process, "schedule", "it has fallen due")
        return True

    def _is_parked(self) -> bool:
        """Whether the visited process waits for an answer; then the conversation must stay in it."""
        return self.state.process == DECISION_PROCESS and bool(self.state.process_memory)

    def _visit_for_decision(self) -> None:
        """A decision is always handled, whatever the entry conditions: its approver waits for the outcome."""
        if self.state.process != DECISION_PROCESS and DECISION_PROCESS in self._processes:
            self._go_visiting(DECISION_PROCESS, "rule", "what was asked to be allowed has been decided")

    def _go_visiting(self, process: str, decided_by: str, reason: str) -> None:
        self._visits = True
        self._note("visit", process, decided_by, reason, self.context.perception.params)
        self.state = ProcessState(process, self._home.process, 0, self.context.perception.params)

    def _is_for_that_alone(self) -> bool:
        """Whether the perception concerns only the process that it names: a silence, and a program's event."""
        return self.context.perception.asks_nothing

    def _begin(self) -> None:
        """A message may begin a visit; a process that waits for its answer goes on."""
        if not self._is_parked() and (
            opening := opening_process(self.state.process, situation_of(self._in(self.state)))
        ):
            self._move("enter", Transition(self.context.memory, *opening))

    def _why_refused(self, target: str) -> str:
        if target not in self._processes:
            return f"there is no process {target!r}"
        return why_refused(self.state.process, target, situation_of(self._in(self.state)))

    async def _run_process(self) -> Outcome:
        context = self._in(self.state)
        outcome = await self._processes[self.state.process](context)
        self.context = replace(self.context, memory=outcome.memory)
        return outcome

    def _is_done(self, outcome: Outcome) -> bool:
        """Apply the outcome of a process; whether the perception is handled."""
        state = self.state
        if isinstance(outcome, Transition) and outcome.to != state.process:
            refused = self._why_refused(outcome.to)
            if not refused:
                self._move("move", outcome)
                return not outcome.execute_now
            self._note("refuse", outcome.to, "rule", refused, outcome.params)
            if outcome.execute_now and not self.context.motor.reply and state.process != FALLBACK:
                self._note("visit" if self._visits else "move", FALLBACK, "rule", "the message needs a reply")
                self.state = ProcessState(FALLBACK, state.process)
                return False
        process_memory = (
            outcome.process_memory
            if isinstance(outcome, Stay) and outcome.process_memory is not None
            else state.process_memory
        )
        self.state = replace(state, invocations=state.invocations + 1, process_memory=process_memory)
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
        return replace(self.context, state=state, note=self._note)
