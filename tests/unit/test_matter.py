"""One thought of depth for each matter: when it is due, what it costs, where it is kept, and when it is dropped."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.working_memory import WorkingMemory
from daemon.memory.database import open_database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.mind.matter import Matter
from daemon.processes.subprocesses.thinks_the_matter_over import thinks_the_matter_over
from daemon.soul_engine import DEPTH
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
