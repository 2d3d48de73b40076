"""Chat over HTTP: a message is stored once, then its reply is streamed or fetched, at once or on a later request."""

import secrets
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.live_replies import LiveReplies
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import ChatPending, ChatRequest
from daemon.channels.http.stream import Question, ReplyStream, done, why_no_reply
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import Acceptance, Clock, Emit, Intake, NewMessage, StoredReply

NAME: Final = "http"
_MOST_STREAMS: Final = 256
_TRIES: Final = 8


def author_of(session: str) -> str:
    """The user id of a session: its author, and the only member of its audience."""
    return f"{NAME}.{session}"


class Chat:
    """The two chat endpoints. `soul` and `workspace` are part of every conversation's key."""

    def __init__(
        self,
        soul: str,
        workspace: str,
        *,
        intake: Intake,
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
        self._last_ts = 0

    def conversation(self, session: str) -> ConversationKey:
        """The conversation of a session."""
        return ConversationKey(self._soul, self._workspace, NAME, session)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Store the message unless it came before, then stream its reply. Raises Refusal, StoreError."""
        asked = await read_body(request, ChatRequest)
        if self._live.reader_count >= _MOST_STREAMS:
            raise Refusal(503, "busy", "Too many clients are reading replies.", "try again", {"Retry-After": "5"})
        session = asked.session or secrets.token_urlsafe(16)
        question = Question(self.conversation(session), asked.message_id or secrets.token_urlsafe(16))
        known = await self._known(question, asked)
        with self._live.reader(question.conversation, known.ts if known else self._next_ts()) as reader:
            if known is None:
                reader.ts = float(await self._store(question, asked))
            stream = ReplyStream(question, self._side, self._live, self._clock, self._emit)
            return await stream.run(request, reader)

    async def fetch(self, request: web.Request) -> web.Response:
        """The stored reply to one message. Raises Refusal, StoreError."""
        session, message_id = request.match_info["session"], request.match_info["message_id"]
        question = Question(self.conversation(session), message_id)
        reply = await self._side.find_reply(question.conversation, message_id)
        if reply is None:
            raise Refusal(404, "unknown_message", "No such message has arrived.", "POST it to /api/soul/chat")
        if not reply.settled:
            pending = ChatPending(session=session, message_id=message_id)
            return web.json_response(body=pending.model_dump_json().encode(), status=202, headers={"Retry-After": "1"})
        if not reply.parts:
            message, hint = why_no_reply(reply)
            raise Refusal(410, "no_answer", message, hint)
        return web.json_response(body=done(question, reply).model_dump_json().encode("utf-8", "replace"))

    async def _known(self, question: Question, asked: ChatRequest) -> StoredReply | None:
        """The message if it came before. Raises Refusal when its text was different then."""
        if asked.message_id is None or asked.session is None:  # we made the id up just now
            return None
        known = await self._side.find_reply(question.conversation, question.message_id)
        if known is not None and known.message != asked.message:
            hint = "give every message an id of its own"
            raise Refusal(409, "other_words", "A message with a different text has this message_id.", hint)
        return known

    async def _store(self, question: Question, asked: ChatRequest) -> str:
        """Store a message once and give its ts. Raises Refusal when no free ts was found, StoreError."""
        event = f"{NAME}/{question.session}/{question.message_id}"
        for attempt in range(_TRIES):
            ts = self._next_ts()
            message = self._message(question, asked, f"{event}/{attempt}" if attempt else event, ts)
            if await self._intake.accept(message) is not Acceptance.DUPLICATE:
                return ts
            # Either the same message came a moment ago, or another message has this very ts.
            if (known := await self._known(question, asked)) is not None:
                return known.ts
        raise Refusal(503, "busy", "The message could not be stored.", "try again", {"Retry-After": "1"})

    def _message(self, question: Question, asked: ChatRequest, event_id: str, ts: str) -> NewMessage:
        author = author_of(question.session)
        perception = Perception.of_message(
            conversation=question.conversation,
            ts=ts,
            author=author,
            content=asked.message,
            place=Place.TERMINAL,
            audience=Audience(AudienceKind.DM, author),
            name=asked.name or "",
        )
        return NewMessage(event_id, perception, addressed=True, message_id=question.message_id)

    def _next_ts(self) -> str:
        """Seconds with six decimals, as Slack writes them; always larger than the one before."""
        self._last_ts = max(self._last_ts + 1, self._clock.now_ms() * 1000 + secrets.randbelow(1000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"
