"""Nights with models that answer nonsense, refuse or are away: nothing is lost, nothing blocks, and the runs say so."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import ModelError, ModelRefused, ModelUnavailable, NoAccess
from daemon.core.ports.services import Completion, LLMCall, ModelRole, Prompt
from daemon.memory.database import Database
from daemon.memory.queues.jobs import LEARNS, Jobs, enqueue_job
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, shown
from tests.models import Reply, Script, ScriptedLLM
from tests.nights import EVERYBODY, GENERAL, PLAN, Nights
from tests.store.parts import look

SEEN = "SELECT part, object FROM consolidation_items WHERE seen_ms IS NOT NULL"
PARKED = "SELECT DISTINCT part FROM consolidation_items WHERE parked = 1 ORDER BY part"
KEPT = "SELECT id, text, trust, significance FROM records ORDER BY seq"
DONE = '{"same": [1]}'
BUSY = ModelUnavailable("the provider says 429", hint="wait", retry_after=1.0)


@pytest.fixture
def nights(database: Database, clock: FakeClock) -> Nights:
    return Nights(database, clock)


async def alike(nights: Nights, person: str = "U1") -> None:
    """Two lines about a person that only a model can compare."""
    await nights.knows(f"{person} likes green tea in the morning", person=person)
    await nights.knows(f"in the morning {person} likes to have green tea", person=person)


async def all_kinds(nights: Nights) -> None:
    """Something for each part that asks a model."""
    await alike(nights)
    for gate in range(8):
        await nights.visited(f"Ann mended gate {gate} of the dam")


async def test_a_useless_answer_changes_nothing_and_is_given_up_in_three_nights(nights: Nights, path: Path) -> None:
    await all_kinds(nights)
    before = look(path, KEPT)
    answers: tuple[Script, ...] = (
        "{}",
        '{"same": null, "claims": null}',
        '{"same": ["1"], "claims": ["Ann mended gates"]}',
        '{"same": [true], "claims": [{"text": null, "notes": null}]}',
        '{"same": [99], "claims": []}',
        json.dumps({"same": [1] * 1000}),
        "I would rather not say.",
        "[" * 1000,
        "",
        ModelRefused("it declined to answer", hint="no"),
    )
    for answer in answers:
        nights.llm.default = answer
        await nights.pass_one()
        [run] = await nights.runs()
        assert (run["state"], run["did"]) == ("failed", "{}"), answer
        assert all(part in str(run["error"]) for part in ("merges_facts: ", "distils: ")), answer
        assert (look(path, SEEN), look(path, PARKED)) == ([], []), answer
        assert "consolidation.done" in nights.events.names
        for _ in range(2):
            await nights.pass_one()
        assert look(path, PARKED) == [("distils",), ("merges_facts",)], answer
        asked = len(nights.llm.prompts)
        await nights.pass_one()
        assert len(nights.llm.prompts) == asked, answer
        assert (look(path, KEPT), look(path, SEEN)) == (before, []), answer
        assert look(path, "SELECT count(*) FROM facts WHERE valid_until_ms IS NOT NULL") == [(0,)], answer
        for table in ("consolidation_items", "consolidations"):  # as if none of it had been tried
            await nights.database.run(f"DELETE FROM {table}")


async def test_one_that_stumbles_is_counted_once_a_night_however_often_it_is_tried(nights: Nights, path: Path) -> None:
    await alike(nights)
    await nights.visited("Ann mended a gate")
    for gate in range(7):
        await nights.visited(f"Ann mended gate {gate}")

    async def answer(prompt: Prompt) -> Reply:
        return BUSY if prompt.step == "distil" else "{}"

    nights.llm.default = answer
    await nights.pass_one()
    for _ in range(2):
        await nights.clock.sleep(3600)
        await nights.daemon.look()
    assert [prompt.step for prompt in nights.llm.prompts].count("distil") == 3
    faults = look(path, "SELECT DISTINCT part, faults, parked FROM consolidation_items")
    assert faults == [("merges_facts", 1, 0)]


@pytest.mark.parametrize("trouble", [BUSY, NoAccess("the provider says 401 or 429", hint="check the key")])
async def test_a_provider_that_is_busy_or_closed_is_left_alone_after_three_calls_and_nothing_is_given_up(
    nights: Nights, path: Path, trouble: ModelError
) -> None:
    people = [f"U{number}" for number in range(1, 7)]
    for person in people:
        await alike(nights, person)
    nights.llm.default = trouble
    await nights.visited("Ann mended a gate")
    await nights.pass_one()
    assert len(nights.llm.prompts) == 3
    for _ in range(3):
        await nights.pass_one()
    [first, *_] = await nights.runs()
    assert (first["state"], first["did"]) == ("failed", "{}")
    assert "429" in str(first["error"])
    assert look(path, "SELECT * FROM consolidation_items WHERE faults > 0 OR parked = 1") == []
    nights.llm.default = DONE
    for _ in range(3):
        await nights.pass_one()
    assert len(await nights.standing()) == len(people)


async def test_lines_of_one_person_that_time_out_or_can_not_be_compared_stop_those_of_no_other(nights: Nights) -> None:
    for person in ("U1", "U2", "U3"):
        await alike(nights, person)

    async def answer(prompt: Prompt) -> Reply:
        return BUSY if "U1 likes" in shown(prompt) else "[" if "U2 likes" in shown(prompt) else DONE

    nights.llm.default = answer
    await nights.pass_one()
    assert len(await nights.standing()) == 5


async def test_a_model_that_fails_at_everything_is_asked_of_three_groups_a_night(nights: Nights) -> None:
    for number in range(5 * 8):
        await nights.visited(f"Ann mended gate {number}")
    nights.llm.default = '{"claims": []}'
    await nights.pass_one()
    assert [prompt.step for prompt in nights.llm.prompts] == ["distil"] * 3


async def test_a_night_whose_visits_used_up_the_budget_asks_no_more_and_the_next_goes_on(
    nights: Nights, database: Database, clock: FakeClock, path: Path
) -> None:
    jobs = Jobs(database, clock, Worker("worker-1", SOUL, TEAM, int(LEASE * 1000)))
    call = LLMCall(
        "t", ModelRole.THINKING, "close_episode", "scripted/test", 1, 1, "ok", tokens_in=4000, tokens_out=900
    )

    async def closes_a_visit() -> bool:
        await database.write(lambda one: enqueue_job(one, LEARNS[1], DM, 1, clock.now_ms()))
        job = await jobs.claim_next(LEARNS)
        assert job is not None
        await jobs.finish(job, (call,))
        return False

    nothing_to_learn = nights.learn
    await alike(nights)
    nights.plan = replace(PLAN, tokens=5_000)
    nights.llm = ScriptedLLM(default=DONE)
    await closes_a_visit()
    nights.learn = closes_a_visit
    await nights.pass_one()
    [run] = await nights.runs()
    assert (nights.llm.prompts, run["state"], run["did"]) == ([], "cut", "{}")
    assert run["error"] == "100 of 5000 tokens are left"
    nights.learn = nothing_to_learn
    await closes_a_visit()
    await nights.pass_one()
    assert [one["state"] for one in await nights.runs()] == ["cut", "done"]
    assert len(await nights.standing()) == 1
    assert look(path, "SELECT count(*) FROM llm_calls WHERE step = 'close_episode'") == [(3,)]


async def test_an_audience_for_which_nothing_was_left_of_the_budget_comes_first_the_next_night(nights: Nights) -> None:
    await alike(nights)
    for line in ("U1 likes black coffee in the evening", "in the evening U1 likes to have black coffee"):
        await nights.knows(line, audience=EVERYBODY, channel="C1", conversation=str(GENERAL))
    nights.llm = ScriptedLLM(default=DONE, usage=Completion("scripted/test", tokens_in=1_900, tokens_out=100))
    nights.plan = replace(PLAN, tokens=2_600)
    await nights.pass_one()
    assert sorted(str(one["state"]) for one in await nights.runs()) == ["cut", "done"]
    await nights.knows("U1 likes hot chocolate at noon")
    await nights.knows("at noon U1 likes to have hot chocolate")
    await nights.pass_one()
    assert "in the evening U1 likes to have black coffee" not in await nights.standing()
