"""A single step has a model of its own: it answers, it is counted, and the model of its part stands by for it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from daemon.app.minds import with_models_of
from daemon.cli.checks import Premises, Verdict
from daemon.cli.checks.mind import step_models
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ConfigError
from daemon.llm.router import build_llm, choose_step_models
from daemon.mind.extended_steps import STEPS
from daemon.soul.field_types import Models
from tests.fakes import Events, FakeClock
from tests.given import soul, tagged
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.two_vendors import FIRST as PART
from tests.journeys.two_vendors import SECOND as OWN
from tests.journeys.two_vendors import two_vendors
from tests.llm.providers import KEY, Answer, AnthropicServer, OpenAIServer
from tests.unit.every_step import FAMILY

CALLS = "SELECT step, model, outcome FROM llm_calls ORDER BY seq"


@dataclass
class Vendors:
    """The part's vendor and the step's, each on loopback, and the house."""

    claude: AnthropicServer
    gpt: OpenAIServer
    house: House

    async def calls(self) -> list[tuple[str, str, str]]:
        """The step, the model and the outcome of each call, oldest first."""
        return [(row["step"], row["model"], row["outcome"]) for row in await self.house.rows(CALLS)]


@pytest.fixture
async def vendors(empty_house: House) -> AsyncIterator[Vendors]:
    """A daemon that speaks with one model, and has another for the step `respond`. DMs may go to no other vendor."""
    name = write_soul(empty_house.settings.home, more=f'[models.steps]\nrespond = "{OWN}"\n')
    async with AsyncExitStack() as stack:
        both = await stack.enter_async_context(two_vendors())
        claude, gpt = both.claude, both.gpt
        claude.usual, gpt.usual = Answer((tagged("The part here."),)), Answer((tagged("The step here."),))
        empty_house.settings = empty_house.settings.model_copy(update=both.settings | {"name": name})
        own = soul().model_copy(update={"models": Models(steps=(("respond", OWN),))})
        llm = build_llm(with_models_of(empty_house.settings, own), empty_house.clock, Events())
        stack.push_async_callback(llm.aclose)
        await empty_house.start(llm)
        yield Vendors(claude, gpt, empty_house)


async def test_one_step_is_answered_by_its_own_model_and_its_cost_counts_by_step_and_model(vendors: Vendors) -> None:
    house = vendors.house
    assert await house.answered("Ada", "dm", "hello") == "The step here."
    await house.idle()
    calls = await vendors.calls()
    assert {model for step, model, _ in calls if step == "respond"} == {OWN}
    assert {model for step, model, _ in calls if step != "respond"} <= {PART}
    by_model = {one["key"]: one["calls"] for one in json.loads(await house.command("costs", "--by", "model", "--json"))}
    assert by_model[OWN] == len([step for step, *_ in calls if step == "respond"])
    assert not house.events.named("model.stood_in"), "it is its own first"


async def test_where_it_is_down_the_model_of_the_part_answers(vendors: Vendors) -> None:
    vendors.gpt.usual = Answer(status=503, kind="server_error", message="Overloaded")
    assert await vendors.house.answered("Ada", "dm", "hello") == "The part here."
    await vendors.house.idle()
    stood = await vendors.house.events.until("model.stood_in")
    assert (stood["instead_of"], stood["model"], stood["step"]) == (OWN, PART, "respond")
    outcomes = [(model, outcome) for step, model, outcome in await vendors.calls() if step == "respond"]
    assert outcomes[-1] == (PART, "ok")


def test_a_soul_says_it_before_the_settings_and_other_steps_keep_the_settings() -> None:
    settings = load_settings(step_models="feel=groq/a, respond=ollama/b", groq_api_key=KEY, openai_api_key=KEY)
    own = soul().model_copy(update={"models": Models(steps=(("respond", OWN),))})
    assert choose_step_models(with_models_of(settings, own)) == {"feel": "groq/a", "respond": OWN}


def test_what_is_no_step_or_has_no_key_is_one_sentence_at_the_start_and_of_the_doctor() -> None:
    for given, why in (
        ("feel", "names no step and model"),
        ("=groq/a", "there is no cognitive step ''"),
        ("feel=", "names no step and model"),
        ("feels=ollama/a", "there is no cognitive step 'feels'"),
        ("feel=groq/a", "GROQ_API_KEY"),
    ):
        settings = load_settings(step_models=given)
        with pytest.raises(ConfigError) as fault:
            build_llm(with_models_of(settings, soul()), FakeClock(), Events())
        assert why in f"{fault.value.message} {fault.value.hint}", given
        (finding,) = step_models(Premises(settings))
        assert finding.verdict is Verdict.FAIL, given
        assert why in f"{finding.found} {finding.fix}", given


def test_the_doctor_names_each_step_with_a_model_of_its_own() -> None:
    settings: Settings = load_settings(step_models="feel=ollama/a,decision=openai/unheard-of", openai_api_key=KEY)
    found = {
        one.found.partition(" answers the step ")[2].partition(";")[0]: one for one in step_models(Premises(settings))
    }
    assert {name: one.verdict for name, one in found.items()} == {"feel": Verdict.OK, "decision": Verdict.WARN}


async def test_what_is_no_model_in_a_souls_file_is_named_with_its_line(empty_house: House) -> None:
    for models in ("respond = 7", 'respond = ""', '"respond" = ["a"]'):
        write_soul(empty_house.settings.home, more=f"[models.steps]\n{models}\n")
        said = await empty_house.command("doctor", "--offline", fails=True, env={"SOUL_NAME": "tess"})
        assert "respond must be the prefixed id of a model" in said, models


def test_the_names_are_those_of_the_steps() -> None:
    assert set(STEPS) == FAMILY
