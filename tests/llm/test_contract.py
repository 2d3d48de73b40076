"""The contract of `Provider` for every protocol, and the errors of each, against real servers on loopback."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from daemon.core.errors import ModelRefused, ModelUnavailable, NoAccess, StillLoading
from daemon.core.http import MAX_RESPONSE_BYTES
from daemon.llm.endpoint import ClosableLLM
from daemon.llm.router import Router
from tests.fakes import TIMEOUT, FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import SCHEMA, answer, fault, prompt, read_until
from tests.llm.providers import KEY, Answer, AnthropicServer, Ending, OpenAIServer, VendorServer
from tests.models import ScriptedLLM

NUMBERS_FOR_TEXT = (
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}, '
    b'"choices": [{"delta": {"content": 5}, "finish_reason": null}]}\n\n'
)


@pytest.fixture
async def models(
    anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> AsyncIterator[list[ClosableLLM]]:
    all_of_them: list[ClosableLLM] = [
        Router(settings_for(anthropic_server), clock),
        Router(settings_for(openai_server), clock),
        Router(settings_for(openai_server, persona_model="placeholder/echo"), clock),
        ScriptedLLM(["one ", "two ", "three"], ["again"], default="again"),
    ]
    yield all_of_them
    for llm in all_of_them:
        await llm.aclose()


async def test_every_model_streams_text_and_one_completion_of_its_own_id_and_stays_usable_when_it_is_closed_half_way(
    models: list[ClosableLLM],
) -> None:
    for llm in models:
        text, completion = await answer(llm, prompt("hello"))
        assert text, llm
        assert (completion.stop, completion.model) == ("end", llm.model_for(prompt().role))
        assert completion.tokens_out > 0, llm
    for llm in models:
        pieces = llm.stream(prompt("hello"))
        async with aclosing(pieces):  # type: ignore[type-var]  # all of ours are generators
            await anext(pieces)
        assert (await answer(llm, prompt("hello")))[0], llm


async def test_pieces_arrive_whole_while_the_answer_is_still_being_made_and_closing_hangs_up(
    vendor: VendorServer, model: Router
) -> None:
    for chunk in (1, 2, 3, 7):
        vendor.script.append(Answer(("Grüße, ", "日本", " 🦊!"), chunk=chunk))
        assert (await answer(model, prompt()))[0] == "Grüße, 日本 🦊!", chunk
    vendor.script.append(Answer(("early ",), Ending.ON_DEMAND))
    async with aclosing(model.stream(prompt())) as pieces:
        await read_until(pieces, "early ")
        vendor.drops.put_nowait("later")
        await read_until(pieces, "later")
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)


async def test_a_completion_tells_why_the_answer_stopped_and_counts_cached_tokens_within_all_input_tokens(
    vendor: VendorServer, model: Router
) -> None:
    for stop in ("end", "length", "refusal"):
        vendor.script.append(Answer(stop=stop))
        text, completion = await answer(model, prompt())
        assert (text, completion.stop) == ("one two three", stop)
        assert (completion.tokens_in, completion.tokens_cached, completion.tokens_out) == (2107, 2000, 30)
    vendor.script.append(Answer(()))
    text, completion = await answer(model, prompt())
    assert (text, completion.stop) == ("", "end"), "an answer may be empty"


async def test_a_status_that_no_retry_changes_is_refused_with_a_hint(vendor: VendorServer, model: Router) -> None:
    hints = {
        400: "chat model",
        401: "API_KEY",
        402: "credit",
        403: "API_KEY",
        404: "SOUL_PERSONA_MODEL",
        413: "larger context",
        307: "BASE_URL",
    }
    for number, (status, hint) in enumerate(hints.items(), start=1):
        headers = {"location": "http://127.0.0.1:9/"} if status == 307 else {}
        vendor.script.append(Answer(status=status, headers=headers))
        error = await fault(model)
        assert isinstance(error, ModelRefused), status
        assert hint in error.hint
        assert isinstance(error, NoAccess) is (status not in {400, 413}), f"is {status} for the admin alone?"
        assert len(vendor.asked) == number


async def test_a_passing_status_is_unavailable_and_not_retried_by_the_sdk(vendor: VendorServer, model: Router) -> None:
    for number, status in enumerate((408, 409, 429, 500, 502, 503, 529), start=1):
        vendor.script.append(Answer(status=status))
        error = await fault(model)
        assert isinstance(error, ModelUnavailable), status
        assert error.__cause__ is not None
        assert len(vendor.asked) == number


async def test_what_a_server_says_of_a_failure_tells_whether_it_loads_how_long_to_wait_and_who_can_help(
    vendor: VendorServer, model: Router
) -> None:
    for status, said, loads in (
        (503, "Loading model", True),
        (503, "Model google/gemma is currently loading", True),
        (503, "The server is warming up", True),
        (503, "Overloaded", False),
        (503, "failed to load the model", False),
        (500, "Loading model failed", False),
    ):
        vendor.script.append(Answer(status=status, message=said))
        error = await fault(model)
        assert isinstance(error, ModelUnavailable), said
        assert isinstance(error, StillLoading) is loads, said
    for headers, seconds in (
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ):
        vendor.script.append(Answer(status=429, headers=headers))
        error = await fault(model)
        assert isinstance(error, ModelUnavailable)
        assert error.retry_after == seconds, headers
    for refused, said, for_the_admin in (
        (Answer((), stop="refusal"), "declined", False),
        (Answer(status=429, kind="insufficient_quota"), "no credit", True),
        (Answer(status=400, message="prompt is too long: 300000 tokens > 200000 maximum"), "too long", False),
    ):
        vendor.script.append(refused)
        error = await fault(model)
        assert isinstance(error, ModelRefused), said
        assert said in error.message
        assert isinstance(error, NoAccess) is for_the_admin, said
    for words in ("Your input was flagged", "blocked by a guardrail", "it violates a content policy"):
        vendor.script.append(Answer(status=403, message=words))
        error = await fault(model)
        assert isinstance(error, ModelRefused), words
        assert not isinstance(error, NoAccess), f"the key is well: {words}"


def limit_of(vendor: VendorServer) -> int:
    """The output limit of the newest request."""
    body = vendor.asked[-1].body
    return int(body.get("max_tokens") or body["max_completion_tokens"])


async def test_what_a_prompt_leaves_of_a_small_context_is_asked_for_and_no_room_is_too_long(
    vendor: VendorServer, model: Router
) -> None:
    long = replace(prompt(), max_output_tokens=6_000)
    await answer(model, long)
    asked = limit_of(vendor)
    for refusal in (
        "context length is 4096 tokens. However, you requested {sum} tokens (1,130 in the messages, {asked} more)",
        "{asked} is too large: the model's context length is 4096 tokens and your request has 1130 input tokens",
        "input length and `max_tokens` exceed context limit: 1130 + {asked} > 4096, decrease them",
    ):
        vendor.script.append(Answer(status=400, message=refusal.format(asked=asked, sum=asked + 1130)))
        assert (await answer(model, long))[0] == "one two three"
        assert limit_of(vendor) == 4096 - 1130, refusal
        await answer(model, long)
        assert limit_of(vendor) == asked, refusal
    await answer(model, prompt())
    asked = limit_of(vendor)
    refusal = (
        f"maximum context length is 4096 tokens, you requested {asked + 4000} (4000 in the messages, {asked} more)"
    )
    vendor.script.append(Answer(status=400, message=refusal))
    with pytest.raises(ModelRefused, match="too long"):
        await answer(model, prompt())


async def test_an_answer_that_breaks_off_or_is_garbage_is_unavailable_and_no_other_error(
    vendor: VendorServer, model: Router
) -> None:
    for ending in (Ending.CUT, Ending.EARLY, Ending.ERROR_EVENT):
        vendor.script.append(Answer(("half ",), ending))
        pieces = model.stream(prompt())
        await read_until(pieces, "half ")
        with pytest.raises(ModelUnavailable, match="in the middle"):
            assert not [piece async for piece in pieces if piece]
    for raw in (
        b"event: content_block_delta\ndata: {not json}\n\n",
        b"event: content_block_delta\ndata: null\n\n",
        b"event: content_block_delta\ndata: [1, 2]\n\n",
        b"event: message_start\ndata: {}\n\n",
        b'event: content_block_delta\ndata: {"type": "content_block_delta", "choices": 5}\n\n',
        NUMBERS_FOR_TEXT,
        b'event: content_block_delta\ndata: "\xff\xfe"\n\n',
        b"\x00\x01\x02",
        b"",
        b"<html>gateway</html>",
    ):
        vendor.script.append(Answer(raw=raw))
        assert isinstance(await fault(model), ModelUnavailable), raw


async def test_one_answer_can_not_fill_the_memory(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer((f"{'x' * 65536}",), Ending.ENDLESS, chunk=1 << 16))
    with pytest.raises(ModelUnavailable, match="bytes"):
        await answer(model, prompt())
    assert vendor.sent_bytes < 32 << 20


async def test_the_key_travels_in_the_authorization_header_alone_and_no_error_shows_it(
    vendor: VendorServer, model: Router
) -> None:
    await answer(model, prompt("hello", "hi", "bye", schema=SCHEMA, creativity=0.5))
    asked = vendor.asked[0]
    bearing = [name.lower() for name, value in asked.headers.items() if KEY in value]
    assert bearing == ["authorization"]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{asked.body}{asked.path}"
    for status in (400, 401, 403, 404, 422, 429, 500):
        vendor.script.append(Answer(status=status, message=f"Incorrect API key provided: {KEY}"))
        error = await fault(model)
        assert error is not None, status
        assert KEY not in f"{error!s}{error!r}{error.hint}", status
        assert KEY not in "".join(traceback.format_exception(error)), status


async def test_structured_output_is_asked_for_by_schema_or_in_words_and_messages_in_the_form_that_apis_accept(
    vendor: VendorServer, model: Router
) -> None:
    vendor.script.append(Answer(('{"verb": ', '"hums", "count": 1}')))
    text, _ = await answer(model, prompt(schema=SCHEMA))
    assert text == '{"verb": "hums", "count": 1}'
    body = vendor.asked[0].body
    sent = body.get("output_config", {}).get("format") or body["response_format"]["json_schema"]
    assert sent["schema"] == {
        "type": "object",
        "properties": {
            "verb": {"type": "string", "description": "(maxLength: 20)"},
            "count": {"type": "integer", "description": "(minimum: 1)"},
        },
        "required": ["verb", "count"],
        "additionalProperties": False,
    }
    await answer(model, prompt(schema={"type": "object", "additionalProperties": {"type": "string"}}))
    assert "JSON Schema" in str(vendor.asked[-1].body)
    assert "json_schema" not in str(vendor.asked[-1].body)
    asked = prompt("", "I was saying", "a\ud800b\0c", "and then", system=())
    await answer(model, asked)
    sent = [(each["role"], each["content"]) for each in vendor.asked[-1].body["messages"]]
    assert [role for role, _ in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[1:4] == [("assistant", "I was saying"), ("user", "a\ufffdbc"), ("assistant", "and then")]


async def test_a_back_end_without_structured_output_is_asked_in_words_from_then_on(
    vendor: VendorServer, model: Router
) -> None:
    refusal = "output_config.format is not supported" if vendor.name == "anthropic" else "response_format: unsupported"
    vendor.script.append(Answer(status=400, message=refusal, kind="invalid_request_error"))
    assert (await answer(model, prompt(schema=SCHEMA)))[0] == "one two three"
    await answer(model, prompt(schema=SCHEMA))
    assert len(vendor.asked) == 3
    for asked in vendor.asked[1:]:
        assert "response_format" not in asked.body
        assert "output_config" not in asked.body
        assert "JSON Schema" in str(asked.body)


async def test_a_schema_that_is_refused_in_words_that_nobody_knows_is_asked_for_in_words(
    vendor: VendorServer, model: Router
) -> None:
    """From then on, and for that step alone. The first two are known: the schema is too large."""
    for number, (status, refusal) in enumerate(
        (
            (400, "The compiled grammar is too large, which would cause performance issues. Simplify your schemas."),
            (400, "Schemas contains too many optional parameters (30), which would make compilation inefficient."),
            (400, "The specified schema produces a constraint that has too many states for serving."),
            (400, "Failed to parse grammar"),
            (400, "Failed to validate JSON. Please adjust your prompt. See 'failed_generation' for more details."),
            (422, "guided_json is not supported"),
            (400, ""),
            (500, "failed to load model vocabulary required for format"),
            (500, "Failed to initialize samplers: failed to parse grammar"),
        )
    ):
        vendor.script.append(Answer(status=status, message=refusal, kind="invalid_request_error"))
        large = replace(prompt(schema=SCHEMA), step=f"think {number}")
        assert (await answer(model, large))[0] == "one two three"
        await answer(model, large)
        await answer(model, prompt(schema=SCHEMA))
        in_words = ["JSON Schema" in str(asked.body) for asked in vendor.asked[-4:]]
        assert in_words == [False, True, True, False], refusal


async def test_a_request_that_is_refused_without_its_schema_too_keeps_its_schema_and_tells_the_last_refusal(
    vendor: VendorServer, model: Router
) -> None:
    refused = Answer(status=400, message="this content was blocked", kind="invalid_request_error")
    vendor.script.extend([refused, refused])
    with pytest.raises(ModelRefused, match="this content was blocked"):
        await answer(model, prompt(schema=SCHEMA))
    await answer(model, prompt(schema=SCHEMA))
    assert ["JSON Schema" in str(asked.body) for asked in vendor.asked] == [False, True, False]


async def test_what_is_too_long_is_not_sent_again_without_its_schema(vendor: VendorServer, model: Router) -> None:
    for number, message in enumerate(
        ("prompt is too long: 300000 tokens", "This model's maximum context length is 4096"), start=1
    ):
        vendor.script.append(Answer(status=400, message=message, kind="invalid_request_error"))
        with pytest.raises(ModelRefused, match="too long"):
            await answer(model, prompt(schema=SCHEMA))
        assert len(vendor.asked) == number


async def test_a_proxy_in_the_environment_is_not_used_for_this_machine(
    vendor: VendorServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    router = Router(settings_for(vendor), clock)
    assert (await answer(router, prompt()))[0] == "one two three"
    await router.aclose()


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
