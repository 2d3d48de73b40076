"""The invariants of seed 000: immutable memory, pure steps, effects by the Motor, the store first, streams closed."""

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, closing, suppress
from copy import copy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import daemon
from daemon.core.errors import MalformedReply, ModelError, ModelRefused, ModelUnavailable
from daemon.core.ports.services import Completion, Prompt
from daemon.core.step import Step
from daemon.core.working_memory import Memory, WorkingMemory
from daemon.memory.database import open_database
from daemon.memory.database.sqlite import sqlite3
from daemon.mind.cognition import READ_CAP
from daemon.mind.matter import Thought
from daemon.mind.motor import Motor
from daemon.processes.subprocesses.models_the_visitor import models_the_visitor
from daemon.soul_engine import PERSON
from tests import template
from tests.fakes import FakeClock, FakeSpeech
from tests.unit.operations import OPERATIONS, memories, working_memories
from tests.unit.subprocess_parts import DM, IN_DM, LEARNED, SubprocessBench
from tests.unit.thinking import END, MEMORY, Head, Script, head, turns

ROOT = Path(daemon.__file__).parent
words = st.text(st.sampled_from("abc {}\"'<>:\n"), min_size=1, max_size=12).filter(lambda text: bool(text.strip()))


@given(
    memory=working_memories, extra=memories, chain=st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=6)
)
def test_working_memory_is_immutable(memory: WorkingMemory, extra: Memory, chain: list[str]) -> None:
    values = [(memory, memory.to_json())]
    for name in chain:
        made = OPERATIONS[name](values[-1][0], extra)
        assert made is not values[-1][0]
        assert made.soul_name == memory.soul_name
        values.append((made, made.to_json()))
    assert [value.to_json() for value, _ in values] == [before for _, before in values]
    for value, _ in values:
        for holder in (value, *value):
            for name in holder.__slots__:
                with pytest.raises(AttributeError):
                    setattr(holder, name, ())
        assert copy(value) == value


_SILENCE = """
import sys
from tests.unit.every_step import every_step

answers = ("words", '{"holds": true}', '{"choice": "Something yes"}', '{"ideas": ["a"]}', "{", "")

def run():
    for made in every_step().values():
        made.prompt()
        for answer in answers:
            made.outcome(answer), made.seen([answer])

run()  # the first run lets Python load its own modules
seen = []
watched = ("open", "socket", "subprocess", "os.", "sqlite3", "shutil", "tempfile", "ctypes", "urllib", "http")
sys.addaudithook(lambda event, _: seen.append(event) if watching and event.startswith(watched) else None)
watching = True
run()
watching = False
print(sorted(set(seen)))
"""


def test_no_step_touches_a_file_a_socket_or_another_program() -> None:
    result = subprocess.run(
        [sys.executable, "-c", _SILENCE], capture_output=True, text=True, check=True, cwd=ROOT.parent
    )
    assert result.stdout.strip() == "[]"


@given(pieces=st.lists(st.text("abc \n", min_size=1), max_size=5))
def test_a_step_alone_says_nothing_and_the_motor_says_only_what_it_was_given(pieces: list[str]) -> None:
    async def think() -> None:
        speech = FakeSpeech()
        motor = Motor(speech)
        thought = head([*pieces, END]).mind.stream(MEMORY, LOUD)
        await thought.finished()
        assert speech.texts == []
        await motor.speak(thought)
        assert speech.texts == [piece.upper() for piece in pieces]
        assert motor.reply == ""
        motor.annotate(monologue="secret", nothing=None)
        motor.settle("the reply")
        assert speech.texts == [piece.upper() for piece in pieces]
        assert (motor.reply, dict(motor.annotations)) == ("the reply", {"monologue": "secret"})

    asyncio.run(think())


class Witness:
    """An `Emit` that reads the database file, as another program would, at each event with a memory."""

    def __init__(self, path: Path) -> None:
        self.seen: list[tuple[WorkingMemory, list[str]]] = []
        self._path = path

    def __call__(self, event: str, /, **fields: object) -> None:
        memory = fields.get("memory")
        if isinstance(memory, WorkingMemory):
            with closing(sqlite3.connect(self._path)) as connection:
                notes = connection.execute(
                    "SELECT text FROM records JOIN facts USING (id) WHERE valid_until_ms IS NULL"
                )
                self.seen.append((memory, [text for (text,) in notes]))


BEES = "I keep wild bees, like tea, sail, ride, nap and use Go"


def quoted(lines: list[str]) -> list[dict[str, str]]:
    return [{"text": line, "quote": BEES} for line in lines]


@settings(max_examples=8)
@given(
    first=st.lists(st.sampled_from(["keeps bees", "likes tea", "sails"]), min_size=1, max_size=3, unique=True),
    add=st.lists(st.sampled_from(["uses Go", "likes tea", "rides"]), max_size=2),
    correct=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["keeps wild bees", "", "naps"])), max_size=2),
    retire=st.lists(st.integers(0, 4), max_size=3),
)
def test_notes_in_working_memory_are_in_the_store_already(
    first: list[str], add: list[str], correct: list[tuple[int, str]], retire: list[int]
) -> None:
    change = {
        "add": quoted(add),
        "correct": [{"line": line, "text": text, "quote": BEES} for line, text in correct],
        "retire": [{"line": line, "quote": BEES} for line in retire],
    }

    async def learn(path: Path) -> Witness:
        clock, witness = FakeClock(auto=True), Witness(path)
        async with open_database(path, clock) as database:
            bench = SubprocessBench(database, clock)
            await bench.open(DM, IN_DM)
            for answer in ({"add": quoted(first)}, change):
                await bench.say("U1", "hello", "hello to you", LEARNED)
                await bench.say("U1", BEES, "how lovely", LEARNED)
                bench.script(json.dumps(answer))
                await models_the_visitor(replace(bench.context(), emit=witness))
        return witness

    with template.folder() as folder:
        witness = asyncio.run(learn(Path(folder) / "memory.db"))
    assert witness.seen, "the first notes were kept"
    for memory, stored in witness.seen:
        in_mind = [line for one in memory.region(PERSON) for line in one.content.splitlines() if line.startswith("- ")]
        assert sorted(in_mind) == sorted(f"- {line}" for line in stored)


class Loud:
    def feed(self, piece: str) -> str:
        return piece.upper()

    def finish(self) -> str:
        return ""


def _read(reply: str) -> str:
    if "{" in reply:
        raise MalformedReply("it has a brace", reply=reply, hint="use no braces")
    return reply


LOUD = Step(name="loud", command="Shout.", read=_read, remember=lambda _: (), visible=Loud)

ENDS: list[Script] = [
    [END],
    [],
    [Completion("fake/one", stop="length")],
    [Completion("fake/one", stop="refusal")],
    [ModelUnavailable("reset")],
    [ModelRefused("no")],
    [MalformedReply("no", reply="")],
    [RuntimeError("a fault of ours")],
    ["x" * (READ_CAP + 1), "y", END],
]
answers = st.builds(lambda pieces, end: [*pieces, *end], st.lists(words, max_size=4), st.sampled_from(ENDS))


def head_that_keeps(*scripts: Script) -> Head:
    """A head whose model keeps references to its streams, so that garbage collection closes none of them."""
    h = head(*scripts)
    plain, streams = h.llm.stream, list[AsyncIterator[str | Completion]]()

    def stream(prompt: Prompt) -> AsyncIterator[str | Completion]:
        streams.append(plain(prompt))
        return streams[-1]

    h.llm.stream = stream  # type: ignore[method-assign]  # for this test alone
    return h


async def _close(h: Head, thought: Thought[str]) -> None:
    await anext(thought, None)
    await thought.aclose()


async def _cancel(h: Head, thought: Thought[str]) -> None:
    thinking = asyncio.ensure_future(thought.finished())
    await turns(3)
    thinking.cancel()
    await thinking


async def _chain(h: Head, thought: Thought[str]) -> None:
    async for _ in thought:
        pass
    memory, _ = await thought.finished()
    await h.mind.run(memory, LOUD)


async def _fail_while_listening(h: Head, thought: Thought[str]) -> None:
    async for _ in thought:
        raise ModelUnavailable("the speech failed")


async def _fail_but_close(h: Head, thought: Thought[str]) -> None:
    async with aclosing(thought):
        await _fail_while_listening(h, thought)


async def _abandon(h: Head, thought: Thought[str]) -> None:
    await anext(thought, None)


WayOut = Callable[[Head, Thought[str]], Awaitable[None]]
CAREFUL: tuple[WayOut, ...] = (_close, _cancel, _chain, _fail_but_close)
FORGETFUL: tuple[WayOut, ...] = (_abandon, _fail_while_listening)
"""Ways that neither finish nor close the thought; code that may fail in between uses `contextlib.aclosing`."""


@settings(max_examples=10)  # each looks for garbage in all that this process holds
@given(scripts=st.lists(answers, min_size=4, max_size=4), way=st.sampled_from(CAREFUL + FORGETFUL))
def test_the_models_stream_is_closed_and_recorded_on_every_way_out(scripts: list[Script], way: WayOut) -> None:
    async def think() -> None:
        h = head_that_keeps(*scripts)
        thought = h.mind.stream(MEMORY, LOUD)
        with suppress(ModelError, RuntimeError, asyncio.CancelledError):
            await way(h, thought)
        if way in FORGETFUL:
            del thought
            gc.collect()  # the loop closes a thought without references
            await turns(5)
        assert h.llm.closed == len(h.llm.prompts) == len(h.calls)

    asyncio.run(think())
