"""Talking over HTTP: a message is stored once, then answered as a stream, now or whenever its sender asks again."""

import secrets
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import Kept, Replies
from daemon.channels.http.errors import Refusal
from daemon.channels.http.live_replies import Hub
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import ChatAnswer, ChatPending, ChatRequest
from daemon.channels.http.stream import Question, Stream, done, without_words
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import Acceptance, Clock, Emit, Intake, NewMessage

NAME: Final = "http"
_MOST_STREAMS: Final = 256
_TRIES: Final = 8


def author_of(session: str) -> str:
    """Whoever talks in a session, and who alone may ever hear what was said there."""
    return f"{NAME}.{session}"


class Chat:
    """The two chat endpoints. `soul` and `workspace` say whose conversations they are."""

    def __init__(
        self, soul: str, workspace: str, *, intake: Intake, replies: Replies, hub: Hub, clock: Clock, emit: Emit
    ) -> None:
        self._soul = soul
        self._workspace = workspace
        self._intake = intake
        self._replies = replies
        self._hub = hub
        self._clock = clock
        self._emit = emit
        self._last_ts = 0

    def conversation(self, session: str) -> ConversationKey:
        """The conversation of a session."""
        return ConversationKey(self._soul, self._workspace, NAME, session)

    async def say(self, request: web.Request) -> web.StreamResponse:
        """POST /api/soul/chat. Raises Refusal, StoreError."""
        asked = await read_body(request, ChatRequest)
        if self._hub.listening >= _MOST_STREAMS:
            raise Refusal(503, "busy", "Too many answers are being read.", "try again", {"Retry-After": "5"})
        session = asked.session or secrets.token_urlsafe(16)
        question = Question(self.conversation(session), asked.message_id or secrets.token_urlsafe(16))
        known = await self._known(question, asked)
        with self._hub.listen(question.conversation, known.ts if known else self._next_ts()) as ear:
            if known is None:
                ear.ts = float(await self._hear(question, asked))
            stream = Stream(question, self._replies, self._hub, self._clock, self._emit)
            return await stream.run(request, ear)

    async def answer(self, request: web.Request) -> web.Response:
        """GET /api/soul/chat/{session}/{message_id}. Raises Refusal, StoreError."""
        session, message_id = request.match_info["session"], request.match_info["message_id"]
        question = Question(self.conversation(session), message_id)
        kept = await self._replies.find(question.conversation, message_id)
        if kept is None:
            raise Refusal(404, "unknown_message", "No such message came.", "POST it to /api/soul/chat")
        if not kept.settled:
            pending = ChatPending(session=session, message_id=message_id)
            return web.json_response(body=pending.model_dump_json().encode(), status=202, headers={"Retry-After": "1"})
        if not kept.parts:
            message, hint = without_words(kept)
            raise Refusal(410, "no_answer", message, hint)
        answer: ChatAnswer = done(question, kept)
        return web.json_response(body=answer.model_dump_json().encode("utf-8", "replace"))

    async def _known(self, question: Question, asked: ChatRequest) -> Kept | None:
        """The message, where it came before. Raises Refusal when it had other words then."""
        if asked.message_id is None or asked.session is None:  # an id that we have just made up
            return None
        kept = await self._replies.find(question.conversation, question.message_id)
        if kept is not None and kept.said != asked.message:
            hint = "give every message an id of its own"
            raise Refusal(409, "other_words", "A message with other words has this message_id.", hint)
        return kept

    async def _hear(self, question: Question, asked: ChatRequest) -> str:
        """Store a message once; gives the ts that it has. Raises StoreError when it could not be stored."""
        event = f"{NAME}/{question.session}/{question.message_id}"
        for attempt in range(_TRIES):
            ts = self._next_ts()
            message = self._message(question, asked, f"{event}/{attempt}" if attempt else event, ts)
            if await self._intake.accept(message) is not Acceptance.DUPLICATE:
                return ts
            # Either the same message came a moment ago, or another one has this very ts.
            if (kept := await self._known(question, asked)) is not None:
                return kept.ts
        raise Refusal(503, "busy", "The message could not be stored.", "try again", {"Retry-After": "1"})

    def _message(self, question: Question, asked: ChatRequest, event_id: str, ts: str) -> NewMessage:
        author = author_of(question.session)
        audience = Audience(AudienceKind.DM, author)
        said = Perception.of_message(
            conversation=question.conversation,
            ts=ts,
            author=author,
            content=asked.message,
            place=Place.TERMINAL,
            audience=audience,
            name=asked.name or "",
        )
        return NewMessage(event_id, said, addressed=True, message_id=question.message_id)

    def _next_ts(self) -> str:
        """Seconds with six decimals, as Slack writes them, always more than before."""
        self._last_ts = max(self._last_ts + 1, self._clock.now_ms() * 1000 + secrets.randbelow(1000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"
