"""The contract of `Provider` for every protocol, against real servers on loopback."""

import asyncio
import traceback
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest

from daemon.core.errors import ModelRefused, ModelUnavailable, NoAccess
from daemon.core.ports.models import LLM, Completion
from daemon.llm.placeholder import Placeholder
from daemon.llm.provider import ClosableLLM
from daemon.llm.router import Router
from tests.fakes import TIMEOUT, FakeClock
from tests.llm.conftest import settings_for
from tests.llm.prompts import SCHEMA, answer, prompt, read_until
from tests.llm.providers import KEY, Answer, AnthropicServer, Ending, OpenAIServer, VendorServer
from tests.models import ScriptedLLM

NUMBERS_FOR_TEXT = (
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5}, '
    b'"choices": [{"delta": {"content": 5}, "finish_reason": null}]}\n\n'
)


@pytest.fixture(params=["anthropic", "openai", "placeholder", "scripted"])
async def any_llm(
    request: pytest.FixtureRequest, anthropic_server: AnthropicServer, openai_server: OpenAIServer, clock: FakeClock
) -> AsyncIterator[ClosableLLM]:
    llm: ClosableLLM
    match request.param:
        case "anthropic":
            llm = Router(settings_for(anthropic_server), clock)
        case "openai":
            llm = Router(settings_for(openai_server), clock)
        case "placeholder":
            llm = Router(settings_for(openai_server, persona_model="placeholder/echo"), clock)
        case _:
            llm = ScriptedLLM(["one ", "two ", "three"])
    yield llm
    await llm.aclose()


async def test_every_model_streams_text_and_then_one_completion_of_its_own_id(any_llm: LLM) -> None:
    text, completion = await answer(any_llm, prompt("hello"))
    assert text
    assert completion.stop == "end"
    assert completion.model == any_llm.model_for(prompt().role)
    assert completion.tokens_out > 0


async def test_closing_a_stream_half_way_leaves_the_model_usable(any_llm: LLM) -> None:
    if isinstance(any_llm, ScriptedLLM):
        any_llm.default = "again"
    pieces = any_llm.stream(prompt("hello"))
    async with aclosing(pieces):  # type: ignore[type-var]  # all of ours are generators
        await anext(pieces)
    assert (await answer(any_llm, prompt("hello")))[0]


async def test_pieces_arrive_while_the_answer_is_still_being_made(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(("early ",), Ending.ON_DEMAND))
    async with aclosing(model.stream(prompt())) as pieces:
        await read_until(pieces, "early ")
        vendor.drops.put_nowait("later")
        await read_until(pieces, "later")


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
async def test_characters_cut_across_chunks_are_whole(vendor: VendorServer, model: Router, chunk: int) -> None:
    vendor.script.append(Answer(("Grüße, ", "日本", " 🦊!"), chunk=chunk))
    assert (await answer(model, prompt()))[0] == "Grüße, 日本 🦊!"


async def test_usage_counts_cached_tokens_within_all_input_tokens(vendor: VendorServer, model: Router) -> None:
    _, completion = await answer(model, prompt())
    assert (completion.tokens_in, completion.tokens_cached, completion.tokens_out) == (2107, 2000, 30)


@pytest.mark.parametrize("stop", ["end", "length", "refusal"])
async def test_the_stop_reason_is_in_the_completion(vendor: VendorServer, model: Router, stop: str) -> None:
    vendor.script.append(Answer(stop=stop))
    text, completion = await answer(model, prompt())
    assert (text, completion.stop) == ("one two three", stop)


async def test_declining_before_any_text_is_a_refusal(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer((), stop="refusal"))
    with pytest.raises(ModelRefused, match="declined"):
        await answer(model, prompt())


async def test_an_empty_answer_is_a_completion_without_text(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(()))
    text, completion = await answer(model, prompt())
    assert (text, completion.stop) == ("", "end")


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "chat model"),
        (401, "API_KEY"),
        (402, "credit"),
        (403, "API_KEY"),
        (404, "SOUL_PERSONA_MODEL"),
        (413, "larger context"),
        (307, "BASE_URL"),
    ],
)
async def test_a_status_that_no_retry_changes_is_refused_with_a_hint(
    vendor: VendorServer, model: Router, status: int, hint: str
) -> None:
    vendor.script.append(Answer(status=status, headers={"location": "http://127.0.0.1:9/"} if status == 307 else {}))
    with pytest.raises(ModelRefused) as caught:
        await answer(model, prompt())
    assert hint in caught.value.hint
    assert isinstance(caught.value, NoAccess) is (status in {401, 402, 403, 404, 307}), "is it for the admin alone?"
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_passing_status_is_unavailable_and_not_retried_by_the_sdk(
    vendor: VendorServer, model: Router, status: int
) -> None:
    vendor.script.append(Answer(status=status))
    with pytest.raises(ModelUnavailable):
        await answer(model, prompt())
    assert len(vendor.asked) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Sat, 21 Nov 2026 10:00:30 GMT", "date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_providers_retry_after_is_passed_on(
    vendor: VendorServer, model: Router, headers: dict[str, str], seconds: float | None
) -> None:
    vendor.script.append(Answer(status=429, headers=headers))
    with pytest.raises(ModelUnavailable) as caught:
        await answer(model, prompt())
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize("words", ["Your input was flagged", "blocked by a guardrail", "it violates a content policy"])
async def test_a_prompt_that_is_refused_for_its_content_is_no_matter_of_the_key(
    vendor: VendorServer, model: Router, words: str
) -> None:
    vendor.script.append(Answer(status=403, message=words))
    with pytest.raises(ModelRefused) as caught:
        await answer(model, prompt())
    assert not isinstance(caught.value, NoAccess)


async def test_no_credit_is_refused_although_it_comes_as_429(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(status=429, kind="insufficient_quota"))
    with pytest.raises(ModelRefused, match="no credit"):
        await answer(model, prompt())


async def test_a_prompt_that_is_too_long_is_named_as_such(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(status=400, message="prompt is too long: 300000 tokens > 200000 maximum"))
    with pytest.raises(ModelRefused, match="too long"):
        await answer(model, prompt())


@pytest.mark.parametrize(
    "refusal",
    [
        "context length is 4096 tokens. However, you requested {sum} tokens (1,130 in the messages, {asked} more)",
        "{asked} is too large: the model's context length is 4096 tokens and your request has 1130 input tokens",
        "input length and `max_tokens` exceed context limit: 1130 + {asked} > 4096, decrease them",
    ],
)
async def test_what_a_prompt_leaves_of_a_small_context_is_asked_for_and_forgotten(
    vendor: VendorServer, model: Router, refusal: str
) -> None:
    def limit(place: int) -> int:
        body = vendor.asked[place].body
        return int(body.get("max_tokens") or body["max_completion_tokens"])

    long = replace(prompt(), max_output_tokens=6_000)
    await answer(model, long)
    asked = limit(0)
    vendor.script.append(Answer(status=400, message=refusal.format(asked=asked, sum=asked + 1130)))
    assert (await answer(model, long))[0] == "one two three"
    await answer(model, long)
    assert [limit(place) for place in range(1, 4)] == [asked, 4096 - 1130, asked]


async def test_a_prompt_that_leaves_no_room_for_an_answer_is_refused_as_too_long(
    vendor: VendorServer, model: Router
) -> None:
    await answer(model, prompt())
    body = vendor.asked[0].body
    asked = int(body.get("max_tokens") or body["max_completion_tokens"])
    refusal = (
        f"maximum context length is 4096 tokens, you requested {asked + 4000} (4000 in the messages, {asked} more)"
    )
    vendor.script.append(Answer(status=400, message=refusal))
    with pytest.raises(ModelRefused, match="too long"):
        await answer(model, prompt())


@pytest.mark.parametrize("ending", [Ending.CUT, Ending.EARLY, Ending.ERROR_EVENT])
async def test_an_answer_that_breaks_off_is_unavailable_after_its_text(
    vendor: VendorServer, model: Router, ending: Ending
) -> None:
    vendor.script.append(Answer(("half ",), ending))
    pieces = model.stream(prompt())
    with pytest.raises(ModelUnavailable, match="in the middle"):
        await _drain(pieces, expecting="half ")


@pytest.mark.parametrize(
    "raw",
    [
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
    ],
)
async def test_garbage_is_unavailable_and_no_other_error(vendor: VendorServer, model: Router, raw: bytes) -> None:
    vendor.script.append(Answer(raw=raw))
    with pytest.raises(ModelUnavailable):
        await answer(model, prompt())


async def test_an_unreachable_vendor_is_unavailable(vendor: VendorServer, clock: FakeClock) -> None:
    address = vendor.url.rsplit(":", 1)[0] + ":9/v1"
    router = Router(settings_for(vendor, **{f"{vendor.name}_base_url": address}), clock)
    with pytest.raises(ModelUnavailable, match="can't be reached") as caught:
        await answer(router, prompt())
    await router.aclose()
    assert "BASE_URL" in caught.value.hint


async def test_one_answer_can_not_fill_the_memory(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer((f"{'x' * 65536}",), Ending.ENDLESS, chunk=1 << 16))
    with pytest.raises(ModelUnavailable, match="bytes"):
        await answer(model, prompt())
    assert vendor.sent_bytes < 32 << 20


async def test_closing_the_stream_hangs_up(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(("one ",), Ending.SILENT))
    async with aclosing(model.stream(prompt())) as pieces:
        await read_until(pieces, "one ")
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)


async def test_cancelling_the_reader_hangs_up(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(("one ",), Ending.SILENT))
    reading = asyncio.Event()

    async def read() -> None:
        async for piece in model.stream(prompt()):
            if piece == "one ":
                reading.set()

    task = asyncio.ensure_future(read())
    await reading.wait()
    task.cancel()
    await asyncio.wait_for(vendor.hung_up.wait(), TIMEOUT)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_key_travels_in_the_authorization_header_alone(vendor: VendorServer, model: Router) -> None:
    await answer(model, prompt("hello", "hi", "bye", schema=SCHEMA, creativity=0.5))
    asked = vendor.asked[0]
    bearing = [name.lower() for name, value in asked.headers.items() if KEY in value]
    assert bearing == ["authorization"]
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{asked.body}{asked.path}"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500])
async def test_no_error_ever_shows_the_key(vendor: VendorServer, model: Router, status: int) -> None:
    vendor.script.append(Answer(status=status, message=f"Incorrect API key provided: {KEY}"))
    with pytest.raises((ModelRefused, ModelUnavailable)) as caught:
        await answer(model, prompt())
    assert KEY not in f"{caught.value!s}{caught.value!r}{caught.value.hint}"
    assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_other_errors_keep_their_cause(vendor: VendorServer, model: Router) -> None:
    vendor.script.append(Answer(status=500))
    with pytest.raises(ModelUnavailable) as caught:
        await answer(model, prompt())
    assert caught.value.__cause__ is not None


async def test_structured_output_is_asked_for_by_schema(vendor: VendorServer, model: Router) -> None:
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


async def learns_to_ask_in_words(vendor: VendorServer, model: Router, refused: Answer) -> None:
    """A schema that is refused is asked for in words from then on, for that step alone."""
    vendor.script.append(refused)
    large = replace(prompt(schema=SCHEMA), step="think")
    assert (await answer(model, large))[0] == "one two three"
    await answer(model, large)
    await answer(model, prompt(schema=SCHEMA))
    in_words = ["JSON Schema" in str(asked.body) for asked in vendor.asked]
    assert in_words == [False, True, True, False]


@pytest.mark.parametrize(
    "refusal",
    [
        "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas.",
        "Schemas contains too many optional parameters (30), which would make grammar compilation inefficient.",
    ],
)
async def test_a_schema_that_is_too_large_for_a_back_end_is_asked_for_in_words_and_a_small_one_is_not(
    vendor: VendorServer, model: Router, refusal: str
) -> None:
    await learns_to_ask_in_words(vendor, model, Answer(status=400, message=refusal, kind="invalid_request_error"))


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, "The specified schema produces a constraint that has too many states for serving."),
        (400, "Failed to parse grammar"),
        (400, "Failed to validate JSON. Please adjust your prompt. See 'failed_generation' for more details."),
        (422, "guided_json is not supported"),
        (400, ""),
        (500, "failed to load model vocabulary required for format"),
        (500, "Failed to initialize samplers: failed to parse grammar"),
    ],
)
async def test_a_schema_that_is_refused_in_words_that_nobody_knows_is_asked_for_in_words(
    vendor: VendorServer, model: Router, status: int, refusal: str
) -> None:
    await learns_to_ask_in_words(vendor, model, Answer(status=status, message=refusal, kind="invalid_request_error"))


async def test_a_request_that_is_refused_without_its_schema_too_keeps_its_schema_and_tells_the_last_refusal(
    vendor: VendorServer, model: Router
) -> None:
    refused = Answer(status=400, message="this content was blocked", kind="invalid_request_error")
    vendor.script.extend([refused, refused])
    with pytest.raises(ModelRefused, match="this content was blocked"):
        await answer(model, prompt(schema=SCHEMA))
    await answer(model, prompt(schema=SCHEMA))
    assert ["JSON Schema" in str(asked.body) for asked in vendor.asked] == [False, True, False]


@pytest.mark.parametrize(
    "message", ["prompt is too long: 300000 tokens", "This model's maximum context length is 4096"]
)
async def test_what_is_too_long_is_not_sent_again_without_its_schema(
    vendor: VendorServer, model: Router, message: str
) -> None:
    vendor.script.append(Answer(status=400, message=message, kind="invalid_request_error"))
    with pytest.raises(ModelRefused, match="too long"):
        await answer(model, prompt(schema=SCHEMA))
    assert len(vendor.asked) == 1


async def test_a_schema_with_free_keys_is_asked_for_in_words(vendor: VendorServer, model: Router) -> None:
    await answer(model, prompt(schema={"type": "object", "additionalProperties": {"type": "string"}}))
    assert "JSON Schema" in str(vendor.asked[0].body)
    assert "json_schema" not in str(vendor.asked[0].body)


async def test_the_messages_take_the_form_that_apis_accept(vendor: VendorServer, model: Router) -> None:
    asked = prompt("", "I was saying", "a\ud800b\0c", "and then", system=())
    await answer(model, asked)
    sent = [(each["role"], each["content"]) for each in vendor.asked[0].body["messages"]]
    assert [role for role, _ in sent] == ["user", "assistant", "user", "assistant", "user"]
    assert sent[1:4] == [("assistant", "I was saying"), ("user", "a\ufffdbc"), ("assistant", "and then")]


async def test_a_proxy_in_the_environment_is_not_used_for_this_machine(
    vendor: VendorServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    router = Router(settings_for(vendor), clock)
    assert (await answer(router, prompt()))[0] == "one two three"
    await router.aclose()


async def test_two_first_calls_at_once_share_one_client(vendor: VendorServer, model: Router) -> None:
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(answer(model, prompt())) for _ in range(2))
    assert first.result()[0] == second.result()[0] == "one two three"


async def test_the_placeholder_keeps_its_pace_on_the_clock() -> None:
    clock = FakeClock(auto=True)
    from daemon.llm.model_id import parse_model_id

    pieces = [
        piece async for piece in Placeholder(clock, pace=0.05).stream(parse_model_id("placeholder/echo"), prompt("hi"))
    ]
    assert len(pieces) > 5
    assert clock.slept == [0.05] * (len(pieces) - 1)


async def _drain(pieces: object, *, expecting: str) -> None:
    assert hasattr(pieces, "__anext__")
    seen = ""
    try:
        while True:
            piece = await pieces.__anext__()
            assert not isinstance(piece, Completion)
            seen += piece
    finally:
        assert seen == expecting
