"""A `Mind` with a scripted model, for the tests of steps and thoughts."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Completion, Cost, LLMCall
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.cognition import Mind
from daemon.soul import Budgets
from daemon.soul_engine import build_prompt
from tests.fakes import FakeClock
from tests.models import PacedModel

Script = list[str | Exception | Completion | asyncio.Event]
END = Completion("fake/one", tokens_in=10, tokens_cached=4, tokens_out=3)
MEMORY = WorkingMemory("Kothar").with_memory(Memory(Role.USER, "hello", name="Ada"))
NONCE = "n0nce"


def streaming(*models: str) -> dict[str, ModelHabit]:
    """Habits of models that are known to write no reasoning into their speech, so that it streams."""
    return {model: ModelHabit(model, hold_back=0) for model in models}


class Shout:
    def __init__(self) -> None:
        self._last = ""

    def feed(self, piece: str) -> str:
        text, self._last = (self._last + piece)[:-1], (self._last + piece)[-1:]
        return text.upper()

    def finish(self) -> str:
        return self._last.upper()


def read_echo(reply: str) -> str:
    if "bad" in reply or not reply:
        raise MalformedReply("it is bad", reply=reply, hint="say something good")
    return reply.upper()


ECHO = Step(
    name="echo",
    command="Echo.",
    read=read_echo,
    remember=lambda value: (Memory(Role.ASSISTANT, value), Memory(Role.ASSISTANT, value, region="echoes")),
    visible=Shout,
)


@dataclass
class Head:
    llm: PacedModel
    mind: Mind
    calls: list[LLMCall]


def head(*scripts: Script) -> Head:
    clock = FakeClock(auto=True)
    llm = PacedModel(list(scripts), clock)
    calls: list[LLMCall] = []
    mind = Mind(
        llm=llm,
        render=lambda memory, step: build_prompt(memory, step, budgets=Budgets(), nonce=NONCE),
        clock=clock,
        record=calls.append,
        cost=lambda completion: Cost(completion.tokens_out / 1000),
        trace_id="trace",
        habits=streaming("fake/persona", "fake/thinking"),
    )
    return Head(llm, mind, calls)


async def listen(thought: AsyncIterator[str]) -> list[str]:
    return [piece async for piece in thought]


async def turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)
