"""Open Souls' cognitive steps, row by row, with the faults of their streams that must not occur here."""

import asyncio

from msgspec.structs import replace

from daemon.core.working_memory import Role, WorkingMemory, thought
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.instruction import instruction
from daemon.soul_engine import PERSONALITY, begin, build_prompt
from tests.given import soul
from tests.unit.thinking import END, MEMORY, head, listen

SAY = external_dialog(soul(), "Greet.")
PREFIXED = 'Kothar said: "Hello, Ada."'


def contents(memory: WorkingMemory) -> list[str]:
    return [one.content for one in memory]


async def test_a_streamed_step_gives_text_at_once_and_the_value_later() -> None:
    gate = asyncio.Event()
    thought = head(["Hello, ", gate, "Ada.", END]).mind.stream(MEMORY, SAY)
    assert await anext(thought) == "Hello,"
    gate.set()
    assert await thought.finished() == (MEMORY.concat(SAY.remember("Hello, Ada.")), "Hello, Ada.")


async def test_a_command_may_be_a_function_of_the_memory() -> None:
    step = replace(SAY, command=lambda memory: f"Greet for the {len(memory)}st time.")
    h = head(["Hello.", END])
    await h.mind.run(MEMORY, step)
    assert "Greet for the 1st time." in h.llm.prompts[0].messages[-1].text


async def test_finished_comes_after_the_reply_was_read() -> None:
    read: list[str] = []

    def reading(answer: str) -> str:
        read.append(answer)
        return answer

    thought = head(["a", "b", END]).mind.stream(MEMORY, replace(SAY, read=reading))
    memory, _ = await thought.finished()
    assert read == ["ab"]
    assert memory.at(-1).content == "ab"


async def test_instruction_keeps_its_result() -> None:
    memory, result = await head(["Three.", END]).mind.run(MEMORY, instruction("Count the words.", name="Kothar"))
    assert result == memory.at(-1).content == "Three."
    assert memory.at(-1).role is Role.ASSISTANT


# -- faults not inherited ---------------------------------------------------------------------------------------------


async def test_a_memory_derived_from_a_streaming_thought_keeps_its_text() -> None:
    greeting = head(["Hel", "lo.", END]).mind.stream(MEMORY, SAY)
    assert await anext(greeting) == "Hel"
    memory, _ = await greeting.finished()
    assert contents(memory.with_memory(thought("hm"))) == ["hello", "Hello.", "hm"]


async def test_a_streamed_reply_is_remembered_whole() -> None:
    greeting = head([*"Hello, Ada.", END]).mind.stream(MEMORY, SAY)
    shown = "".join(await listen(greeting))
    memory, _ = await greeting.finished()
    assert shown == memory.at(-1).content == "Hello, Ada."


async def test_a_souls_name_is_no_pattern() -> None:
    for name in ("K.thar (2)", "[x]*", "a|b", "$^\\"):
        step = external_dialog(soul(name), "Greet.")
        for pieces in ([f'{name} said: "Hi."'], [*f'{name} said: "Hi."']):
            assert "".join(await listen(head([*pieces, END]).mind.stream(MEMORY, step))) == "Hi."
    assert external_dialog(soul("a|b"), "Greet.").read('a said: "Hi."') == 'a said: "Hi."'


def test_the_personality_stands_in_memory_once() -> None:
    memory = begin(soul())
    again = memory.with_region(PERSONALITY, *memory.region(PERSONALITY))
    assert again == memory
    prompt = build_prompt(again.concat(MEMORY), SAY, budgets=soul().budgets, nonce="n")
    assert sum(part.text.count("You are Kothar.") for part in prompt.system) == 1
