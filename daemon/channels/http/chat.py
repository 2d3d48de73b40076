"""Chat and speech over HTTP: a message is stored once, then its reply is streamed or fetched."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from aiohttp import web

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.pairing import HttpIntake, SentWords
from daemon.channels.http.request import Refusal, read_body
from daemon.channels.http.schemas import ChatPending, ChatRequest, SpeechRequest
from daemon.channels.http.stream import LiveReplies, Question, ReplyStream, done, why_no_reply
from daemon.core.config import Settings
from daemon.core.errors import ModelUnavailable
from daemon.core.http import UNCOMPRESSED, is_loopback
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.services import Clock, Emit

if TYPE_CHECKING:
    from openai import AsyncOpenAI


NAME: Final = "http"
_MOST_STREAMS: Final = 256


def author_of(session: str) -> str:
    """Return the user id of a session: its author, and the only member of its audience."""
    return f"{NAME}.{session}"


class Chat:
    """The handlers of the two chat endpoints. `soul` and `workspace` are part of every conversation's key."""

    def __init__(
        self,
        soul: str,
        workspace: str,
        *,
        intake: HttpIntake,
        side: DaemonSide,
        live: LiveReplies,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self._soul = soul
        self._workspace = workspace
        self._intake = intake
        self._side = side
        self._live = live
        self._clock = clock
        self._emit = emit

    def conversation(self, session: str) -> ConversationKey:
        return ConversationKey(self._soul, self._workspace, NAME, session)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Store the message once, then stream its reply. Raises Refusal, StoreError."""
        asked = await read_body(request, ChatRequest)
        if self._live.reader_count >= _MOST_STREAMS:
            raise Refusal(503, "busy", "Too many clients are reading replies.", "try again", {"Retry-After": "5"})
        session = asked.session or secrets.token_urlsafe(16)
        question = Question(self.conversation(session), asked.message_id or secrets.token_urlsafe(16))
        fresh = asked.message_id is None or asked.session is None  # an id that was generated here can't be known
        known = None if fresh else await self._intake.known(question, asked.message)
        with self._live.reader(question.conversation, known.ts if known else self._intake.next_ts()) as reader:
            if known is None:
                author = author_of(session)
                message = SentWords(asked.message, author, asked.name or "", Audience(AudienceKind.DM, author))
                reader.ts = float(await self._intake.store(question, message))
            stream = ReplyStream(question, self._side, self._live, self._clock, self._emit)
            return await stream.run(request, reader)

    async def fetch(self, request: web.Request) -> web.Response:
        """Return the stored reply to one message. Raises Refusal, StoreError."""
        session, message_id = request.match_info["session"], request.match_info["message_id"]
        question = Question(self.conversation(session), message_id)
        reply = await self._side.find_reply(question.conversation, message_id)
        if reply is None:
            raise Refusal(404, "unknown_message", "No such message has arrived.", "POST it to /api/soul/chat")
        if not reply.settled:
            pending = ChatPending(session=session, message_id=message_id)
            return web.json_response(body=pending.model_dump_json().encode(), status=202, headers={"Retry-After": "1"})
        if reply.apology or not reply.parts:
            _, message, hint = why_no_reply(reply)
            raise Refusal(410, "no_answer", message, hint)
        return web.json_response(body=done(question, reply).model_dump_json().encode("utf-8", "replace"))


ESPEAK: Final = "espeak-ng"
_AT_ONCE: Final = 2  # processes; each takes a core
_ESPEAK_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 1024 * 1024
_AUDIO: Final = ("audio/", "application/octet-stream")


class Tts:
    """The handler of the speech endpoint. `espeak` is the program to run if no upstream endpoint is set."""

    def __init__(self, settings: Settings, emit: Emit, side: DaemonSide, *, espeak: str = ESPEAK) -> None:
        self._settings = settings
        self._emit = emit
        self._side = side
        self._espeak = espeak
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def speak(self, request: web.Request) -> web.StreamResponse:
        """Return the audio of a text. Raises Refusal: 501 no speech set up, 502 the speech failed, 503 a cap is met."""
        asked = await read_body(request, SpeechRequest)
        if self._settings.tts_url:
            return await self._paid(request, asked)
        program = shutil.which(self._espeak)
        if program is None:
            hint = "set SOUL_TTS_URL to an OpenAI-compatible endpoint, or install espeak-ng"
            raise Refusal(501, "no_voice", "No speech is set up.", hint)
        async with self._slots:
            return web.Response(body=await self._from_espeak(program, asked), content_type="audio/wav")

    async def _paid(self, request: web.Request, asked: SpeechRequest) -> web.StreamResponse:
        call, pay = partial(self._from_upstream, request, asked), self._side.pay_speech
        if pay is None:
            return await call()
        try:
            return await pay(asked.text, call)
        except ModelUnavailable as error:
            raise Refusal(503, "not_paid", error.message, error.hint) from error

    async def _from_upstream(self, request: web.Request, asked: SpeechRequest) -> web.StreamResponse:
        """Stream the endpoint's audio through OpenAI's SDK (create speech)."""
        import httpx2
        import openai

        voice = asked.voice or self._settings.tts_voice
        try:
            async with (
                await asyncio.to_thread(_connect, self._settings) as client,
                client.audio.speech.with_streaming_response.create(
                    model=self._settings.tts_model, voice=voice, input=asked.text
                ) as answer,
            ):
                kind = answer.headers.get("Content-Type", "").partition(";")[0]
                if not kind.startswith(_AUDIO):
                    raise self._failed(f"it sent {kind or 'no type'}")
                return await self._pass_on(request, kind, answer.iter_bytes())
        except openai.APIStatusError as error:
            raise self._failed(f"status {error.status_code}") from None  # the error's text may quote the request
        except (openai.OpenAIError, httpx2.HTTPError, TimeoutError) as error:
            raise self._failed(str(error) or type(error).__name__) from error

    async def _pass_on(self, request: web.Request, kind: str, pieces: AsyncIterator[bytes]) -> web.StreamResponse:
        """Begin the response with the first bytes of audio. A failure before them still returns an error status."""
        import httpx2

        piece, size = await anext(pieces, b""), 0
        if not piece:
            raise self._failed("no audio came")
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        try:
            while piece and (size := size + len(piece)) <= _MOST_BYTES:
                await response.write(piece)
                piece = await anext(pieces, b"")
            if not piece:
                await response.write_eof()
                return response
            reason = "too much audio"
        except (httpx2.HTTPError, TimeoutError, ConnectionError) as error:
            reason = str(error) or type(error).__name__
        self._emit("http.speech_failed", reason=reason)
        if request.transport is not None:
            request.transport.abort()  # an orderly end would make a torn recording look whole
        return response

    async def _from_espeak(self, program: str, asked: SpeechRequest) -> bytes:
        """Return a WAV file. The text goes in by stdin, not as an option. The schema checks the voice."""
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


def _connect(settings: Settings) -> "AsyncOpenAI":
    """Return a client for the speech endpoint. Call it in a thread, since the SDK takes a while to import.

    Redirects are not followed: they would send words to a host that is not configured.
    """
    import httpx2
    import openai
    import openai.resources.audio

    key = settings.tts_api_key
    return openai.AsyncOpenAI(
        api_key=key.get_secret_value() if key else "none",
        base_url=settings.tts_url,
        max_retries=0,
        http_client=httpx2.AsyncClient(
            timeout=httpx2.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(settings.tts_url).hostname or ""),
            headers=UNCOMPRESSED,
        ),
    )
