"""A model fails and the talk goes on: a second one answers where its vendor may have the words, and nowhere else."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from daemon.llm.resilience import FAILURES_TO_OPEN, REST_SECONDS
from daemon.llm.router import build_llm
from tests.fakes import Events
from tests.given import OPENING, tagged
from tests.journeys.house import House
from tests.journeys.two_vendors import FIRST, SECOND, two_vendors
from tests.llm.providers import Answer, AnthropicServer, Ending, OpenAIServer

DOWN = Answer(status=529, kind="overloaded_error", message="Overloaded", headers={"retry-after": "60"})
HIDDEN = OPENING.partition("<external_dialogue")[0]


@dataclass
class Models:
    """The two vendors, each on loopback, and the daemon's house."""

    claude: AnthropicServer
    gpt: OpenAIServer
    house: House

    async def models_of_replies(self) -> list[str]:
        """The model on each turn of the soul, oldest first."""
        rows = await self.house.rows("SELECT model FROM turns WHERE speaker = 'soul' ORDER BY seq")
        return [row["model"] for row in rows]

    async def beat(self) -> None:
        """Wait for the daemon's next heartbeat, which says how it does."""
        seen = len(self.house.events.named("heartbeat"))
        self.house.clock.turn(10.1)
        await self.house.events.until("heartbeat", seen + 1)


@pytest.fixture
async def models(empty_house: House) -> AsyncIterator[Models]:
    """A daemon whose second model may have the words of direct messages and of public channels."""
    async with AsyncExitStack() as stack:
        vendors = await stack.enter_async_context(two_vendors())
        claude, gpt = vendors.claude, vendors.gpt
        claude.usual, gpt.usual = Answer((tagged("Claude here."),)), Answer((tagged("The other one here."),))
        standing_by = {"persona_standby": SECOND, "standby_dm": ("openai",), "standby_workspace": ("openai",)}
        served = vendors.settings | standing_by
        llm = build_llm(empty_house.settings.model_copy(update=served), empty_house.clock, Events())
        stack.push_async_callback(llm.aclose)
        await empty_house.start(llm)
        yield Models(claude, gpt, empty_house)


@pytest.mark.slow
async def test_the_talk_goes_on_with_the_second_model_and_returns_to_the_first(models: Models) -> None:
    house = models.house
    models.claude.usual = DOWN
    for number in range(FAILURES_TO_OPEN + 1):
        assert await house.answered("Ada", "dm", f"hello {number}") == "The other one here."
    assert len(models.claude.asked) == FAILURES_TO_OPEN, "then it is passed over"
    asked = models.gpt.asked[-1].body
    assert asked["messages"][0]["role"] == "system", "the prompt speaks the second vendor's protocol"
    assert "external_dialogue" in asked["messages"][0]["content"]
    assert set(await models.models_of_replies()) == {SECOND}
    assert SECOND in await house.command("mind", "trace", "minoan")
    await models.beat()
    assert f"{SECOND} answers instead" in await house.command("status")
    assert f"{SECOND} answers instead" in await house.command("doctor", "--offline")
    models.claude.usual = Answer((tagged("Claude here."),))
    house.clock.turn(2 * REST_SECONDS)
    assert await house.answered("Ada", "dm", "and now?") == "Claude here."
    assert (await models.models_of_replies())[-1] == FIRST
    await models.beat()
    assert "answers instead" not in await house.command("status")


async def test_private_words_go_to_no_vendor_that_is_not_allowed_for_them(models: Models) -> None:
    models.claude.usual = Answer(status=403, kind="permission_error")
    await models.house.people.add_channel("leads", kind="group", members=["Ada"])
    reply = await models.house.answered("Ada", "leads", "@soul this stays among us")
    assert reply.startswith("I'm sorry")
    assert models.gpt.asked == []
    assert await models.house.answered("Ada", "general", "@soul hello") == "The other one here."


async def test_a_refusal_and_an_unseen_break_are_answered_by_the_second_model(models: Models) -> None:
    for number, answer in enumerate(
        (
            Answer((), stop="refusal"),
            Answer((HIDDEN,), stop="refusal"),
            Answer((HIDDEN,), ending=Ending.CUT),
            Answer((HIDDEN,), ending=Ending.ERROR_EVENT),
            Answer(status=401, kind="authentication_error", message="invalid x-api-key"),
            Answer(status=400, kind="invalid_request_error", message="Your credit balance is too low"),
            Answer(status=404, kind="not_found_error", message="model: gone"),
        )
    ):
        asked = len(models.claude.asked)
        models.claude.usual = answer
        assert await models.house.answered("Ada", "dm", f"hello {number}") == "The other one here.", answer
        assert len(models.claude.asked) > asked, answer
        models.house.clock.turn(2 * REST_SECONDS)
