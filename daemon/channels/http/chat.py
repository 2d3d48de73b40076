"""Chat and speech over HTTP: a message is stored once, then its reply is streamed or fetched."""

import asyncio
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import Field, StringConstraints

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.pairing import HttpIntake, SentWords
from daemon.channels.http.request import ID, SOME_TEXT, Id, Refusal, RequestModel, ResponseModel
from daemon.channels.http.routes import Headers, Parameter, route
from daemon.channels.http.stream import EVENTS, ChatAnswer, LiveReplies, Question, ReplyStream, done, require_words
from daemon.core.config import Settings
from daemon.core.errors import ModelUnavailable
from daemon.core.http import UNCOMPRESSED, is_loopback
from daemon.core.perception import Audience, AudienceKind, ConversationKey

if TYPE_CHECKING:
    from openai import AsyncOpenAI


NAME: Final = "http"
_MOST_STREAMS: Final = 256


def author_of(session: str) -> str:
    """Return the user id of a session: its author, and the only member of its audience."""
    return f"{NAME}.{session}"


_Name = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f]$"
    ),
]


class ChatRequest(RequestModel):
    """A message to the soul."""

    message: Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=SOME_TEXT)] = Field(
        description="The text: 1 to 20,000 characters, no control characters."
    )
    session: Id | None = Field(None, description="The conversation it belongs to. Left out: a new one.")
    message_id: Id | None = Field(
        None,
        description="Your own id for this message. Send the same id again and you get the same reply, never a second "
        "one. Left out: a new one.",
    )
    name: _Name | None = Field(None, description="The user's name, for the soul to address them; it gives no rights.")


class ChatPending(ResponseModel):
    """A reply that is being made."""

    session: str
    message_id: str


class SubprocessRequest(RequestModel):
    """A conversation whose background jobs are to run."""

    session: Id = Field(description="The conversation.")


class Queued(ResponseModel):
    """Background jobs that are queued."""

    queued: tuple[str, ...] = Field(description="The names of the jobs.")


class Chat:
    """The handlers of conversations. All may raise Refusal and StoreError."""

    def __init__(self, side: DaemonSide, intake: HttpIntake, live: LiveReplies) -> None:
        self._side = side
        self._intake = intake
        self._live = live

    def _conversation(self, session: str) -> ConversationKey:
        return ConversationKey(self._side.soul, self._side.workspace, NAME, session)

    @route(
        "POST",
        "/api/soul/chat",
        {200: "The reply as it is made."},
        {409: "A message with a different text has this message_id."},
        events=EVENTS,
    )
    async def chat(self, request: web.Request, asked: ChatRequest) -> web.StreamResponse:
        """Send a message and stream the reply.

        The reply comes as server-sent events: `soul:stream:start`, then any number of `soul:stream:chunk` and
        `soul:stream:task`, and at the end `soul:stream:done` or `soul:stream:error`. Chunks are a draft; the text of
        `done` is the reply. A second `start` means that the draft begins again. The message is stored before the
        stream begins, so a client that disconnects loses nothing: the same message_id in the same session brings the
        same reply again, also after a restart of the daemon. Lines that begin with a colon are keep-alives.
        """
        if self._live.reader_count >= _MOST_STREAMS:
            raise Refusal(503, "busy", "Too many clients are reading replies.", "try again", {"Retry-After": "5"})
        session = asked.session or secrets.token_urlsafe(16)
        question = Question(self._conversation(session), asked.message_id or secrets.token_urlsafe(16))
        fresh = asked.message_id is None or asked.session is None  # an id that was generated here can't be known
        known = None if fresh else await self._intake.known(question, asked.message)
        with self._live.reader(question.conversation, known.ts if known else self._intake.next_ts()) as reader:
            if known is None:
                author = author_of(session)
                message = SentWords(asked.message, author, asked.name or "", Audience(AudienceKind.DM, author))
                reader.ts = float(await self._intake.store(question, message))
            return await ReplyStream(question, self._side, self._live).run(request, reader)

    @route(
        "GET",
        "/api/soul/chat/{session}/{message_id}",
        {200: "The reply.", 202: "The reply is being made; ask again."},
        {404: "No such message has arrived.", 410: "There is no reply; the hint says what to do."},
    )
    async def answer(
        self,
        session: Annotated[str, Parameter("path", "The conversation.")],
        message_id: Annotated[str, Parameter("path", "The message in it.")],
        headers: Headers,
    ) -> ChatAnswer | ChatPending:
        """Fetch the reply to a message.

        For clients that don't read a stream.
        """
        question = Question(self._conversation(session), message_id)
        reply = await self._side.find_reply(question.conversation, message_id)
        if reply is None:
            raise Refusal(404, "unknown_message", "No such message has arrived.", "POST it to /api/soul/chat")
        if not reply.settled:
            headers["Retry-After"] = "1"
            return ChatPending(session=session, message_id=message_id)
        require_words(reply)
        return ChatAnswer(**done(question, reply).model_dump())

    @route("POST", "/api/soul/subprocess", {202: "The jobs are queued."}, {404: "No such conversation."})
    async def subprocess(self, asked: SubprocessRequest) -> Queued:
        """Queue the background jobs of a conversation.

        The jobs that the soul runs after a reply, such as modelling the user.
        """
        queued = await self._side.enqueue(self._conversation(asked.session))
        if queued is None:
            raise Refusal(404, "unknown_session", "No such conversation.", "POST a message to /api/soul/chat first")
        return Queued(queued=queued)

    @route(
        "GET",
        "/api/soul/personality",
        {200: "The personality."},
        {404: "The soul has no such mode.", 422: "That can't be the name of a mode."},
        kind="text/markdown",
    )
    async def personality(
        self,
        modes: Annotated[
            tuple[str, ...],
            Parameter("query", "One of the soul's modes, for instance `academic`.", name="mode"),
        ],
    ) -> web.Response:
        """Read the soul's personality.

        The soul's own markdown, or that of one of its modes.
        """
        if any(not re.fullmatch(ID, mode) for mode in modes) or len(modes) > 1:
            raise Refusal(422, "invalid", "That can't be the name of a mode.", "one name of letters, digits, - and _")
        text = self._side.personality(modes[0] if modes else "")
        if text is None:
            raise Refusal(404, "unknown_mode", "The soul has no such mode.", "leave mode out for the soul itself")
        return web.Response(text=text, content_type="text/markdown", charset="utf-8")


ESPEAK: Final = "espeak-ng"
_AT_ONCE: Final = 2  # processes; each takes a core
_ESPEAK_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 30.0
_MOST_BYTES: Final = 64 * 1024 * 1024
_AUDIO: Final = ("audio/", "application/octet-stream")
_Voice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_+.-]{0,63}$")]


class SpeechRequest(RequestModel):
    """A text to read aloud."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=SOME_TEXT)] = Field(
        description="The text: 1 to 4,000 characters, no control characters."
    )
    voice: _Voice | None = Field(None, description="A voice of the speech endpoint or of espeak-ng.")


class Tts:
    """The handler of the speech endpoint. `espeak` is the program to run if no upstream endpoint is set."""

    def __init__(self, side: DaemonSide, espeak: str) -> None:
        self._settings = side.settings
        self._emit = side.emit
        self._side = side
        self._espeak = espeak
        self._slots = asyncio.Semaphore(_AT_ONCE)

    @route(
        "POST",
        "/api/soul/tts",
        {200: "The audio; WAV from espeak-ng."},
        {
            501: "No speech is set up; the hint says what to set or install.",
            502: "The speech failed.",
            503: "The cap on what may be spent leaves no room for it, or memory.db can't be written; nothing was sent.",
        },
        kind="audio/*",
    )
    async def tts(self, request: web.Request, asked: SpeechRequest) -> web.StreamResponse:
        """Read a text aloud.

        Through the speech endpoint in the settings, else with espeak-ng. The endpoint's audio streams.
        """
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
