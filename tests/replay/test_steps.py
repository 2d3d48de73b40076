"""Open Souls' cognitive steps, row by row, with the faults of their streams that must not occur here."""

import asyncio
from dataclasses import replace

import pytest

from daemon.core.errors import MalformedReply
from daemon.core.ports import ModelRole
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role, WorkingMemory, thought
from daemon.mind.steps.brainstorm import brainstorm
from daemon.mind.steps.decision import decision
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.instruction import instruction
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.summarize import summarize, turns_to_summarize
from daemon.soul_engine import PERSONALITY, begin, build_prompt
from tests.unit.every_step import soul
from tests.unit.thinking import END, MEMORY, head, listen

SAY = external_dialog(soul(), "Greet.")
PREFIXED = 'Kothar said: "Hello, Ada."'


def contents(memory: WorkingMemory) -> list[str]:
    return [one.content for one in memory]


async def test_a_step_gives_a_new_memory_and_a_value() -> None:
    memory, value = await head(["Hello.", END]).mind.run(MEMORY, SAY)
    assert value == "Hello."
    assert contents(memory) == ["hello", "Hello."]
    assert contents(MEMORY) == ["hello"]


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


async def test_a_stream_processor_decides_what_comes_out() -> None:
    thought = head([PREFIXED, END]).mind.stream(MEMORY, SAY)
    assert "".join(await listen(thought)) == "Hello, Ada."
    silent = head([PREFIXED, END]).mind.stream(MEMORY, replace(SAY, visible=None))
    assert await listen(silent) == []


async def test_the_command_is_not_kept() -> None:
    memory, _ = await head(["Hello.", END]).mind.run(MEMORY, SAY)
    assert not any("Greet." in one.content for one in memory)


async def test_only_what_the_step_remembers_is_appended() -> None:
    kept = (Memory(Role.ASSISTANT, "one"), Memory(Role.SYSTEM, "two", region="notes"))
    step = Step(name="s", command="S", read=str.strip, remember=lambda _: kept)
    memory, _ = await head(["a long answer", END]).mind.run(MEMORY, step)
    assert sorted(contents(memory)) == ["hello", "one", "two"]


async def test_a_reply_with_a_schema_is_parsed_and_validated() -> None:
    _, value = await head(['```json\n{"choice": "tea"}\n```', END]).mind.run(MEMORY, decision("?", ["tea", "ale"]))
    assert value == "tea"
    with pytest.raises(MalformedReply):
        await head(['{"choice": 1}', END], ["{}", END]).mind.run(MEMORY, decision("?", ["tea", "ale"]))


async def test_finished_comes_after_the_reply_was_read() -> None:
    read: list[str] = []

    def reading(answer: str) -> str:
        read.append(answer)
        return answer

    thought = head(["a", "b", END]).mind.stream(MEMORY, replace(SAY, read=reading))
    memory, _ = await thought.finished()
    assert read == ["ab"]
    assert memory.at(-1).content == "ab"


async def test_a_prefix_is_stripped_from_a_whole_reply() -> None:
    assert (await head([PREFIXED, END]).mind.run(MEMORY, SAY))[1] == "Hello, Ada."


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 21])
async def test_a_prefix_is_stripped_from_a_stream(size: int) -> None:
    pieces = [PREFIXED[at : at + size] for at in range(0, len(PREFIXED), size)]
    assert "".join(await listen(head([*pieces, END]).mind.stream(MEMORY, SAY))) == "Hello, Ada."


async def test_external_dialog_says() -> None:
    memory, _ = await head(["Hello.", END]).mind.run(MEMORY, SAY)
    assert memory.at(-1) == Memory(Role.ASSISTANT, "Hello.", name="Kothar", metadata={"verb": "said"})
    assert SAY.role is ModelRole.PERSONA


async def test_internal_monologue_thinks() -> None:
    memory, thought = await head(["So.", END]).mind.run(MEMORY, internal_monologue("Kothar", "Think."))
    assert thought == "So."
    assert memory.at(-1).metadata == {"kind": "thought", "verb": "thought"}


async def test_mental_query_gives_a_boolean() -> None:
    for answer, value in (('{"true": true}', True), ('{"true": false}', False)):
        assert (await head([answer, END]).mind.run(MEMORY, mental_query("It rains")))[1] is value


async def test_decision_gives_one_of_the_choices() -> None:
    step = decision("What?", ["tea", "ale"])
    _, value = await head(['{"choice": "mead"}', END], ['{"choice": "ale"}', END]).mind.run(MEMORY, step)
    assert value == "ale"


async def test_brainstorm_gives_a_list() -> None:
    assert (await head(['{"ideas": ["a", "b"]}', END]).mind.run(MEMORY, brainstorm("Names")))[1] == ("a", "b")


async def test_instruction_keeps_its_result() -> None:
    memory, result = await head(["Three.", END]).mind.run(MEMORY, instruction("Count the words.", name="Kothar"))
    assert result == memory.at(-1).content == "Three."
    assert memory.at(-1).role is Role.ASSISTANT


async def test_summarize_gives_a_summary() -> None:
    h = head(["They met.", END])
    _, summary = await h.mind.run(
        turns_to_summarize("Kothar", "", [Memory(Role.USER, "hi", name="Ada")]), summarize("Kothar")
    )
    assert summary == "They met."
    assert "Ada: hi" in h.llm.prompts[0].messages[0].text


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
