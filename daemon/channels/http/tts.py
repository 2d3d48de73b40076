"""Reads text aloud: through an OpenAI-compatible speech endpoint if one is set, else with espeak-ng."""

import asyncio
import shutil
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import aiohttp
from aiohttp import web

from daemon.channels.http.errors import Refusal
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import SpeechRequest
from daemon.core.config import Settings
from daemon.core.ports import Emit

ESPEAK: Final = "espeak-ng"
_AT_ONCE: Final = 2  # processes; each takes a core
_ESPEAK_SECONDS: Final = 30.0
_UPSTREAM: Final = aiohttp.ClientTimeout(total=120.0, sock_connect=10.0, sock_read=30.0)
_MOST_BYTES: Final = 64 * 1024 * 1024
_AUDIO: Final = ("audio/", "application/octet-stream")


class Tts:
    """The speech endpoint. `espeak` is the program to run where no upstream endpoint is set."""

    def __init__(self, settings: Settings, emit: Emit, *, espeak: str = ESPEAK) -> None:
        self._settings = settings
        self._emit = emit
        self._espeak = espeak
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def speak(self, request: web.Request) -> web.StreamResponse:
        """The audio of a text. Raises Refusal: 501 no speech set up, 502 the speech failed."""
        asked = await read_body(request, SpeechRequest)
        if self._settings.tts_url:
            return await self._from_upstream(request, asked)
        program = shutil.which(self._espeak)
        if program is None:
            hint = "set SOUL_TTS_URL to an OpenAI-compatible endpoint, or install espeak-ng"
            raise Refusal(501, "no_voice", "No speech is set up.", hint)
        async with self._slots:
            return web.Response(body=await self._from_espeak(program, asked), content_type="audio/wav")

    async def _from_upstream(self, request: web.Request, asked: SpeechRequest) -> web.StreamResponse:
        """Pass the endpoint's audio on as it comes (OpenAI: create speech)."""
        settings, key = self._settings, self._settings.tts_api_key
        try:
            async with (
                aiohttp.ClientSession(timeout=_UPSTREAM) as session,
                session.post(
                    f"{settings.tts_url.rstrip('/')}/audio/speech",
                    json={"model": settings.tts_model, "voice": asked.voice or settings.tts_voice, "input": asked.text},
                    headers={"Authorization": f"Bearer {key.get_secret_value()}"} if key else {},
                    allow_redirects=False,
                ) as answer,
            ):
                if answer.status != HTTPStatus.OK or not answer.content_type.startswith(_AUDIO):
                    raise self._failed(f"status {answer.status}, {answer.content_type}")
                return await self._pass_on(request, answer)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._failed(str(error) or type(error).__name__) from error

    async def _pass_on(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        """The response begins with the first bytes of audio: a failure before them still gets an error status."""
        piece, size = await answer.content.readany(), 0
        if not piece:
            raise self._failed("no audio came")
        response = web.StreamResponse(headers={"Content-Type": answer.content_type})
        await response.prepare(request)
        try:
            while piece and (size := size + len(piece)) <= _MOST_BYTES:
                await response.write(piece)
                piece = await answer.content.readany()
            if not piece:
                await response.write_eof()
                return response
            reason = "too much audio"
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            reason = str(error) or type(error).__name__
        self._emit("http.speech_failed", reason=reason)
        if request.transport is not None:
            request.transport.abort()  # an orderly end would make a torn recording look whole
        return response

    async def _from_espeak(self, program: str, asked: SpeechRequest) -> bytes:
        """A WAV file. The text goes in by stdin, so that it can't become an option; the schema checks the voice."""
        arguments = ["--stdin", "--stdout", "-b", "1", *(("-v", asked.voice) if asked.voice else ())]
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"LC_ALL": "C.UTF-8"},  # the daemon's own environment holds keys
        )
        try:
            async with asyncio.timeout(_ESPEAK_SECONDS):
                audio, _ = await process.communicate(asked.text.encode())
        except TimeoutError:
            raise self._failed("espeak-ng took too long") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.returncode or not audio:
            raise self._failed(f"espeak-ng ended with {process.returncode}")
        return audio

    def _failed(self, reason: str) -> Refusal:
        self._emit("http.speech_failed", reason=reason)
        return Refusal(502, "speech_failed", "The speech failed.", "try another voice, or ask the admin")
