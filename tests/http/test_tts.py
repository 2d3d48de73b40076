"""Text read aloud: by an endpoint on loopback, by a program, or not at all, with a hint that helps."""

import sys
from pathlib import Path

import aiohttp
import pytest

from daemon.app import side_calls
from daemon.channels.http import chat as tts
from tests.http.daemons import HttpHome, bearer
from tests.http.speech_endpoint import Endpoint
from tests.store.parts import look

SPEAKER = """#!{python}
import json, os, sys
words = sys.stdin.buffer.read().decode()
mood = words.split()[0]
if mood == "fail":
    sys.exit(3)
if mood == "hang":
    import time
    time.sleep(60)
if mood != "silence":
    said = {{"argv": sys.argv[1:], "words": words, "environment": sorted(os.environ)}}
    sys.stdout.buffer.write(b"RIFF" + json.dumps(said).encode())
"""


@pytest.fixture
async def spoken(empty: HttpHome, tmp_path: Path) -> HttpHome:
    """A daemon whose espeak-ng is a program that reports how it was called."""
    program = tmp_path / "espeak"
    program.write_text(SPEAKER.format(python=sys.executable))
    program.chmod(0o755)
    empty.espeak = str(program)
    await empty.start()
    return empty


@pytest.fixture
async def relayed(empty: HttpHome, endpoint: Endpoint) -> HttpHome:
    """A daemon that speaks through the endpoint."""
    await empty.start(tts_url=endpoint.url, tts_api_key="the-speech-key")
    return empty


async def test_the_endpoints_audio_comes_as_it_is_made(relayed: HttpHome, endpoint: Endpoint) -> None:
    url = relayed.url("/api/soul/tts")
    async with relayed.client.post(url, json={"text": "hello"}, headers=bearer()) as response:
        assert response.headers["Content-Type"] == "audio/mpeg"
        assert await response.content.readany() == b"first"
        endpoint.more.set()
        assert await response.read() == b" second"
    assert endpoint.heard == [{"model": "gpt-4o-mini-tts", "voice": "alloy", "input": "hello"}]
    assert endpoint.keys == ["Bearer the-speech-key"]
    assert (await relayed.post("/api/soul/tts", {"text": "hello", "voice": "echo"})).status == 200
    assert endpoint.heard[1]["voice"] == "echo"
    moods = ("refuses", "says html", "is empty", "redirects")
    for endpoint.mood in moods:
        got = await relayed.post("/api/soul/tts", {"text": "hello"})
        assert (got.status, got.code) == (502, "speech_failed"), endpoint.mood
        assert "secrets" not in got.body.decode()
    assert len(relayed.events.named("http.speech_failed")) == len(moods)


async def test_an_endpoint_that_can_not_be_reached_is_a_502(empty: HttpHome) -> None:
    await empty.start(tts_url="http://127.0.0.1:1/v1")
    assert (await empty.post("/api/soul/tts", {"text": "hello"})).code == "speech_failed"


async def test_a_recording_that_breaks_off_does_not_pass_as_whole_and_endless_audio_is_cut(
    relayed: HttpHome, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.mood = "breaks"
    url = relayed.url("/api/soul/tts")
    async with relayed.client.post(url, json={"text": "hello"}, headers=bearer()) as response:
        assert await response.content.readany() == b"first"
        endpoint.more.set()
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await response.read()
    monkeypatch.setattr(tts, "_MOST_BYTES", 3)
    endpoint.mood = "well"
    with pytest.raises((aiohttp.ClientError, ConnectionError)):
        async with relayed.client.post(url, json={"text": "hello"}, headers=bearer()) as response:
            await response.read()


async def test_the_program_gets_the_text_and_no_keys(spoken: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    got = await spoken.post("/api/soul/tts", {"text": "-f /etc/passwd naïve", "voice": "en+f3"})
    assert (got.status, got.headers["Content-Type"]) == (200, "audio/wav")
    said = got.body.decode().removeprefix("RIFF")
    assert '"argv": ["--stdin", "--stdout", "-b", "1", "-v", "en+f3"]' in said
    assert "/etc/passwd na\\u00efve" in said
    assert "TOKEN" not in said
    assert "PATH" not in said
    for mood in ("fail", "silence"):
        got = await spoken.post("/api/soul/tts", {"text": mood})
        assert (got.status, got.code) == (502, "speech_failed"), mood
    monkeypatch.setattr(tts, "_ESPEAK_SECONDS", 0.3)
    got = await spoken.post("/api/soul/tts", {"text": "hang"})
    assert (got.status, got.code) == (502, "speech_failed")
    assert "too long" in str(spoken.events.named("http.speech_failed")[-1]["reason"])


async def test_without_any_speech_the_hint_says_what_to_set_or_install(home: HttpHome) -> None:
    got = await home.post("/api/soul/tts", {"text": "hello"})
    assert (got.status, got.code) == (501, "no_voice")
    assert "SOUL_TTS_URL" in got.json["error"]["hint"]
    assert "espeak-ng" in got.json["error"]["hint"]
    for body in ({"text": ""}, {"text": "x" * 4001}, {"text": "x", "voice": "-f"}, {"voice": "en"}):
        assert (await home.post("/api/soul/tts", body)).code == "invalid", body


async def test_what_is_read_aloud_elsewhere_is_counted_and_refused_where_the_cap_is_met(
    empty: HttpHome, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(side_calls, "is_loopback", lambda _: False)
    monkeypatch.setattr(side_calls, "_OPENAI", "127.0.0.1")
    endpoint.more.set()
    await empty.start(tts_url=endpoint.url, tts_model="tts-1", max_usd_a_day=0.0001)
    assert (await empty.post("/api/soul/tts", {"text": "hello"})).status == 200
    got = await empty.post("/api/soul/tts", {"text": "hello again"})
    assert (got.status, got.code) == (503, "not_paid")
    assert [one["input"] for one in endpoint.heard] == ["hello"]
    await empty.now.stop()  # the audio is out before it is counted
    calls = look(empty.home / "memory.db", "SELECT step, outcome, cost_usd FROM llm_calls")
    assert calls == [("speak", "ok", pytest.approx(5 * 15e-6))]
