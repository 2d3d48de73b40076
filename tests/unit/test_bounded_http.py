"""What a server may send is bounded: a whole answer, or each event of a stream."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from itertools import product

import httpx2

from daemon.core.http import MAX_RESPONSE_BYTES, OversizedResponseError, bound_responses

_MIB = 1024 * 1024


async def _read(*pieces: bytes, each_event: bool = True, headers: Mapping[str, str] = {}) -> tuple[int, list[str]]:
    """Bytes read of an answer in these pieces, and the reasons for reading no more."""

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream", **headers}, content=body())

    reasons, size = list[str](), 0
    hooks = {"response": [bound_responses(reasons.append, each_event=each_event)]}
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), event_hooks=hooks) as client:
        with suppress(OversizedResponseError):
            async with client.stream("GET", "http://tools.test/") as response:
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
    return size, reasons


async def test_a_stream_of_events_may_go_on_for_ever() -> None:
    for end, cut in product((b"\n\n", b"\r\n\r\n", b"\r\r"), (0, 1, 3)):
        event = b"data: " + b"x" * _MIB + end
        pieces = [event[: len(event) - cut], event[len(event) - cut :]] * (MAX_RESPONSE_BYTES // _MIB + 2)
        read = await _read(*(one for one in pieces if one))
        assert read == (len(b"".join(pieces)), []), (end, cut)


async def test_an_event_that_does_not_end_an_answer_as_a_whole_and_a_compressed_one_are_not_read_on() -> None:
    size, reasons = await _read(b"data: 1\n\n", *[b"x" * _MIB] * 40)
    assert size <= MAX_RESPONSE_BYTES + 10
    assert reasons == [f"it sent more than {MAX_RESPONSE_BYTES} bytes"]
    _, reasons = await _read(*[b"data: 1" + b"x" * _MIB + b"\n\n"] * 40, each_event=False)
    assert reasons == [f"it sent more than {MAX_RESPONSE_BYTES} bytes"]
    _, reasons = await _read(*[b"\n\n" + b"x" * _MIB] * 40, headers={"content-type": "application/json"})
    assert reasons == [f"it sent more than {MAX_RESPONSE_BYTES} bytes"]
    assert await _read(b"anything", headers={"content-encoding": "gzip"}) == (
        0,
        ["it sent a compressed answer, though nobody asked for that"],
    )
