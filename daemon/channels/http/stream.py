"""The stream of one reply as server-sent events: the live draft first, then the stored reply from memory.db."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from pydantic import BaseModel, Field

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import Refusal, ResponseModel
from daemon.core.concurrency import alongside
from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.library import StoredReply
from daemon.core.ports.services import Emit, Task
from daemon.core.value import Value


class ChatAnswer(ResponseModel):
    """The reply to a message."""

    session: str
    message_id: str
    text: str = Field(description="The whole reply, as markdown.")
    parts: tuple[str, ...] = Field((), description="Its parts in order, where there are several.")


class StreamStart(ResponseModel):
    """The reply begins. A second start means that it begins again: drop the chunks so far."""

    session: str
    message_id: str


class StreamChunk(ResponseModel):
    """More of the draft."""

    text: str


class StreamTask(ResponseModel):
    """The state of one task of a longer piece of work; the same id again replaces the earlier state."""

    id: str
    title: str
    state: str = Field(description="pending, in_progress, complete or error.")
    details: str


class StreamDone(ChatAnswer):
    """The reply is complete; its text replaces the chunks."""


class StreamError(ResponseModel):
    """There is no reply, or not in this stream: the hint says whether to ask again."""

    code: str = Field(
        description="Why: `apology` (the message is the soul's own words), `answered`, `stale`, `ignored`, "
        "`withdrawn`, `failed` or `stopping`."
    )
    message: str
    hint: str
    reference: str = Field("", description="An id by which the admin finds the message.")


EVENTS: Final[dict[str, type[BaseModel]]] = {
    "soul:stream:start": StreamStart,
    "soul:stream:chunk": StreamChunk,
    "soul:stream:task": StreamTask,
    "soul:stream:done": StreamDone,
    "soul:stream:error": StreamError,
}
"""The events of a streamed reply, by name (seed 000, "Labyrinth Event Integration"; tasks are an addition)."""

_MOST_UNREAD: Final = 65_536  # characters kept for a slow reader; the stored reply has the rest
_MOST_TASKS: Final = 64


@dataclass(slots=True)
class ReplyUpdate:
    """The news for a reader. `restarted`: everything before is void."""

    restarted: bool = False
    text: str = ""
    tasks: tuple[Task, ...] = ()


class LiveDraft:
    """A reply in progress to the messages up to `ts`, in seconds, as far as it is kept."""

    def __init__(self, ts: float) -> None:
        self.ts = ts
        self.pieces: list[str] = []
        self.size = 0
        self.tasks: dict[str, Task] = {}

    def add_text(self, text: str) -> None:
        """Take more of the reply. Text beyond the cap on unread text is dropped, since the stored reply has it."""
        if self.size < _MOST_UNREAD:
            self.pieces.append(text)
        self.size += len(text)

    def add_task(self, task: Task) -> None:
        """Take a task. Only its newest state is kept."""
        if task.id in self.tasks or len(self.tasks) < _MOST_TASKS:
            self.tasks[task.id] = task


class ReplyReader(LiveDraft):
    """One client waiting for the reply to one message, with what it has not taken yet of the draft.

    `changed` is set when there is something to take or to look up. `look_up` is True when memory.db may have the reply.
    """

    def __init__(self, ts: float) -> None:
        super().__init__(ts)
        self.changed = asyncio.Event()
        self.look_up = True
        self._restarted = False

    def restart(self, draft: LiveDraft) -> None:
        """Begin again with a draft."""
        self._restarted = True
        self.pieces, self.size, self.tasks = list(draft.pieces), draft.size, dict(draft.tasks)
        self.changed.set()

    def add_text(self, text: str) -> None:
        super().add_text(text)
        self.changed.set()

    def add_task(self, task: Task) -> None:
        super().add_task(task)
        self.changed.set()

    def wake(self) -> None:
        self.look_up = True
        self.changed.set()

    def take(self) -> ReplyUpdate:
        """Return everything new since the last call."""
        update = ReplyUpdate(self._restarted, "".join(self.pieces), tuple(self.tasks.values()))
        if self.size < _MOST_UNREAD:  # later text would hide the gap
            self.size = 0
        self._restarted = False
        self.pieces.clear()
        self.tasks.clear()
        return update


class LiveReplies:
    """All replies in progress and their readers, by conversation."""

    def __init__(self) -> None:
        self.closing = False
        self._readers: dict[ConversationKey, list[ReplyReader]] = {}
        self._drafts: dict[ConversationKey, LiveDraft] = {}

    @property
    def reader_count(self) -> int:
        return sum(map(len, self._readers.values()))

    @contextmanager
    def reader(self, conversation: ConversationKey, ts: str) -> Iterator[ReplyReader]:
        """Provide a reader for the reply to the message with this ts. It starts with the present draft."""
        reader = ReplyReader(float(ts))
        draft = self._drafts.get(conversation)
        if draft is not None and reader.ts <= draft.ts:
            reader.restart(draft)
        self._readers.setdefault(conversation, []).append(reader)
        try:
            yield reader
        finally:
            self._readers[conversation].remove(reader)
            if not self._readers[conversation]:
                del self._readers[conversation]

    def begin(self, conversation: ConversationKey, ts: str) -> None:
        self._drafts[conversation] = draft = LiveDraft(float(ts))
        for reader in self._readers_of(conversation, draft):
            reader.restart(draft)

    def say(self, conversation: ConversationKey, text: str) -> None:
        """Add to the reply in progress, if any."""
        for one in self._shown(conversation):
            one.add_text(text)

    def show(self, conversation: ConversationKey, task: Task) -> None:
        """Show a task's state in addition to the reply in progress, if any."""
        for one in self._shown(conversation):
            one.add_task(task)

    def end(self, conversation: ConversationKey) -> None:
        """End the draft. The readers look the result up in memory.db."""
        self._drafts.pop(conversation, None)
        for reader in self._readers.get(conversation, ()):
            reader.wake()

    def close(self) -> None:
        self.closing = True
        for readers in self._readers.values():
            for reader in readers:
                reader.wake()

    def _shown(self, conversation: ConversationKey) -> list[LiveDraft]:
        draft = self._drafts.get(conversation)
        return [] if draft is None else [draft, *self._readers_of(conversation, draft)]

    def _readers_of(self, conversation: ConversationKey, draft: LiveDraft) -> list[ReplyReader]:
        return [reader for reader in self._readers.get(conversation, ()) if reader.ts <= draft.ts]


BEAT: Final = 5.0  # seconds between two keep-alives
_SLOWEST: Final = 30.0  # seconds that one write to the client may take


def server_sent(name: str, event: BaseModel) -> bytes:
    """Return an event as bytes. Lone surrogates become question marks."""
    data = json.dumps(event.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode("utf-8", "replace")


async def send_events(
    request: web.Request, pieces: AsyncGenerator[bytes, None], emit: Emit, **about: object
) -> web.StreamResponse:
    """Write the pieces until they end or the client is gone. `about` are fields for the log."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    try:
        await response.prepare(request)
        async with aclosing(pieces) as left:
            async for piece in left:
                async with asyncio.timeout(_SLOWEST):
                    await response.write(piece)
        await response.write_eof()
    except ConnectionError:
        emit("http.reader_left", **about)
    except TimeoutError:
        emit("http.reader_stuck", seconds=_SLOWEST, **about)
        if request.transport is not None:
            request.transport.abort()
    return response


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
    """Return a code, a message and a hint that explain why a settled message has no reply."""
    if reply.apology and reply.parts:
        return "apology", "".join(reply.parts), _FAILED[1]
    return (reply.state if reply.state in _NO_REPLY else "failed", *_NO_REPLY.get(reply.state, _FAILED))


def require_words(reply: StoredReply) -> None:
    """Raise Refusal if a settled message has no reply."""
    if reply.apology or not reply.parts:
        _, message, hint = why_no_reply(reply)
        raise Refusal(410, "no_answer", message, hint)


def encoded(event: BaseModel) -> bytes:
    return server_sent(_NAMES[type(event)], event)


class Question(Value):
    """A message whose reply a client wants."""

    conversation: ConversationKey
    message_id: str

    @property
    def session(self) -> str:
        return self.conversation.thread


class ReplyStream:
    """The stream of the reply to one message to one client."""

    def __init__(self, question: Question, side: DaemonSide, live: LiveReplies) -> None:
        self._question = question
        self._side = side
        self._live = live
        self._beats = 0

    async def run(self, request: web.Request, reader: ReplyReader) -> web.StreamResponse:
        """Stream until the reply is complete or the client is gone. The reply is completed without a client too."""
        async with alongside(self._beat(reader)):
            return await send_events(request, self._events(reader), self._side.emit, session=self._question.session)

    async def reply(self, reader: ReplyReader) -> StoredReply | None:
        """Wait for the stored reply, without its draft. Return None if the daemon stops."""
        async with alongside(self._beat(reader)):
            while not self._live.closing:
                reader.changed.clear()
                reader.take()  # the draft must not accumulate
                look_up, reader.look_up = reader.look_up, False
                found = await self._find() if look_up else None
                if found is not None and found.settled:
                    return found
                await reader.changed.wait()
        return None

    async def _find(self) -> StoredReply | None:
        return await self._side.find_reply(self._question.conversation, self._question.message_id)

    async def _beat(self, reader: ReplyReader) -> None:
        """Look the reply up periodically, since another daemon may have replied."""
        while True:
            await self._side.clock.sleep(BEAT)
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
            update = reader.take()  # after the lookup: the draft's last text precedes the ending
            if update.restarted and has_text:
                yield start
                has_text = False
            if update.text:
                yield encoded(StreamChunk(text=update.text))
                has_text = True
            for task in update.tasks:
                yield encoded(StreamTask.model_validate(task))
            if ending is not None:
                yield encoded(ending)
                return
            if self._beats > beats:
                beats = self._beats
                yield b": the reply is being made\n\n"
            await reader.changed.wait()

    async def _ending(self) -> StreamDone | StreamError | None:
        """Return the last event, or None while the message is unsettled or memory.db can't be read."""
        question = self._question
        if self._live.closing:  # memory.db may be closed already
            return _CLOSING
        try:
            reply = await self._find()
        except StoreError as error:
            self._side.emit("store.failed", reason=error.message, hint=error.hint)
            reply = None
        if reply is None or not reply.settled:
            return None
        if reply.apology or not reply.parts:
            code, message, hint = why_no_reply(reply)
            return StreamError(code=code, message=message, hint=hint, reference=reply.ts)
        return done(question, reply)


def done(question: Question, reply: StoredReply) -> StreamDone:
    """Return the complete reply. `parts` is empty if there is only one."""
    return StreamDone(
        session=question.session,
        message_id=question.message_id,
        text="".join(reply.parts),
        parts=reply.parts if len(reply.parts) > 1 else (),
    )
