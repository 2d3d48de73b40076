"""Chat over HTTP: a message is stored once, then its reply is streamed or fetched, at once or on a later request."""

import secrets
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.intake import HttpIntake, SentWords
from daemon.channels.http.live_replies import LiveReplies
from daemon.channels.http.request_body import read_body
from daemon.channels.http.schemas import ChatPending, ChatRequest
from daemon.channels.http.stream import Question, ReplyStream, done, why_no_reply
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

NAME: Final = "http"
_MOST_STREAMS: Final = 256


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
        """The conversation of a session."""
        return ConversationKey(self._soul, self._workspace, NAME, session)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Store the message unless it came before, then stream its reply. Raises Refusal, StoreError."""
        asked = await read_body(request, ChatRequest)
        if self._live.reader_count >= _MOST_STREAMS:
            raise Refusal(503, "busy", "Too many clients are reading replies.", "try again", {"Retry-After": "5"})
        session = asked.session or secrets.token_urlsafe(16)
        question = Question(self.conversation(session), asked.message_id or secrets.token_urlsafe(16))
        fresh = asked.message_id is None or asked.session is None  # we made the id up just now
        known = None if fresh else await self._intake.known(question, asked.message)
        with self._live.reader(question.conversation, known.ts if known else self._intake.next_ts()) as reader:
            if known is None:
                author = author_of(session)
                message = SentWords(asked.message, author, asked.name or "", Audience(AudienceKind.DM, author))
                reader.ts = float(await self._intake.store(question, message))
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
        if reply.apology or not reply.parts:
            _, message, hint = why_no_reply(reply)
            raise Refusal(410, "no_answer", message, hint)
        return web.json_response(body=done(question, reply).model_dump_json().encode("utf-8", "replace"))
