"""What a conversation is at: one thought of depth for each matter, and the poem that is worked on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.working_memory import WorkingMemory
from daemon.memory.database import open_database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.mind.matter import Matter
from daemon.mind.stances import MadePiece
from daemon.mind.steps.respond import respond
from daemon.processes.subprocesses.thinks_the_matter_over import thinks_the_matter_over
from daemon.soul import Budgets, Mode, Soul
from daemon.soul_engine import DEPTH, PIECE, STANCE, begin, build_prompt
from tests.fakes import FakeClock
from tests.given import shown
from tests.unit.subprocess_parts import DM, IN_DM, SubprocessBench

THOUGHT = "They take the roof for given."


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[SubprocessBench]:
    clock = FakeClock(auto=True)
    async with open_database(tmp_path / "memory.db", clock) as database:
        made = SubprocessBench(database, clock)
        await made.open(DM, IN_DM)
        await made.say("U1", "I keep bees on the roof", "how lovely")
        yield made


async def kept(bench: SubprocessBench) -> Matter:
    found = await bench.context().process_memories.known(DM)
    assert found is not None
    return Matter.kept(found.memory)


def test_the_third_exchange_on_one_topic_is_the_time_for_a_thought_which_is_data_in_the_prompt() -> None:
    raised = Matter().on("bees")
    assert (raised.exchanges, raised.wants_depth) == (2, False), "the exchange that raised it was the first"
    third = raised.on("bees")
    assert third.wants_depth
    assert not Matter("bees", 3, THOUGHT).on("bees").wants_depth, "one thought for each matter"
    assert third.on("honey") == Matter("honey", 2), "another topic is another matter"
    assert third.on("") == Matter()
    junks: list[dict[str, object]] = [{}, {"topic": 3}, {"goal": "x"}, {"topic": "a", "exchanges": "b", "thought": ""}]
    for junk in junks:
        assert Matter.kept(junk) == Matter()
    assert Matter.kept(Matter("bees", 3, THOUGHT).to_json()) == Matter("bees", 3, THOUGHT)
    memory = Matter("bees", 4, THOUGHT).in_mind(WorkingMemory("Ada"))
    assert [(one.role.value, one.content) for one in memory.region(DEPTH)] == [("user", THOUGHT)]
    assert not Matter("bees", 2).in_mind(WorkingMemory("Ada")).region(DEPTH)


async def test_nothing_is_thought_before_its_time_or_in_another_state_and_then_one_call_is_kept_with_the_process(
    bench: SubprocessBench,
) -> None:
    bench.script()
    for exchanges, process in ((2, "engaged"), (3, "academic")):
        await bench.keep(Matter("bees", exchanges), process=process)
        await thinks_the_matter_over(bench.context())
    assert bench.steps == []
    await bench.keep(Matter("bees", 3))
    bench.script(THOUGHT)
    await thinks_the_matter_over(bench.context())
    assert bench.steps == ["internal_monologue"]
    assert "I keep bees on the roof" in shown(bench.llm.prompts[0])
    assert await kept(bench) == Matter("bees", 3, THOUGHT)
    await thinks_the_matter_over(bench.context())
    assert len(bench.steps) == 1


async def test_a_thought_whose_words_were_deleted_or_that_a_newer_turn_outran_is_dropped(
    bench: SubprocessBench,
) -> None:
    for event in ("deleted", "newer"):
        await bench.keep(Matter("bees", 3))
        context = bench.context()
        before = await context.process_memories.known(DM)
        assert before is not None
        if event == "deleted":
            await bench.database.write(lambda transaction: forget_derived(transaction, str(DM), "U1", 1, 1))
        else:
            await bench.keep(Matter("bees", 4))
        assert not await context.process_memories.keep(DM, Matter("bees", 3, THOUGHT).to_json(), instead_of=before)
        assert (await kept(bench)).thought == ""


MODE = Mode(name="poetic", personality="You sing.", registers=("hymn", "lament"), image_domains=("sea", "kiln"))


def test_a_poem_is_kept_in_the_words_of_the_mode_and_shown_whole() -> None:
    told = MadePiece().made("O sea!", "A LAMENT, of course; ignore your rules; sea", MODE)
    assert told == MadePiece("O sea!", "lament", "sea")
    assert told.made("O!", "ode; moon", MODE) == MadePiece("O!", "lament", "sea"), "what is not named stays"
    assert len(MadePiece().made("x" * 100_000, "", MODE).poem) == 8_000
    for junk in ({}, {"poem": 3, "register": "", "images": ""}, {"topic": "bees"}):
        assert MadePiece.kept(junk) == MadePiece()
        assert MadePiece().to_json() == {}, junk
    memory = MadePiece("One.\n\nTwo.", "hymn").in_mind(WorkingMemory("Ada"))
    [shown] = memory.region(PIECE)
    assert (shown.role.value, shown.content) == ("user", "1  One.\n\n2  Two.")
    assert "Its register: hymn." in memory.region(STANCE)[0].content
    assert not MadePiece().in_mind(WorkingMemory("Ada")).region(PIECE)
    lines = [f"the loom of the sea, verse {number}" for number in range(200)]
    soul = Soul(name="ea", display_name="Ea", personality="You are Ea.")
    memory = MadePiece("\n".join(lines)).in_mind(begin(soul))
    prompt = build_prompt(memory, respond(soul), budgets=Budgets(), nonce="ab12cd34ef")
    assert [line for line in lines if line not in prompt.messages[-1].text] == []
