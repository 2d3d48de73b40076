"""Errors inside a stream and below the SDKs become our two model errors."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from daemon.core.bounded_http import MAX_RESPONSE_BYTES
from daemon.core.errors import ModelRefused, ModelUnavailable, NoAccess
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import answer, fault, prompt
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


async def test_an_event_of_claudes_is_passing_or_a_refusal_with_its_message_unless_that_repeats_the_key(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    for kind in ("overloaded_error", "api_error", "rate_limit_error", "timeout_error", "new_error"):
        anthropic_server.script.append(claude_event(kind))
        assert isinstance(await fault(claude), ModelUnavailable), kind
    anthropic_server.script.append(claude_event("invalid_request_error", "messages: too odd"))
    with pytest.raises(ModelRefused, match="messages: too odd"):
        await answer(claude, prompt())
    anthropic_server.script.append(claude_event("invalid_request_error", f"see {KEY}"))
    error = await fault(claude)
    assert isinstance(error, ModelRefused)
    assert "see" not in str(error)
    assert error.__cause__ is None


async def test_an_event_of_a_models_host_is_passing_unless_its_status_is_permanent_and_an_endless_body_is_not_read(
    gpt: Router, openai_server: OpenAIServer
) -> None:
    for code in ("502", "429", '"server_error"', "null", "7", "403"):
        event = f'data: {{"error": {{"code": {code}, "message": "bad"}}}}\n\n'
        openai_server.script.append(Answer(raw=event.encode()))
        assert type(await fault(gpt)) is (NoAccess if code == "403" else ModelUnavailable), code
    openai_server.script.append(Answer(status=500, message="x" * (MAX_RESPONSE_BYTES + 1)))
    assert isinstance(await fault(gpt), ModelUnavailable)


async def test_an_unreachable_address_is_named_by_its_variable_and_an_ollama_with_how_to_start_it(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> None:
    for server in (anthropic_server, openai_server):
        for url in ("http://127.0.0.1:9/v1", "http://127.0.0.1:0", "https://not a host/"):
            async with aclosing(Router(settings_for(server, **{f"{server.name}_base_url": url}), clock)) as router:
                error = await fault(router)
            assert isinstance(error, ModelUnavailable), url
            assert f"{server.name.upper()}_BASE_URL" in error.hint, url
    settings = settings_for(openai_server, persona_model="ollama/x", ollama_url="http://127.0.0.1:9/v1")
    started = Router(settings, FakeClock())
    with pytest.raises(ModelUnavailable) as caught:
        await answer(started, prompt())
    assert "ollama serve" in caught.value.hint
    await started.aclose()
