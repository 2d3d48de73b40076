"""One reply as a stream of server-sent events: the live draft first, then the stored reply from memory.db."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.live_replies import LiveReplies, ReplyReader
from daemon.channels.http.schemas import EVENTS, Event, StreamChunk, StreamDone, StreamError, StreamStart, StreamTask
from daemon.channels.http.server_sent import BEAT, send_events, server_sent
from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.clock import Clock
from daemon.core.ports.posts import StoredReply
from daemon.core.ports.telemetry import Emit

_NAMES: Final = {model: name for name, model in EVENTS.items()}
_NO_REPLY: Final = {
    "answered": ("The soul chose not to reply to this.", "say more if you need a reply"),
    "stale": ("The message was too old when its turn came.", "send it again under a new message_id"),
    "ignored": ("The soul does not reply to this.", "ask the admin whether it may talk with you"),
    "withdrawn": ("The message was deleted.", "send it again under a new message_id"),
}
_FAILED: Final = ("Replying failed.", "send it again under a new message_id, or ask the admin for the reason")
_CLOSING: Final = StreamError(
    code="stopping",
    message="The daemon is stopping.",
    hint="send the same message_id again to get the reply",
    reference="",
)


def why_no_reply(reply: StoredReply) -> tuple[str, str, str]:
    """Why a settled message has no reply, as a code and in words, and a hint."""
    if reply.apology and reply.parts:
        return "apology", "".join(reply.parts), _FAILED[1]
    return (reply.state if reply.state in _NO_REPLY else "failed", *_NO_REPLY.get(reply.state, _FAILED))


def encoded(event: Event) -> bytes:
    """An event as bytes."""
    return server_sent(_NAMES[type(event)], event)


@dataclass(frozen=True, slots=True)
class Question:
    """A message that a client wants the reply to."""

    conversation: ConversationKey
    message_id: str

    @property
    def session(self) -> str:
        """The conversation as the client names it."""
        return self.conversation.thread


class ReplyStream:
    """Streams the reply to one message to one client."""

    def __init__(self, question: Question, side: DaemonSide, live: LiveReplies, clock: Clock, emit: Emit) -> None:
        self._question = question
        self._side = side
        self._live = live
        self._clock = clock
        self._emit = emit
        self._beats = 0

    async def run(self, request: web.Request, reader: ReplyReader) -> web.StreamResponse:
        """Stream until the reply is complete or the client is gone; the reply goes on being made without a client."""
        async with alongside(self._beat(reader)):
            return await send_events(request, self._events(reader), self._emit, session=self._question.session)

    async def _beat(self, reader: ReplyReader) -> None:
        """Look the reply up now and then, too: another daemon may have replied."""
        while True:
            await self._clock.sleep(BEAT)
            self._beats += 1
            reader.wake()

    async def _events(self, reader: ReplyReader) -> AsyncGenerator[bytes, None]:
        start = encoded(StreamStart(session=self._question.session, message_id=self._question.message_id))
        yield start
        has_text, beats = False, self._beats
        while True:
            reader.changed.clear()
            look_up, reader.look_up = reader.look_up, False
            ending = await self._ending() if look_up else None
            update = reader.take()  # after the look-up, so that the draft's last text precedes the ending
            if update.restarted and has_text:
                yield start
                has_text = False
            if update.text:
                yield encoded(StreamChunk(text=update.text))
                has_text = True
            for task in update.tasks:
                yield encoded(StreamTask(id=task.id, title=task.title, state=task.state, details=task.details))
            if ending is not None:
                yield encoded(ending)
                return
            if self._beats > beats:
                beats = self._beats
                yield b": the reply is being made\n\n"
            await reader.changed.wait()

    async def _ending(self) -> StreamDone | StreamError | None:
        """The last event; None while the message is unsettled or memory.db can't be read."""
        question = self._question
        if self._live.closing:  # memory.db may be closed by now
            return _CLOSING
        try:
            reply = await self._side.find_reply(question.conversation, question.message_id)
        except StoreError as error:
            self._emit("store.failed", reason=error.message, hint=error.hint)
            reply = None
        if reply is None or not reply.settled:
            return None
        if reply.apology or not reply.parts:
            code, message, hint = why_no_reply(reply)
            return StreamError(code=code, message=message, hint=hint, reference=reply.ts)
        return done(question, reply)


def done(question: Question, reply: StoredReply) -> StreamDone:
    """The complete reply; `parts` only where there are several."""
    return StreamDone(
        session=question.session,
        message_id=question.message_id,
        text="".join(reply.parts),
        parts=reply.parts if len(reply.parts) > 1 else (),
    )
