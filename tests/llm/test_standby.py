"""Which second model stands by, for whom, and when the first one is passed over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from daemon.app.minds import with_models_of
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError, ModelUnavailable
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import ModelRole
from daemon.llm.answers import parse_model_id
from daemon.llm.resilience import FAILURES_TO_OPEN, PATIENCE_SECONDS, REST_SECONDS, TIMEOUTS_TO_OPEN, ResilientLLM
from daemon.llm.router import build_llm, choose_standby
from daemon.mind.cognition import Mind
from daemon.soul.field_types import Models
from tests.fakes import Events, FakeClock
from tests.given import soul
from tests.llm.guarding import turn_until_done
from tests.llm.prompts import answer, prompt
from tests.llm.providers import KEY, Answer, AnthropicServer, Ending, OpenAIServer

DM, ROOM, ALL = (Audience(kind, "1") for kind in (AudienceKind.DM, AudienceKind.CHANNEL, AudienceKind.WORKSPACE))
FIRST, SECOND = "anthropic/one", "openai/two"
OVERLOADED = Answer(status=529, kind="overloaded_error", headers={"retry-after": "60"})


def llm_of(claude: AnthropicServer, gpt: OpenAIServer, clock: FakeClock, events: Events, second: str) -> ResilientLLM:
    settings = load_settings(
        anthropic_api_key=KEY,
        anthropic_base_url=claude.url,
        openai_api_key=KEY,
        openai_base_url=gpt.url,
        persona_model=FIRST,
        persona_standby=second,
        standby_dm="OpenAI, groq",
    )
    return build_llm(settings, clock, events)


@pytest.fixture
async def llm(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock, events: Events
) -> AsyncIterator[ResilientLLM]:
    async with aclosing(llm_of(anthropic_server, openai_server, clock, events, SECOND)) as made:
        yield made


def allowed(persona: str, standby: str, *vendors: str, audience: Audience | None = DM) -> bool:
    settings = load_settings(
        persona_standby=standby, standby_dm=vendors, openai_api_key=KEY, anthropic_api_key=KEY, openrouter_api_key=KEY
    )
    return choose_standby(settings).model_for(ModelRole.PERSONA, parse_model_id(persona), audience) is not None


def test_a_vendor_stands_in_only_where_it_is_allowed_and_a_wrong_setting_is_told_before_any_call() -> None:
    for persona, standby, vendors, may in (
        (FIRST, SECOND, (), False),
        (FIRST, SECOND, ("groq",), False),
        (FIRST, SECOND, ("openai",), True),
        (FIRST, "anthropic/other", (), True),
        (FIRST, FIRST, ("anthropic",), False),
        ("maker/a", "other/b", (), False),
        ("maker/a", "other/b", ("openrouter",), True),
        (FIRST, "ollama/local", (), False),
        (FIRST, "", ("openai",), False),
    ):
        assert allowed(persona, standby, *vendors) is may, (persona, standby, vendors)
    for audience in (None, ROOM, ALL, Audience(AudienceKind.OPERATOR, "")):
        assert not allowed(FIRST, SECOND, "openai", audience=audience), "an audience without a list allows nobody"
    for key, name, value, said in (
        (None, "persona_standby", "openai/x", "openai/x needs a key, and OPENAI_API_KEY"),
        (KEY, "persona_standby", "placeholder/echo", "placeholder/echo can't stand by"),
        (KEY, "standby_channel", "openai, opanai", "SOUL_STANDBY_CHANNEL names 'opanai'"),
        (KEY, "standby_workspace", "placeholder", "SOUL_STANDBY_WORKSPACE names 'placeholder'"),
    ):
        with pytest.raises(ConfigError, match=said):
            build_llm(load_settings(openai_api_key=key, **{name: value}), FakeClock(), Events())


def test_the_second_one_that_speaks_also_thinks_unless_the_settings_or_a_soul_name_another() -> None:
    settings = load_settings(persona_standby="ollama/a", thinking_standby="", standby_dm="ollama")
    assert choose_standby(settings).models[ModelRole.THINKING].full == "ollama/a"
    settings = load_settings(persona_standby="ollama/a", thinking_standby="ollama/b")
    assert choose_standby(settings).models[ModelRole.THINKING].full == "ollama/b"
    settings = load_settings(persona_standby="ollama/a", thinking_standby="ollama/b")
    own = soul().model_copy(update={"models": Models(persona_standby="ollama/c")})
    chosen = choose_standby(with_models_of(settings, own)).models
    assert [chosen[role].full for role in ModelRole] == ["ollama/c", "ollama/b"]


async def test_a_model_that_is_down_is_passed_over_until_one_probe_finds_it_well(
    llm: ResilientLLM, anthropic_server: AnthropicServer, clock: FakeClock, events: Events
) -> None:
    anthropic_server.usual = OVERLOADED
    assert llm.candidates(ModelRole.PERSONA, DM) == (FIRST, SECOND)
    assert llm.candidates(ModelRole.PERSONA, ROOM) == (FIRST,)
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ModelUnavailable):
            await answer(llm, prompt(model=FIRST, standby=True))
    assert len(anthropic_server.asked) == FAILURES_TO_OPEN, "no retry: it asked for more patience than there is"
    assert llm.candidates(ModelRole.PERSONA, DM) == (SECOND,)
    assert llm.candidates(ModelRole.PERSONA, ROOM) == (FIRST,), (
        "where nobody else may be asked, it says that it is down"
    )
    mixed = Mind(llm, lambda *_: prompt(), clock, lambda _: None, lambda _: None, "t", audience=DM, rooms=(ROOM,))
    assert mixed.models(ModelRole.PERSONA) == (FIRST,), "a DM that may hold a private channel's words"
    assert (await answer(llm, prompt(model=SECOND)))[1].model == SECOND
    anthropic_server.usual = Answer()
    await clock.advance(2 * REST_SECONDS)
    assert llm.candidates(ModelRole.PERSONA, DM) == (FIRST, SECOND)
    assert (await answer(llm, prompt(model=FIRST, standby=True)))[1].model == FIRST
    assert events.names[-1] == "llm.circuit_closed"


async def test_with_another_standing_by_a_failing_model_is_given_up_within_seconds(
    llm: ResilientLLM, anthropic_server: AnthropicServer, clock: FakeClock
) -> None:
    anthropic_server.usual = Answer(status=503, headers={"retry-after": str(PATIENCE_SECONDS)})
    with pytest.raises(ModelUnavailable):
        await answer(llm, prompt(standby=True))
    assert len(anthropic_server.asked) == 1
    anthropic_server.script.append(anthropic_server.usual)
    anthropic_server.usual = Answer()
    call = asyncio.ensure_future(answer(llm, prompt()))
    await turn_until_done(clock, call)
    assert (await call)[0] == "one two three", "alone it is worth waiting for"


async def test_a_second_model_of_the_same_vendor_is_asked_while_the_first_is_down(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock, events: Events
) -> None:
    llm = llm_of(anthropic_server, openai_server, clock, events, "anthropic/smaller")
    anthropic_server.script.extend([OVERLOADED] * FAILURES_TO_OPEN)
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ModelUnavailable):
            await answer(llm, prompt(standby=True))
    assert llm.candidates(ModelRole.PERSONA, DM) == ("anthropic/smaller",)
    assert (await answer(llm, prompt(model="anthropic/smaller")))[0] == "one two three"
    assert anthropic_server.asked[-1].body["model"] == "smaller"
    await llm.aclose()


async def test_a_silent_model_is_given_up_once_and_three_silences_pass_it_over(
    llm: ResilientLLM, anthropic_server: AnthropicServer, clock: FakeClock
) -> None:
    await answer(llm, prompt(model=FIRST))
    anthropic_server.usual = Answer((), ending=Ending.SILENT)
    for number in range(1, TIMEOUTS_TO_OPEN + 1):
        anthropic_server.arrived.clear()
        call = asyncio.ensure_future(answer(llm, prompt(model=FIRST, standby=True)))
        await anthropic_server.arrived.wait()
        await turn_until_done(clock, call)
        with pytest.raises(ModelUnavailable, match="was silent for 45 seconds"):
            await call
        assert len(anthropic_server.asked) == number + 1, "no second silence before the other model is asked"
    assert llm.candidates(ModelRole.PERSONA, DM) == (SECOND,)
