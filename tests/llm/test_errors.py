"""Errors inside a stream and below the SDKs become our two model errors."""

from collections.abc import AsyncIterator

import pytest

from daemon.core.bounded_http import MAX_RESPONSE_BYTES
from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.llm.circuit import REST_SECONDS, Circuit
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import answer, prompt
from tests.llm.providers import KEY, Answer, AnthropicServer, OpenAIServer


@pytest.fixture
async def claude(anthropic_server: AnthropicServer, clock: FakeClock) -> AsyncIterator[Router]:
    router = Router(settings_for(anthropic_server), clock)
    yield router
    await router.aclose()


@pytest.fixture
async def gpt(openai_server: OpenAIServer, clock: FakeClock) -> AsyncIterator[Router]:
    router = Router(settings_for(openai_server), clock)
    yield router
    await router.aclose()


def claude_event(kind: str, message: str = "bad") -> Answer:
    return Answer(raw=f'event: error\ndata: {{"error": {{"type": "{kind}", "message": "{message}"}}}}\n\n'.encode())


def gpt_event(code: str, message: str = "bad") -> Answer:
    return Answer(raw=f'data: {{"error": {{"code": {code}, "message": "{message}"}}}}\n\n'.encode())


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error", "timeout_error", "new_error"])
async def test_a_passing_event_of_claudes_is_unavailable(
    claude: Router, anthropic_server: AnthropicServer, kind: str
) -> None:
    anthropic_server.script.append(claude_event(kind))
    with pytest.raises(ModelUnavailable):
        await answer(claude, prompt())


async def test_a_permanent_event_of_claudes_is_a_refusal_with_its_message(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    anthropic_server.script.append(claude_event("invalid_request_error", "messages: too odd"))
    with pytest.raises(ModelRefused, match="messages: too odd"):
        await answer(claude, prompt())


async def test_a_message_that_repeats_the_key_is_left_out(claude: Router, anthropic_server: AnthropicServer) -> None:
    anthropic_server.script.append(claude_event("invalid_request_error", f"see {KEY}"))
    with pytest.raises(ModelRefused) as caught:
        await answer(claude, prompt())
    assert "see" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("code", ["502", "429", '"server_error"', "null", "7"])
async def test_a_passing_event_of_a_models_host_is_unavailable(
    gpt: Router, openai_server: OpenAIServer, code: str
) -> None:
    openai_server.script.append(gpt_event(code))
    with pytest.raises(ModelUnavailable):
        await answer(gpt, prompt())


async def test_an_event_with_a_permanent_status_is_a_refusal(gpt: Router, openai_server: OpenAIServer) -> None:
    openai_server.script.append(gpt_event("403"))
    with pytest.raises(ModelRefused):
        await answer(gpt, prompt())


async def test_an_endless_error_body_is_not_read_to_its_end(gpt: Router, openai_server: OpenAIServer) -> None:
    openai_server.script.append(Answer(status=500, message="x" * (MAX_RESPONSE_BYTES + 1)))
    with pytest.raises(ModelUnavailable):
        await answer(gpt, prompt())


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://127.0.0.1:0", "https://not a host/"])
async def test_an_unreachable_address_is_named_by_its_variable(url: str, openai_server: OpenAIServer) -> None:
    router = Router(settings_for(openai_server, openai_base_url=url), FakeClock())
    with pytest.raises(ModelUnavailable) as caught:
        await answer(router, prompt())
    assert "OPENAI_BASE_URL" in caught.value.hint
    await router.aclose()


async def test_for_an_ollama_that_is_not_running_the_hint_says_how_to_start_it(openai_server: OpenAIServer) -> None:
    settings = settings_for(openai_server, persona_model="ollama/x", ollama_url="http://127.0.0.1:9/v1")
    router = Router(settings, FakeClock())
    with pytest.raises(ModelUnavailable) as caught:
        await answer(router, prompt())
    assert "ollama serve" in caught.value.hint
    await router.aclose()


def test_a_call_from_before_the_circuit_opened_does_not_count() -> None:
    circuit = Circuit("vendor")
    early = circuit.admit(0)
    for _ in range(5):
        circuit.failed(circuit.admit(0), 0)
    assert not circuit.failed(early, REST_SECONDS - 1)
    assert circuit.admit(REST_SECONDS).probe
