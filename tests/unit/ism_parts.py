"""Parts for the tests of the loop: a real mind with a scripted model, and actions that a test defines."""

import json
from dataclasses import dataclass, field

from daemon.core.expectations import Limits, Spent
from daemon.core.ports.services import LLM, Completion, Cost, LLMCall
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism import run_ism
from daemon.ism.machine import Action, ActionUse, Handler, ISMResult, LoopEvent, Machine, Recurse
from daemon.mind.cognition import Mind
from daemon.mind.process import Interrupt, Stay, Transition
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.fakes import FakeClock
from tests.models import FakeModel, Flow, Script, ScriptedLLM

MEMORY = WorkingMemory("Kothar").with_memory(Memory(Role.USER, "What are the limits?", name="Ada"))
PLENTY = Limits(loops=5, tokens=100_000, usd=10.0, seconds=600.0)
USAGE = Completion("scripted/test", tokens_in=100, tokens_out=20)


def chosen(*actions: str | tuple[str, str], reasoning: str = "It seems best.") -> str:
    """A choice in the requested JSON: names, or names with inputs."""
    pairs = [(one, "") if isinstance(one, str) else one for one in actions]
    named = [{"name": name, "input": given} for name, given in pairs]
    return json.dumps({"reasoning": reasoning, "actions": named})


async def think(use: ActionUse) -> Recurse:
    return use.recurse(observation=f"thought of {use.input or 'it'}")


async def respond(use: ActionUse) -> Stay:
    return Stay(use.memory.with_memory(Memory(Role.ASSISTANT, "There are none.")))


async def escalate(use: ActionUse) -> Transition:
    return Transition(use.memory, "expert", "it is beyond me", execute_now=True)


def actions(**others: Handler) -> tuple[Action, ...]:
    """Think, Respond and Escalate, with others beside them or in their place."""
    handlers: dict[str, Handler] = {"Think": think, "Respond": respond, "Escalate": escalate, **others}
    return tuple(Action(name, f"{name.lower()} about it", handler) for name, handler in handlers.items())


@dataclass
class Bench:
    """A machine with all it needs; `run` runs it."""

    llm: LLM
    clock: FakeClock = field(default_factory=FakeClock)
    interrupt: Interrupt = field(default_factory=Interrupt)
    calls: list[LLMCall] = field(default_factory=list)
    events: list[LoopEvent] = field(default_factory=list)
    concluded: list[str] = field(default_factory=list)
    shown_to_conclude: list[WorkingMemory] = field(default_factory=list)

    @property
    def mind(self) -> Mind:
        return Mind(
            llm=self.llm,
            render=lambda memory, step: build_prompt(memory, step, budgets=Budgets(), nonce="n0nce"),
            clock=self.clock,
            record=self.calls.append,
            cost=lambda completion: Cost((completion.tokens_in + completion.tokens_out) / 10_000),
            trace_id="trace",
        )

    def usage(self) -> tuple[int, float]:
        tokens = sum(call.tokens_in + call.tokens_out for call in self.calls)
        return tokens, sum(call.cost_usd or 0.0 for call in self.calls)

    async def conclude(self, memory: WorkingMemory, why: str) -> Stay:
        """Answer with the reason of the end."""
        self.concluded.append(why)
        self.shown_to_conclude.append(memory)
        return Stay(memory.with_memory(Memory(Role.ASSISTANT, f"So far only this: {why}.")))

    async def note(self, event: LoopEvent) -> None:
        self.events.append(event)

    async def run(
        self,
        using: tuple[Action, ...] | None = None,
        *,
        limits: Limits = PLENTY,
        memory: WorkingMemory = MEMORY,
        internal: WorkingMemory | None = None,
        spent: Spent | None = None,
    ) -> ISMResult:
        machine = Machine(
            goal="Find out what they need.",
            playbook="Look before you answer.",
            actions=actions() if using is None else using,
            limits=limits,
            conclude=self.conclude,
        )
        return await run_ism(
            machine,
            memory,
            mind=self.mind,
            interrupt=self.interrupt,
            usage=self.usage,
            internal=internal,
            spent_so_far=spent or Spent(),
            note=self.note,
        )


def bench(*replies: Script, default: Script | None = None) -> tuple[Bench, ScriptedLLM]:
    """A bench whose model gives these replies, each call for 120 tokens."""
    llm = ScriptedLLM(*replies, default=default, usage=USAGE)
    return Bench(llm), llm


def said(result: ISMResult) -> str:
    """The last words of the soul in the result."""
    own = [one.content for one in result.memory.region("default") if one.role is Role.ASSISTANT]
    return own[-1] if own else ""


def flowing() -> tuple[Bench, FakeModel, Flow]:
    """A bench whose model streams the chunks that the test releases."""
    model, flow = FakeModel(), Flow()
    model.voices[""] = flow
    return Bench(model), model, flow
