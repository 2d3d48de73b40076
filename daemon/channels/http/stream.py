"""One answer as a stream of typed server-sent events, from memory.db when it is there and from the hub until then."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import Kept, Replies
from daemon.channels.http.live_replies import Ear, Hub
from daemon.channels.http.schemas import EVENTS, Event, StreamChunk, StreamDone, StreamError, StreamStart, StreamTask
from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports import Clock, Emit

BEAT: Final = 5.0  # seconds between two signs of life, and between two looks for an answer that another daemon gave
_SLOWEST: Final = 30.0  # seconds that a reader may leave the line blocked
_NAMES: Final = {shape: name for name, shape in EVENTS.items()}
_WITHOUT_WORDS: Final = {
    "answered": ("The soul chose to say nothing to this.", "say more if you need an answer"),
    "stale": ("It was too old to be answered when its turn came.", "say it again under a new message_id"),
    "ignored": ("The soul does not answer this.", ""),
    "withdrawn": ("It was taken back.", ""),
}
_GIVEN_UP: Final = ("It was given up.", "say it again under a new message_id; the keeper finds the reason")
_CLOSING: Final = StreamError(
    message="The daemon is stopping.", hint="send the same message_id again to get the answer", reference=""
)


def without_words(kept: Kept) -> tuple[str, str]:
    """Why a settled message has no answer, and what to do about it."""
    return _WITHOUT_WORDS.get(kept.state, _GIVEN_UP)


def encoded(event: Event) -> bytes:
    """An event as it goes over the line (HTML: server-sent events); half characters become question marks."""
    data = json.dumps(event.model_dump(exclude_defaults=True), ensure_ascii=False)
    return f"event: {_NAMES[type(event)]}\ndata: {data}\n\n".encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Question:
    """The message that a stream is to bring the answer to."""

    conversation: ConversationKey
    message_id: str

    @property
    def session(self) -> str:
        """The conversation as its client calls it."""
        return self.conversation.thread


class Stream:
    """Tells one client what becomes of one message."""

    def __init__(self, question: Question, replies: Replies, hub: Hub, clock: Clock, emit: Emit) -> None:
        self._question = question
        self._replies = replies
        self._hub = hub
        self._clock = clock
        self._emit = emit
        self._beats = 0

    async def run(self, request: web.Request, ear: Ear) -> web.StreamResponse:
        """Stream until the answer is told or the client is gone; what goes on behind it is not touched by that."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        try:
            await response.prepare(request)
            async with alongside(self._beat(ear)), aclosing(self._events(ear)) as events:
                async for piece in events:
                    async with asyncio.timeout(_SLOWEST):
                        await response.write(piece)
            await response.write_eof()
        except ConnectionError:
            self._emit("http.reader_left", session=self._question.session)
        except TimeoutError:
            self._emit("http.reader_stuck", session=self._question.session, seconds=_SLOWEST)
            if request.transport is not None:
                request.transport.abort()
        return response

    async def _beat(self, ear: Ear) -> None:
        while True:
            await self._clock.sleep(BEAT)
            self._beats += 1
            ear.nudge()

    async def _events(self, ear: Ear) -> AsyncGenerator[bytes, None]:
        start = encoded(StreamStart(session=self._question.session, message_id=self._question.message_id))
        yield start
        said, beats = False, self._beats
        while True:
            ear.news.clear()
            looks, ear.look = ear.look, False
            ending = await self._ending() if looks else None
            heard = ear.take()  # after the look: what was said on the way to the end is told before it
            if heard.anew and said:
                yield start
                said = False
            if heard.text:
                yield encoded(StreamChunk(text=heard.text))
                said = True
            for task in heard.tasks:
                yield encoded(StreamTask(id=task.id, title=task.title, state=task.state, details=task.details))
            if ending is not None:
                yield encoded(ending)
                return
            if self._beats > beats:
                beats = self._beats
                yield b": the answer is being made\n\n"
            await ear.news.wait()

    async def _ending(self) -> StreamDone | StreamError | None:
        """What the message came to; None while it is open, or while memory.db can't be asked."""
        question = self._question
        if self._hub.closing:  # memory.db may be closed by now
            return _CLOSING
        try:
            kept = await self._replies.find(question.conversation, question.message_id)
        except StoreError as error:
            self._emit("store.failed", reason=error.message, hint=error.hint)
            kept = None
        if kept is None or not kept.settled:
            return None
        if not kept.parts:
            message, hint = without_words(kept)
            return StreamError(message=message, hint=hint, reference=kept.ts)
        return done(question, kept)


def done(question: Question, kept: Kept) -> StreamDone:
    """A finished answer; its parts are told where there are several."""
    return StreamDone(
        session=question.session,
        message_id=question.message_id,
        text="".join(kept.parts),
        parts=kept.parts if len(kept.parts) > 1 else (),
    )
