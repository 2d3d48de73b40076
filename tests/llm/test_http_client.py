"""The requests that each vendor really gets."""

from collections.abc import AsyncIterator

import pytest

from daemon.core.config import Settings, load_settings
from daemon.core.ports import SystemPart
from daemon.llm.anthropic_messages import THINKING_ROOM, effort_for
from daemon.llm.chat_completions import REASONING_ROOM
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import SCHEMA, answer, prompt
from tests.llm.providers import KEY, Answer, AnthropicServer, OpenAIServer


@pytest.fixture
async def claude(anthropic_server: AnthropicServer, clock: FakeClock) -> AsyncIterator[Router]:
    router = Router(settings_for(anthropic_server), clock)
    yield router
    await router.aclose()


def through(server: OpenAIServer, model: str) -> Settings:
    """Settings that send any vendor's model to the loopback server."""
    return load_settings(
        persona_model=model,
        openai_api_key=KEY,
        openai_base_url=server.url,
        openrouter_api_key=KEY,
        openrouter_url=server.url,
        groq_api_key=KEY,
        groq_url=server.url,
        ollama_url=server.url,
    )


async def sent_to(server: OpenAIServer, model: str, creativity: float | None = 0.7) -> dict[str, object]:
    """The body that a model's vendor receives."""
    router = Router(through(server, model), FakeClock())
    await answer(router, prompt("hello", creativity=creativity))
    await router.aclose()
    return server.asked[-1].body


async def test_claude_gets_effort_and_never_a_sampling_parameter(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    await answer(claude, prompt(creativity=0.2))
    body = anthropic_server.asked[0].body
    assert body["output_config"] == {"effort": "low"}
    assert not {"temperature", "top_p", "top_k"} & body.keys()


@pytest.mark.parametrize(
    ("creativity", "effort"),
    [(0.0, "low"), (0.35, "low"), (0.5, "medium"), (0.8, "medium"), (0.9, "high"), (1.0, "high")],
)
def test_effort_grows_with_creativity(creativity: float, effort: str) -> None:
    assert effort_for(creativity) == effort


async def test_a_claude_without_effort_is_asked_without_it_from_then_on(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    anthropic_server.script.append(Answer(status=400, message="This model does not support the effort parameter."))
    await answer(claude, prompt(creativity=0.2, schema=SCHEMA))
    await answer(claude, prompt(creativity=0.2))
    _, second, third = (asked.body for asked in anthropic_server.asked)
    assert second["output_config"].keys() == {"format"}
    assert "output_config" not in third


async def test_without_creativity_the_vendor_chooses_the_effort(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    await answer(claude, prompt(tokens=100))
    body = anthropic_server.asked[0].body
    assert "output_config" not in body
    assert body["max_tokens"] == 100 + THINKING_ROOM


async def test_the_last_stable_system_part_carries_the_cache_marker(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    parts = (SystemPart("soul", stable=True), SystemPart("rules", stable=True), SystemPart(" "), SystemPart("now"))
    await answer(claude, prompt(system=parts))
    assert anthropic_server.asked[0].body["system"] == [
        {"type": "text", "text": "soul"},
        {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "now"},
    ]


async def test_without_a_stable_part_nothing_is_marked(claude: Router, anthropic_server: AnthropicServer) -> None:
    await answer(claude, prompt(system=(SystemPart("now"),)))
    assert "cache_control" not in str(anthropic_server.asked[0].body)


async def test_the_system_parts_keep_their_order_in_one_message(openai_server: OpenAIServer) -> None:
    body = await sent_to(openai_server, "openai/some-model")
    assert body["messages"] == [
        {"role": "system", "content": "You are kind.\n\nIt is noon."},
        {"role": "user", "content": "hello"},
    ]


async def test_qwen_on_openrouter_gets_its_makers_sampling(openai_server: OpenAIServer) -> None:
    body = await sent_to(openai_server, "qwen/qwen3-30b-a3b-instruct-2507")
    assert (body["temperature"], body["top_p"], body["top_k"]) == (0.7, 0.8, 20)
    assert body["model"] == "qwen/qwen3-30b-a3b-instruct-2507"


@pytest.mark.parametrize("model", ["groq/maker/model", "ollama/model:7b", "other/model"])
async def test_other_back_ends_get_the_temperature_alone(openai_server: OpenAIServer, model: str) -> None:
    body = await sent_to(openai_server, model)
    assert body["temperature"] == 0.7
    assert not {"top_p", "top_k"} & body.keys()
    assert body["max_tokens"] == 512
    assert "name" not in str(body["messages"])
    assert body["model"] == (model if model.startswith("other/") else model.partition("/")[2])


async def test_no_creativity_sends_no_temperature(openai_server: OpenAIServer) -> None:
    assert "temperature" not in await sent_to(openai_server, "groq/m", creativity=None)


async def test_openais_own_models_get_room_to_reason(openai_server: OpenAIServer) -> None:
    body = await sent_to(openai_server, "openai/some-model")
    assert body["max_completion_tokens"] == 512 + REASONING_ROOM
    assert "max_tokens" not in body


async def test_a_model_with_a_fixed_temperature_is_asked_without_it(openai_server: OpenAIServer) -> None:
    openai_server.script.append(Answer(status=400, message="Unsupported value: 'temperature' only supports 1"))
    assert "temperature" not in await sent_to(openai_server, "openai/some-model")


async def test_a_server_without_usage_is_asked_without_it(openai_server: OpenAIServer) -> None:
    openai_server.script.append(Answer(status=422, message="stream_options: extra fields not permitted"))
    assert "stream_options" not in await sent_to(openai_server, "ollama/m")


async def test_a_refusal_in_its_own_field_is_a_refusal(openai_server: OpenAIServer) -> None:
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"no ","refusal":"I cannot"},"finish_reason":null}]}\n\n'
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    openai_server.script.append(Answer(raw=frame + end))
    router = Router(through(openai_server, "openai/m"), FakeClock())
    assert (await answer(router, prompt()))[1].stop == "refusal"
    await router.aclose()


async def test_schema_names_keep_to_the_allowed_letters(openai_server: OpenAIServer) -> None:
    router = Router(through(openai_server, "groq/m"), FakeClock())
    await answer(router, prompt(schema=SCHEMA))
    asked = openai_server.asked[0].body["response_format"]["json_schema"]
    assert (asked["name"], asked["strict"]) == ("test_step", True)
    await router.aclose()
