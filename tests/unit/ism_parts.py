"""Parts for trying the machine out: a real mind with a scripted model, and actions that do what a test says."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from daemon.core.limits import Limits, Spent
from daemon.core.ports import LLM, Completion, LLMCall, ModelRole, Prompt
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism import run_ism
from daemon.ism.machine import Action, ActionUse, Handler, ISMResult, LoopEvent, Machine, Recurse
from daemon.mind.cognition import Mind
from daemon.mind.interrupts import Interrupt
from daemon.mind.mental_process import Stay, Transition
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.fakes import FakeClock, Script, ScriptedLLM

MEMORY = WorkingMemory("Kothar").with_memory(Memory(Role.USER, "What are the limits?", name="Ada"))
PLENTY = Limits(loops=5, tokens=100_000, usd=10.0, seconds=600.0)
USAGE = Completion("scripted/test", tokens_in=100, tokens_out=20)


def chosen(*actions: str | tuple[str, str], reasoning: str = "It seems best.") -> str:
    """A choice as a model is asked to write it: names, or names with inputs."""
    pairs = [(one, "") if isinstance(one, str) else one for one in actions]
    named = [{"name": name, "input": given} for name, given in pairs]
    return json.dumps({"actions": named, "reasoning": reasoning})


def shown(prompt: Prompt) -> str:
    """All that a model was shown."""
    return "\n".join((*(part.text for part in prompt.system), *(message.text for message in prompt.messages)))


async def think(use: ActionUse) -> Recurse:
    """Goes on, having thought of what it was given."""
    return use.recurse(observation=f"thought of {use.input or 'it'}")


async def respond(use: ActionUse) -> Stay:
    """Answers with a word."""
    return Stay(use.memory.with_memory(Memory(Role.ASSISTANT, "There are none.")))


async def escalate(use: ActionUse) -> Transition:
    """Hands over at once."""
    return Transition(use.memory, "expert", "it is beyond me", execute_now=True)


def actions(**others: Handler) -> tuple[Action, ...]:
    """Think, Respond and Escalate, with others beside them or in their place."""
    handlers: dict[str, Handler] = {"Think": think, "Respond": respond, "Escalate": escalate, **others}
    return tuple(Action(name, f"{name.lower()} about it", handler) for name, handler in handlers.items())


class Stream:
    """A model whose chunks a test lets out one by one; `taken` are those read so far, `closed` counts ended calls."""

    def __init__(self) -> None:
        self.asked, self.read = asyncio.Event(), asyncio.Event()
        self.taken: list[str] = []
        self.closed = 0
        self._chunks: asyncio.Queue[str] = asyncio.Queue()

    def say(self, *chunks: str) -> None:
        """Let out more."""
        for chunk in chunks:
            self._chunks.put_nowait(chunk)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Yield what was let out, for ever."""
        self.asked.set()
        try:
            while True:
                chunk = await self._chunks.get()
                self.taken.append(chunk)
                self.read.set()
                yield chunk
        finally:
            self.closed += 1

    def model_for(self, role: ModelRole) -> str:
        """One model for both roles."""
        return f"stream/{role}"


@dataclass
class Bench:
    """A machine and all that stands round it; `run` runs it."""

    llm: LLM
    clock: FakeClock = field(default_factory=FakeClock)
    interrupt: Interrupt = field(default_factory=Interrupt)
    calls: list[LLMCall] = field(default_factory=list)
    events: list[LoopEvent] = field(default_factory=list)
    concluded: list[str] = field(default_factory=list)
    shown_to_conclude: list[WorkingMemory] = field(default_factory=list)

    @property
    def mind(self) -> Mind:
        """A mind that keeps account in `calls`; a token costs a hundredth of a cent."""
        return Mind(
            llm=self.llm,
            render=lambda memory, step: build_prompt(memory, step, budgets=Budgets(), nonce="n0nce"),
            clock=self.clock,
            record=self.calls.append,
            cost=lambda completion: (completion.tokens_in + completion.tokens_out) / 10_000,
            trace_id="trace",
        )

    def usage(self) -> tuple[int, float]:
        """What the mind has used so far."""
        tokens = sum(call.tokens_in + call.tokens_out for call in self.calls)
        return tokens, sum(call.cost_usd or 0.0 for call in self.calls)

    async def conclude(self, memory: WorkingMemory, why: str) -> Stay:
        """Answers with why it ends."""
        self.concluded.append(why)
        self.shown_to_conclude.append(memory)
        return Stay(memory.with_memory(Memory(Role.ASSISTANT, f"So far only this: {why}.")))

    async def note(self, event: LoopEvent) -> None:
        """Keeps what is told."""
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
        """Run the machine with these actions within these limits."""
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
    """A bench whose model says these replies, each call for 120 tokens."""
    llm = ScriptedLLM(*replies, default=default, usage=USAGE)
    return Bench(llm), llm


def said(result: ISMResult) -> str:
    """The soul's last words in what the work came to."""
    own = [one.content for one in result.memory.region("default") if one.role is Role.ASSISTANT]
    return own[-1] if own else ""
