"""The requests that each vendor really gets, with or without pictures."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.config import load_settings
from daemon.core.errors import CannotSee, ModelRefused
from daemon.core.ports.services import Effort, Image, Message, Prompt, Speaker, SystemPart
from daemon.llm.prices import THINKING_ROOM
from daemon.llm.router import Router
from tests.fakes import FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import SCHEMA, answer, prompt
from tests.llm.providers import KEY, Answer, AnthropicServer, OpenAIServer

FREE = {"type": "object", "additionalProperties": {"type": "string"}}
Send = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def router(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> AsyncIterator[Router]:
    """Sends the models of Anthropic to one loopback server, and those of all other vendors to another."""
    settings = load_settings(
        persona_model="openai/m",
        anthropic_api_key=KEY,
        anthropic_base_url=anthropic_server.url,
        openai_api_key=KEY,
        openai_base_url=openai_server.url,
        openrouter_api_key=KEY,
        openrouter_url=openai_server.url,
        groq_api_key=KEY,
        groq_url=openai_server.url,
        ollama_url=openai_server.url,
    )
    async with aclosing(Router(settings, clock)) as made:
        yield made


@pytest.fixture
def send(router: Router, anthropic_server: AnthropicServer, openai_server: OpenAIServer) -> Send:
    """Asks a model, and gives the body of the last request that its vendor received."""

    async def ask(
        model: str,
        *said: str,
        creativity: float | None = 0.7,
        **more: Any,  # noqa: ANN401  # what a prompt takes
    ) -> dict[str, Any]:
        await answer(router, prompt(*said, model=model, creativity=creativity, **more))
        return (anthropic_server if model.startswith("anthropic/") else openai_server).asked[-1].body

    return ask


async def test_claude_gets_the_effort_and_an_older_one_thinks_when_asked_or_takes_a_temperature(send: Send) -> None:
    for effort in (*Effort, None):
        body = await send("anthropic/claude-sonnet-5-5", effort=effort, tokens=100)
        assert body.get("output_config") == (effort and {"effort": effort.value}), effort
        assert body["max_tokens"] == 100 + THINKING_ROOM[effort or Effort.MEDIUM], "without one the vendor chooses it"
        assert not {"temperature", "top_p", "top_k", "thinking"} & body.keys(), effort
    for model, effort, thinking, temperature in (
        ("claude-sonnet-4-6", Effort.LOW, None, 0.4),
        ("claude-sonnet-4-6", Effort.MEDIUM, {"type": "adaptive"}, None),
        ("claude-opus-4-8", Effort.HIGH, {"type": "adaptive"}, None),
        ("claude-opus-4-8", Effort.LOW, None, None),
        ("claude-haiku-4-5", Effort.MEDIUM, None, 0.4),
        ("claude-haiku-4-5", Effort.HIGH, {"type": "enabled", "budget_tokens": 16384}, None),
    ):
        body = await send(f"anthropic/{model}", creativity=0.4, effort=effort, tokens=100)
        assert (body.get("thinking"), body.get("temperature")) == (thinking, temperature), (model, effort)
        assert ("output_config" in body) is not model.startswith("claude-haiku"), (model, effort)
        assert body["max_tokens"] == 100 + (THINKING_ROOM[effort] if thinking else 0), (model, effort)


async def test_a_claude_without_effort_is_asked_without_it_from_then_on(
    send: Send, anthropic_server: AnthropicServer
) -> None:
    anthropic_server.script.append(Answer(status=400, message="This model does not support the effort parameter."))
    second = await send("anthropic/m", effort=Effort.LOW, schema=SCHEMA)
    assert second["output_config"].keys() == {"format"}
    assert "output_config" not in await send("anthropic/m", effort=Effort.LOW)


async def test_a_claude_that_refuses_thinking_gets_the_temperature_instead(
    send: Send, anthropic_server: AnthropicServer
) -> None:
    anthropic_server.script.append(Answer(status=400, message="adaptive thinking is not supported on this model"))
    body = await send("anthropic/claude-sonnet-4-6", creativity=0.4, effort=Effort.HIGH, tokens=100)
    assert "thinking" in anthropic_server.asked[0].body
    assert (body.get("thinking"), body["temperature"], body["max_tokens"]) == (None, 0.4, 100)


async def test_reasoning_models_get_an_effort_and_the_others_a_temperature(send: Send) -> None:
    for model, effort, temperature in (
        ("openai/gpt-6.1-terra", "low", None),
        ("openai/gpt-5.4", "low", None),
        ("openai/o3", "low", None),
        ("openai/gpt-4o", None, 0.7),
        ("openai/gpt-5.2-chat-latest", None, None),
        ("groq/openai/gpt-oss-120b", "low", None),
        ("groq/maker/model", None, 0.7),
        ("qwen/qwen3-30b-a3b-instruct-2507", None, 0.7),
        ("ollama/qwen3:8b", None, 0.7),
    ):
        body = await send(model, effort=Effort.LOW)
        assert (body.get("reasoning_effort"), body.get("temperature")) == (effort, temperature), model


async def test_an_effort_that_a_model_refuses_is_replaced_by_the_temperature_from_then_on(
    send: Send, openai_server: OpenAIServer
) -> None:
    openai_server.script.append(
        Answer(status=400, message="Unrecognized request argument supplied: reasoning_effort", kind="invalid_request")
    )
    second = await send("openai/somebodys-own", effort=Effort.HIGH)
    first = openai_server.asked[0].body
    assert ("temperature" in first, first["reasoning_effort"]) == (False, "high")
    assert ("reasoning_effort" in second, second["temperature"]) == (False, 0.7)
    assert await send("openai/somebodys-own", effort=Effort.HIGH) == second, "it is remembered for the model"


async def test_a_models_own_limit_bounds_answer_and_thinking(send: Send) -> None:
    assert (await send("openai/gpt-4", tokens=10_000))["max_completion_tokens"] == 8192
    body = await send("openai/gpt-6.1-terra", tokens=10_000, effort=Effort.HIGH)
    assert body["max_completion_tokens"] == 10_000 + THINKING_ROOM[Effort.HIGH]
    body = await send("groq/unheard-of", tokens=100_000)
    assert body["max_tokens"] == 16384, "a safe value for a model that nobody described"


async def test_a_limit_that_is_refused_is_lowered_to_what_is_allowed_and_remembered(
    send: Send, anthropic_server: AnthropicServer, openai_server: OpenAIServer
) -> None:
    for model, allowed, refusal in (
        (
            "groq/small",
            2048,
            "max_tokens is too large: 4608. This model supports at most 2,048 completion tokens, not 4608.",
        ),
        (
            "groq/smaller",
            1024,
            "`max_tokens` must be less than or equal to `1024`, the maximum value for `max_tokens` of model-3-8b",
        ),
        (
            "anthropic/claude-old",
            8192,
            "max_tokens: 12800 > 8192, which is the maximum allowed number of output tokens for claude-old",
        ),
    ):
        server = anthropic_server if model.startswith("anthropic/") else openai_server
        server.script.append(Answer(status=400, message=refusal, kind="invalid_request_error"))
        for _ in range(2):
            assert (await send(model, tokens=4608))["max_tokens"] == allowed, model
        assert [asked.body["max_tokens"] > allowed for asked in server.asked[-3:]] == [True, False, False], model


async def test_a_server_that_refuses_every_limit_is_not_asked_for_ever(send: Send, openai_server: OpenAIServer) -> None:
    for limit in range(4000, 3000, -100):
        openai_server.script.append(Answer(status=400, message=f"max_tokens has to be at most {limit}"))
    with pytest.raises(ModelRefused, match="max_tokens has to be"):
        await send("groq/small", tokens=4608)
    assert len(openai_server.asked) == 3


async def test_a_prompt_that_is_too_long_is_no_lesson_about_the_limit(send: Send, openai_server: OpenAIServer) -> None:
    refusal = "maximum context length is 4096 tokens, you asked for 9000 (4488 in the messages, 4512 completion tokens)"
    openai_server.script.append(Answer(status=400, message=refusal))
    with pytest.raises(ModelRefused, match="the prompt is too long"):
        await send("groq/m", tokens=4512)
    assert len(openai_server.asked) == 1


LONG = "A rule of the house. " * 400  # some 2,000 tokens
SOUL = SystemPart("You are kind.", stable=True)


async def test_claude_is_sent_a_mark_behind_each_stable_part_that_is_worth_one_to_the_model(send: Send) -> None:
    sonnet, mark, long = "anthropic/claude-sonnet-5-5", {"type": "ephemeral"}, SystemPart(LONG, stable=True)
    parts: tuple[SystemPart, ...] = (long, SystemPart("mode", stable=True), SystemPart(" "), SystemPart("now"))
    body = await send(sonnet, "hi", "yes?", "well", system=parts, cached=1)
    assert [part.get("cache_control") for part in body["system"]] == [mark, mark, None]
    assert body["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "yes?", "cache_control": mark}]},
        {"role": "user", "content": "well"},
    ]
    parts = (long, SystemPart("\0 \0", stable=True), SystemPart("now"))
    body = await send(sonnet, "hi", "\0", "well", system=parts, cached=1)
    assert [part["text"] for part in body["system"]] == [LONG, "now"], "what is blank once it is clean is left out"
    assert [message["content"] for message in body["messages"]] == ["hi", "well"]
    body = await send(sonnet, system=(long,) * 6)
    assert ["cache_control" in part for part in body["system"]] == [False, False, True, True, True, True]
    for model, marked in (("claude-sonnet-5-5", True), ("claude-haiku-4-5", False)):
        body = await send(f"anthropic/{model}", system=(SystemPart(LONG, stable=True),))
        assert ("cache_control" in str(body)) is marked, model


async def test_openai_is_told_which_prompts_begin_alike_and_makers_that_want_marks_get_them(
    send: Send, router: Router
) -> None:
    model = "openai/gpt-6.1-terra"
    one, again = await send(model), await send(model, tokens=99)
    other = await send(model, system=(SystemPart("Another soul.", stable=True),))
    assert one["prompt_cache_key"] == again["prompt_cache_key"] != other["prompt_cache_key"]
    modes = [
        await send(model, system=(SOUL, SystemPart(mode, stable=True)))
        for mode in ("Speak as a scholar.", "Speak as a poet.")
    ]
    assert len({body["prompt_cache_key"] for body in modes}) == 1, "what stands before the mode is the same"
    assert "cache_control" not in str(one)
    assert "prompt_cache_key" not in await send("groq/m")
    parts = (SystemPart(LONG * 3, stable=True), SystemPart("now"))
    system = (await send("google/gemini-3-flash", system=parts))["messages"][0]["content"]
    assert [part.get("cache_control") for part in system] == [{"type": "ephemeral"}, None]
    assert isinstance((await send("other/model", system=parts))["messages"][0]["content"], str)
    _, completion = await answer(router, prompt(model="anthropic/m"))
    assert (completion.tokens_in, completion.tokens_cached, completion.tokens_written) == (2107, 2000, 100)


async def test_each_back_end_gets_the_order_names_and_sampling_that_it_takes(send: Send) -> None:
    assert (await send("openai/some-model"))["messages"] == [
        {"role": "system", "content": "You are kind.\n\nIt is noon."},
        {"role": "user", "content": "hello"},
    ]
    for creativity in (0.7, None):
        body = await send("qwen/qwen3-30b-a3b-instruct-2507", creativity=creativity)
        assert (body.get("temperature"), body["top_p"], body["top_k"]) == (creativity, 0.8, 20)
        assert body["model"] == "qwen/qwen3-30b-a3b-instruct-2507"
    for model, name in (("groq/maker/model", "maker/model"), ("ollama/model:7b", "model:7b"), ("other/model",) * 2):
        body = await send(model)
        assert (body["model"], body["temperature"], body["max_tokens"]) == (name, 0.7, 512)
        assert not {"top_p", "top_k"} & body.keys(), model
        assert "name" not in str(body["messages"]), model
    assert "temperature" not in await send("groq/m", creativity=None)
    asked = (await send("groq/m", schema=SCHEMA))["response_format"]["json_schema"]
    assert (asked["name"], asked["strict"]) == ("test_step", True)


async def test_what_a_back_end_refuses_is_left_out_or_named_as_it_wants_it(
    send: Send, anthropic_server: AnthropicServer, openai_server: OpenAIServer
) -> None:
    newer = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    for model, status, refusal, left_out in (
        ("openai/fixed", 400, "Unsupported value: 'temperature' only supports 1", "temperature"),
        ("ollama/m", 422, "stream_options: extra fields not permitted", "stream_options"),
        ("groq/m", 400, newer, "max_tokens"),
        ("anthropic/claude-sonnet-5-5", 400, "system.0.cache_control: Extra inputs are not permitted", "cache_control"),
    ):
        server = anthropic_server if model.startswith("anthropic/") else openai_server
        server.script.append(Answer(status=status, message=refusal))
        body = await send(model, system=(SystemPart(LONG, stable=True),))
        assert f"'{left_out}'" in str(server.asked[-2].body), model
        assert f"'{left_out}'" not in str(body), model
    assert openai_server.asked[-1].body["max_completion_tokens"] == 512


async def test_a_model_without_a_system_role_reads_it_in_the_first_user_message_from_then_on(
    send: Send, openai_server: OpenAIServer
) -> None:
    for place, (status, refusal) in enumerate(
        (
            (400, "System role not supported"),
            (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
            (422, "Only user and assistant roles are supported!"),
            (500, "Conversation roles must alternate user/assistant/user/assistant/..."),
        )
    ):
        openai_server.asked.clear()
        openai_server.script.append(Answer(status=status, message=refusal))
        model = f"ollama/gemma-{place}"
        for said in (("hi",), ("hi", "yes?", "well")):
            sent = (await send(model, *said, schema=FREE))["messages"]
            assert [each["role"] for each in sent] == ["user", "assistant", "user"][: len(said)], refusal
            first = sent[0]["content"]
            assert first.startswith("You are kind.\n\nIt is noon.\n\nAnswer with one JSON value"), refusal
            assert first.endswith("\n\nhi"), refusal
        assert len(openai_server.asked) == 3, "one call more, once"


async def test_a_prompt_that_is_too_long_says_nothing_about_the_system_role_and_a_field_may_hold_a_refusal(
    send: Send, openai_server: OpenAIServer, router: Router
) -> None:
    openai_server.script.append(Answer(status=400, message="system message: prompt is too long"))
    with pytest.raises(ModelRefused, match="too long"):
        await send("ollama/m")
    assert (await send("ollama/m"))["messages"][0]["role"] == "system"
    frame = b'data: {"choices":[{"index":0,"delta":{"content":"no ","refusal":"I cannot"},"finish_reason":null}]}\n\n'
    end = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    openai_server.script.append(Answer(raw=frame + end))
    assert (await answer(router, prompt()))[1].stop == "refusal"


PICTURE = Image("image/jpeg", b"\xff\xd8picture")
SENT = "/9hwaWN0dXJl"


def shown(model: str = "", *, needs_eyes: bool = False) -> Prompt:
    """A prompt whose last message shows a picture."""
    message = Message(Speaker.USER, "What is this?", images=(PICTURE,))
    return replace(prompt(), messages=(message,), model=model, needs_eyes=needs_eyes)


async def test_each_vendor_is_sent_the_picture_in_its_own_form(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> None:
    for server, model, picture in (
        (
            anthropic_server,
            "anthropic/m",
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": SENT}},
        ),
        (
            openai_server,
            "openai/gpt-4o",
            {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{SENT}"}},
        ),
    ):
        async with aclosing(Router(settings_for(server), clock)) as router:
            await answer(router, shown(model))
        content = server.asked[0].body["messages"][-1]["content"]
        assert content == [picture, {"type": "text", "text": "What is this?"}]


async def test_a_model_without_eyes_reads_that_it_has_none_and_one_that_needs_them_is_not_asked(
    openai_server: OpenAIServer, clock: FakeClock
) -> None:
    async with aclosing(Router(settings_for(openai_server), clock)) as router:
        await answer(router, shown("openai/gpt-3.5-turbo"))
        with pytest.raises(CannotSee):
            await answer(router, shown("openai/gpt-3.5-turbo", needs_eyes=True))
    said = openai_server.asked[0].body["messages"][-1]["content"]
    assert said.startswith("What is this?\n\n(Here a picture was shown to you, and you can't see pictures.")
    assert len(openai_server.asked) == 1


async def test_a_model_that_refuses_pictures_gets_none_from_then_on(
    openai_server: OpenAIServer, clock: FakeClock
) -> None:
    openai_server.script.append(Answer(status=400, message="image_url is only supported by certain models"))
    async with aclosing(Router(settings_for(openai_server), clock)) as router:
        for _ in range(2):
            await answer(router, shown("openai/gpt-4o"))
    contents = [one.body["messages"][-1]["content"] for one in openai_server.asked]
    assert [isinstance(one, list) for one in contents] == [True, False, False]
