"""The requests that each vendor really gets."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from daemon.core.config import Settings, load_settings
from daemon.core.errors import ModelRefused
from daemon.core.ports.models import Effort, Prompt, SystemPart
from daemon.llm.model_traits import THINKING_ROOM
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


async def sent(settings: Settings, asked: Prompt) -> None:
    """Send a prompt to the persona's model."""
    router = Router(settings, FakeClock())
    try:
        await answer(router, asked)
    finally:
        await router.aclose()


async def sent_to(server: OpenAIServer, model: str, asked: Prompt | None = None) -> dict[str, Any]:
    """The body that a model's vendor receives."""
    await sent(through(server, model), asked or prompt("hello", creativity=0.7))
    return server.asked[-1].body


async def sent_to_claude(server: AnthropicServer, model: str, asked: Prompt) -> dict[str, Any]:
    """The body that Anthropic receives for one of its models."""
    await sent(settings_for(server, persona_model=f"anthropic/{model}"), asked)
    return server.asked[-1].body


# -- effort, thinking and temperature ----------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", Effort)
async def test_claude_gets_the_effort_and_never_a_sampling_parameter(
    anthropic_server: AnthropicServer, effort: Effort
) -> None:
    body = await sent_to_claude(
        anthropic_server, "claude-sonnet-5-5", prompt("hello", creativity=0.9, effort=effort, tokens=100)
    )
    assert body["output_config"] == {"effort": effort.value}
    assert body["max_tokens"] == 100 + THINKING_ROOM[effort]
    assert not {"temperature", "top_p", "top_k", "thinking"} & body.keys()


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "temperature"),
    [
        ("claude-sonnet-4-6", Effort.LOW, None, 0.4),
        ("claude-sonnet-4-6", Effort.MEDIUM, {"type": "adaptive"}, None),
        ("claude-opus-4-8", Effort.HIGH, {"type": "adaptive"}, None),
        ("claude-opus-4-8", Effort.LOW, None, None),
        ("claude-haiku-4-5", Effort.MEDIUM, None, 0.4),
        ("claude-haiku-4-5", Effort.HIGH, {"type": "enabled", "budget_tokens": 16384}, None),
    ],
)
async def test_an_older_claude_thinks_when_asked_and_takes_a_temperature_while_it_does_not(
    anthropic_server: AnthropicServer, model: str, effort: Effort, thinking: object, temperature: float | None
) -> None:
    body = await sent_to_claude(anthropic_server, model, prompt("hello", creativity=0.4, effort=effort, tokens=100))
    assert (body.get("thinking"), body.get("temperature")) == (thinking, temperature)
    assert ("output_config" in body) is not model.startswith("claude-haiku")
    assert body["max_tokens"] == 100 + (THINKING_ROOM[effort] if thinking else 0)


async def test_a_claude_without_effort_is_asked_without_it_from_then_on(
    claude: Router, anthropic_server: AnthropicServer
) -> None:
    anthropic_server.script.append(Answer(status=400, message="This model does not support the effort parameter."))
    await answer(claude, prompt(effort=Effort.LOW, schema=SCHEMA))
    await answer(claude, prompt(effort=Effort.LOW))
    _, second, third = (asked.body for asked in anthropic_server.asked)
    assert second["output_config"].keys() == {"format"}
    assert "output_config" not in third


async def test_a_claude_that_refuses_thinking_gets_the_temperature_instead(anthropic_server: AnthropicServer) -> None:
    anthropic_server.script.append(Answer(status=400, message="adaptive thinking is not supported on this model"))
    body = await sent_to_claude(
        anthropic_server, "claude-sonnet-4-6", prompt("hello", creativity=0.4, effort=Effort.HIGH, tokens=100)
    )
    assert "thinking" in anthropic_server.asked[0].body
    assert (body.get("thinking"), body["temperature"], body["max_tokens"]) == (None, 0.4, 100)


async def test_without_an_effort_the_vendor_chooses_it(claude: Router, anthropic_server: AnthropicServer) -> None:
    await answer(claude, prompt(tokens=100, creativity=0.9))
    body = anthropic_server.asked[0].body
    assert "output_config" not in body
    assert body["max_tokens"] == 100 + THINKING_ROOM[Effort.MEDIUM]


@pytest.mark.parametrize(
    ("model", "effort", "temperature"),
    [
        ("openai/gpt-6.1-terra", "low", None),
        ("openai/gpt-5.4", "low", None),
        ("openai/o3", "low", None),
        ("openai/gpt-4o", None, 0.7),
        ("openai/gpt-5.2-chat-latest", None, None),
        ("groq/openai/gpt-oss-120b", "low", None),
        ("groq/maker/model", None, 0.7),
        ("qwen/qwen3-30b-a3b-instruct-2507", None, 0.7),
        ("ollama/qwen3:8b", None, 0.7),
    ],
)
async def test_reasoning_models_get_an_effort_and_the_others_a_temperature(
    openai_server: OpenAIServer, model: str, effort: str | None, temperature: float | None
) -> None:
    body = await sent_to(openai_server, model, prompt("hello", creativity=0.7, effort=Effort.LOW))
    assert (body.get("reasoning_effort"), body.get("temperature")) == (effort, temperature)


async def test_an_effort_that_a_model_refuses_is_replaced_by_the_temperature_from_then_on(
    openai_server: OpenAIServer,
) -> None:
    openai_server.script.append(
        Answer(status=400, message="Unrecognized request argument supplied: reasoning_effort", kind="invalid_request")
    )
    router = Router(through(openai_server, "openai/somebodys-own"), FakeClock())
    for _ in range(2):
        await answer(router, prompt(creativity=0.7, effort=Effort.HIGH))
    await router.aclose()
    first, second, third = (asked.body for asked in openai_server.asked)
    assert ("temperature" in first, first["reasoning_effort"]) == (False, "high")
    assert ("reasoning_effort" in second, second["temperature"]) == (False, 0.7)
    assert second == third, "it is remembered for the model"


# -- output limits -----------------------------------------------------------------------------------------------------


async def test_a_models_own_limit_bounds_answer_and_thinking(openai_server: OpenAIServer) -> None:
    body = await sent_to(openai_server, "openai/gpt-4", prompt("hello", creativity=0.7, tokens=10_000))
    assert body["max_completion_tokens"] == 8192
    body = await sent_to(
        openai_server, "openai/gpt-6.1-terra", prompt("hello", creativity=0.7, tokens=10_000, effort=Effort.HIGH)
    )
    assert body["max_completion_tokens"] == 10_000 + THINKING_ROOM[Effort.HIGH]
    body = await sent_to(openai_server, "groq/unheard-of", prompt("hello", creativity=0.7, tokens=100_000))
    assert body["max_tokens"] == 16384, "a safe value for a model that nobody described"


@pytest.mark.parametrize(
    ("refusal", "allowed"),
    [
        ("max_tokens is too large: 4608. This model supports at most 2,048 completion tokens, not 4608.", 2048),
        ("`max_tokens` must be less than or equal to `1024`, the maximum value for `max_tokens` of model-3-8b", 1024),
    ],
)
async def test_a_limit_that_is_refused_is_lowered_to_what_is_allowed_and_remembered(
    openai_server: OpenAIServer, refusal: str, allowed: int
) -> None:
    openai_server.script.append(Answer(status=400, message=refusal))
    router = Router(through(openai_server, "groq/small"), FakeClock())
    for _ in range(2):
        await answer(router, prompt(tokens=4608))
    await router.aclose()
    assert [asked.body["max_tokens"] for asked in openai_server.asked] == [4608, allowed, allowed]


async def test_a_server_that_refuses_every_limit_is_not_asked_for_ever(openai_server: OpenAIServer) -> None:
    for limit in range(4000, 3000, -100):
        openai_server.script.append(Answer(status=400, message=f"max_tokens has to be at most {limit}"))
    with pytest.raises(ModelRefused, match="max_tokens has to be"):
        await sent_to(openai_server, "groq/small", prompt(tokens=4608))
    assert len(openai_server.asked) == 3


async def test_claudes_limit_is_learned_too(anthropic_server: AnthropicServer) -> None:
    refusal = "max_tokens: 12288 > 8192, which is the maximum allowed number of output tokens for claude-old"
    anthropic_server.script.append(Answer(status=400, message=refusal, kind="invalid_request_error"))
    body = await sent_to_claude(anthropic_server, "claude-old", prompt("hello", tokens=4096))
    assert body["max_tokens"] == 8192


async def test_a_server_that_knows_only_the_newer_name_of_the_limit_gets_it(openai_server: OpenAIServer) -> None:
    refusal = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    openai_server.script.append(Answer(status=400, message=refusal))
    body = await sent_to(openai_server, "groq/m", prompt("hello", creativity=0.7, tokens=512))
    assert (body.get("max_tokens"), body["max_completion_tokens"]) == (None, 512)


async def test_a_prompt_that_is_too_long_is_no_lesson_about_the_limit(openai_server: OpenAIServer) -> None:
    refusal = "maximum context length is 4096 tokens, you asked for 9000 (4488 in the messages, 4512 completion tokens)"
    openai_server.script.append(Answer(status=400, message=refusal))
    with pytest.raises(ModelRefused, match="the prompt is too long"):
        await sent_to(openai_server, "groq/m", prompt("hello", creativity=0.7, tokens=4512))
    assert len(openai_server.asked) == 1


# -- caches ------------------------------------------------------------------------------------------------------------

LONG = "A rule of the house. " * 400  # some 2,000 tokens
SOUL = SystemPart("You are kind.", stable=True)


async def test_marks_stand_behind_stable_parts_and_marked_messages(anthropic_server: AnthropicServer) -> None:
    mark = {"type": "ephemeral"}
    parts = (SystemPart(LONG, stable=True), SystemPart("mode", stable=True), SystemPart(" "), SystemPart("now"))
    router = Router(settings_for(anthropic_server, persona_model="anthropic/claude-sonnet-5-5"), FakeClock())
    await answer(router, prompt("hi", "yes?", "well", system=parts, cached=1))
    await router.aclose()
    body = anthropic_server.asked[0].body
    assert [part.get("cache_control") for part in body["system"]] == [mark, mark, None]
    assert body["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "yes?", "cache_control": mark}]},
        {"role": "user", "content": "well"},
    ]


async def test_nothing_is_marked_below_the_smallest_size_that_a_model_caches(anthropic_server: AnthropicServer) -> None:
    parts = (SystemPart(LONG, stable=True),)
    for model, marked in (("claude-sonnet-5-5", True), ("claude-haiku-4-5", False)):
        body = await sent_to_claude(anthropic_server, model, prompt("hello", system=parts))
        assert ("cache_control" in str(body)) is marked


async def test_what_is_blank_once_it_is_clean_is_neither_sent_nor_marked(anthropic_server: AnthropicServer) -> None:
    parts = (SystemPart(LONG, stable=True), SystemPart("\0 \0", stable=True), SystemPart("now"))
    body = await sent_to_claude(
        anthropic_server, "claude-sonnet-5-5", prompt("hi", "\0", "well", system=parts, cached=1)
    )
    assert [part["text"] for part in body["system"]] == [LONG, "now"]
    assert [message["content"] for message in body["messages"]] == ["hi", "well"]


async def test_of_too_many_marks_the_last_four_are_sent(anthropic_server: AnthropicServer) -> None:
    parts = tuple(SystemPart(LONG, stable=True) for _ in range(6))
    body = await sent_to_claude(anthropic_server, "claude-sonnet-5-5", prompt("hello", system=parts))
    assert ["cache_control" in part for part in body["system"]] == [False, False, True, True, True, True]


async def test_a_gateway_that_refuses_marks_is_asked_without_them(anthropic_server: AnthropicServer) -> None:
    anthropic_server.script.append(Answer(status=400, message="system.0.cache_control: Extra inputs are not permitted"))
    body = await sent_to_claude(
        anthropic_server, "claude-sonnet-5-5", prompt("hello", system=(SystemPart(LONG, stable=True),))
    )
    assert "cache_control" not in str(body)


async def test_openai_is_told_which_prompts_begin_alike_and_nobody_else(openai_server: OpenAIServer) -> None:
    one = await sent_to(openai_server, "openai/gpt-6.1-terra")
    other = await sent_to(
        openai_server,
        "openai/gpt-6.1-terra",
        prompt("hello", creativity=0.7, system=(SystemPart("Another soul.", stable=True),)),
    )
    again = await sent_to(openai_server, "openai/gpt-6.1-terra", prompt("hello", creativity=0.7, tokens=99))
    assert one["prompt_cache_key"] == again["prompt_cache_key"] != other["prompt_cache_key"]
    modes = [
        await sent_to(openai_server, "openai/gpt-6.1-terra", prompt("hello", creativity=0.7, system=(SOUL, mode)))
        for mode in (SystemPart("Speak as a scholar.", stable=True), SystemPart("Speak as a poet.", stable=True))
    ]
    assert len({body["prompt_cache_key"] for body in modes}) == 1, "what stands before the mode is the same"
    assert "cache_control" not in str(one)
    assert "prompt_cache_key" not in await sent_to(openai_server, "groq/m")


async def test_makers_behind_openrouter_that_want_marks_get_them(openai_server: OpenAIServer) -> None:
    parts = (SystemPart(LONG * 3, stable=True), SystemPart("now"))
    body = await sent_to(openai_server, "google/gemini-3-flash", prompt("hello", creativity=0.7, system=parts))
    system = body["messages"][0]["content"]
    assert [part.get("cache_control") for part in system] == [{"type": "ephemeral"}, None]
    assert isinstance(
        (await sent_to(openai_server, "other/model", prompt("hello", creativity=0.7, system=parts)))["messages"][0][
            "content"
        ],
        str,
    )


async def test_what_was_written_to_the_cache_is_counted(
    claude: Router, anthropic_server: AnthropicServer, openai_server: OpenAIServer
) -> None:
    _, completion = await answer(claude, prompt())
    assert (completion.tokens_in, completion.tokens_cached, completion.tokens_written) == (2107, 2000, 100)


# -- the rest ----------------------------------------------------------------------------------------------------------


async def test_the_system_parts_keep_their_order_in_one_message(openai_server: OpenAIServer) -> None:
    body = await sent_to(openai_server, "openai/some-model")
    assert body["messages"] == [
        {"role": "system", "content": "You are kind.\n\nIt is noon."},
        {"role": "user", "content": "hello"},
    ]


@pytest.mark.parametrize("creativity", [0.7, None])
async def test_qwen_on_openrouter_gets_its_makers_sampling_with_every_step(
    openai_server: OpenAIServer, creativity: float | None
) -> None:
    body = await sent_to(openai_server, "qwen/qwen3-30b-a3b-instruct-2507", prompt("hello", creativity=creativity))
    assert (body.get("temperature"), body["top_p"], body["top_k"]) == (creativity, 0.8, 20)
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
    assert "temperature" not in await sent_to(openai_server, "groq/m", prompt("hello", creativity=None))


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
