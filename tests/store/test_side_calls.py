"""Embeddings and transcriptions elsewhere are counted, and what has a price is paid under the cap."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aiohttp import web

from daemon.app.minds import build_meanings
from daemon.app.side_calls import (
    CountedTranscriber,
    PaidEmbedder,
    SideEndpoint,
    endpoint_of,
    paid_speech,
    side_calls,
)
from daemon.channels.http.daemon_side import PaySpeech
from daemon.core.config import Settings
from daemon.core.errors import ModelUnavailable
from daemon.core.ports.vectors import Unrelated
from daemon.memory.database import Database
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.store.parts import look

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

SMALL = SideEndpoint("embed", "openai/text-embedding-3-small", priced=True)
CALLS = "SELECT step, model, outcome, soul, tokens_in > 0, cost_usd > 0 FROM llm_calls ORDER BY seq"


class OneVector:
    """An embedder with one vector for all; it hangs or fails where a test says so."""

    id, unrelated = "one", Unrelated(0.0, 1.0)

    def __init__(self) -> None:
        self.asked = 0
        self.fault: Exception | None = None
        self.hangs = asyncio.Event()
        self.hangs.set()

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        self.asked += 1
        await self.hangs.wait()
        if self.fault is not None:
            raise self.fault
        return [np.ones(1, np.float32) for _ in texts]

    async def aclose(self) -> None:
        """Nothing is open."""


class OneWord:
    async def transcribe(self, name: str, data: bytes) -> str:
        return "hello"

    async def aclose(self) -> None:
        """Nothing is open."""


def paid(database: Database, inner: OneVector, **given: object) -> PaidEmbedder:
    settings = Settings(_env_file=None, **given)  # type: ignore[arg-type]  # validated by pydantic
    return PaidEmbedder(inner, side_calls(settings, database, FakeClock(auto=True), Events()), SMALL)


async def test_embeddings_are_counted_with_what_they_cost(database: Database, path: Path) -> None:
    for times, cap in ((1, None), (2, 1.0)):
        embedder = paid(database, OneVector(), max_usd_a_day=cap)
        assert len(await embedder.embed(["the loom", "the sea"])) == 2
        assert look(path, CALLS) == [("embed", SMALL.model, "ok", "minoan", 1, 1)] * times
        assert look(path, "SELECT count(*) FROM reservations") == [(0,)]
        assert look(path, "SELECT count(*) FROM spending WHERE paid_by = 'soul' AND nano > 0") == [(1,)]


async def test_a_call_that_fails_or_is_cancelled_leaves_no_reservation(database: Database, path: Path) -> None:
    inner = OneVector()
    embedder = paid(database, inner, max_usd_a_day=1.0)
    inner.fault = ModelUnavailable("down")
    with pytest.raises(ModelUnavailable, match="down"):
        await embedder.embed(["the loom"])
    inner.hangs.clear()
    under_way = asyncio.create_task(embedder.embed(["the sea"]))
    async with asyncio.timeout(TIMEOUT):
        while inner.asked < 2:  # noqa: ASYNC110 - the fake counts
            await asyncio.sleep(0.01)
    under_way.cancel()
    await asyncio.wait((under_way,))
    assert under_way.cancelled()
    assert [row[2] for row in look(path, CALLS)] == ["unavailable", "cancelled"]
    assert look(path, "SELECT count(*) FROM reservations") == [(0,)]


async def test_a_transcription_is_counted_as_a_call_of_unknown_price(database: Database, path: Path) -> None:
    to = endpoint_of("transcribe", "https://stt.example/v1", "whisper", by_text=False)
    assert to is not None
    calls = side_calls(Settings(_env_file=None), database, FakeClock(auto=True), Events())
    assert await CountedTranscriber(OneWord(), calls, to).transcribe("a.mp3", b"") == "hello"
    found = look(path, "SELECT step, model, outcome, cost_usd FROM llm_calls")
    assert found == [("transcribe", "whisper@stt.example", "ok", None)]


def speaking(database: Database, **given: object) -> PaySpeech | None:
    settings = Settings(_env_file=None, tts_url="https://api.openai.com/v1", **given)  # type: ignore[arg-type]  # as above
    return paid_speech(settings, database, FakeClock(auto=True), Events())


AUDIO = web.StreamResponse()


async def aloud() -> web.StreamResponse:
    return AUDIO


async def test_what_is_read_aloud_is_paid_by_its_letters(database: Database, path: Path) -> None:
    for model in ("tts-1", "tts-1-hd", "gpt-4o-mini-tts"):
        pay = speaking(database, tts_model=model, max_usd_a_day=1.0)
        assert pay is not None
        assert await pay("a" * 1_000, aloud) is AUDIO
    paid_for = "SELECT step, model, outcome, cost_bound, round(cost_usd, 6) FROM llm_calls ORDER BY seq"
    assert look(path, paid_for) == [
        ("speak", "openai/tts-1", "ok", 0, 0.015),
        ("speak", "openai/tts-1-hd", "ok", 0, 0.03),
        ("speak", "openai/gpt-4o-mini-tts", "ok", 1, 0.125),
    ]
    assert look(path, "SELECT count(*) FROM reservations") == [(0,)]
    assert look(path, "SELECT nano FROM spending WHERE paid_by = 'soul'") == [(170_000_000,)]


async def test_where_the_cap_leaves_no_room_nothing_is_asked_or_read_aloud(database: Database, path: Path) -> None:
    inner = OneVector()
    with pytest.raises(ModelUnavailable, match="cap of"):
        await paid(database, inner, max_usd_a_day=0.0).embed(["the loom"])
    assert not inner.asked
    pay = speaking(database, tts_model="tts-1", max_usd_a_day=0.01)
    assert pay is not None
    with pytest.raises(ModelUnavailable, match="cap of"):
        await pay("a" * 1_000, aloud)
    assert look(path, CALLS) == []
    assert await pay("a" * 600, aloud) is AUDIO
    with pytest.raises(ModelUnavailable, match="cap of"):
        await pay("a" * 100, aloud)


async def test_speech_on_this_machine_costs_nothing_and_elsewhere_an_unknown_sum(
    database: Database, path: Path
) -> None:
    for url in ("", "http://127.0.0.1:1/v1"):
        settings = Settings(_env_file=None, tts_url=url)
        assert paid_speech(settings, database, FakeClock(auto=True), Events()) is None
    settings = Settings(_env_file=None, tts_url="https://tts.example/v1", tts_model="voice")
    elsewhere = paid_speech(settings, database, FakeClock(auto=True), Events())
    assert elsewhere is not None
    assert await elsewhere("hello", aloud) is AUDIO
    found = look(path, "SELECT step, model, outcome, cost_usd FROM llm_calls")
    assert found == [("speak", "voice@tts.example", "ok", None)]


async def test_an_embedder_elsewhere_is_paid_and_one_here_costs_nothing(database: Database, tmp_path: Path) -> None:
    for url, kind in (("https://api.openai.com/v1", True), ("http://127.0.0.1:1/v1", False)):
        given = {"embedder": "endpoint", "embedder_url": url, "embedder_model": "text-embedding-3-small"}
        settings = Settings(_env_file=None, home=tmp_path, **given)  # type: ignore[arg-type]  # as above
        async with AsyncExitStack() as stack:
            made = build_meanings(settings, database, FakeClock(auto=True), Events(), stack)
            assert isinstance(made.embedder, PaidEmbedder) is kind
