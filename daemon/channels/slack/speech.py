"""The stream of a reply into Slack while the soul writes it. After an error the delivery shows the rest."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from msgspec import field

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.appearance import TaskCards, status_for
from daemon.channels.slack.link_safety import PART, ReplyGuard, size, sizes
from daemon.channels.slack.markup import InertStream
from daemon.channels.slack.refusals import NO_STREAMS
from daemon.channels.slack.splitting import FLOOR
from daemon.core.errors import ChannelRefused, DaemonError, NotDelivered
from daemon.core.lru import Lru
from daemon.core.ports.services import Clock, DraftLog, Emit, Task, TaskState
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.value import Value

_MOST_DRAFTS: Final = 500
_MOST_CHANNELS: Final = 1_000
_PAUSE_AFTER_REFUSAL: Final = 600.0  # seconds without a new stream after a refusal
_PAUSE_OF_CHUNKS: Final = 86_400.0  # seconds without chunks after a refusal


@dataclass(slots=True)
class _Draft:
    """A draft's exact text (None: unknown), the form of its stream, and the chunks that end it."""

    text: str | None = None
    in_chunks: bool = False
    closing: tuple[dict[str, Any], ...] = ()


class Drafts:
    """The drafts of all conversations."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._drafts = Lru[tuple[str, str], _Draft](_MOST_DRAFTS)
        self._paused = Lru[str, None](_MOST_CHANNELS, _PAUSE_AFTER_REFUSAL, clock.monotonic)
        self._chunks_paused_until = 0.0
        self._growing = 0

    @property
    def takes_chunks(self) -> bool:
        return self._clock.monotonic() >= self._chunks_paused_until

    def may_start(self, channel: str) -> bool:
        return channel not in self._paused

    def pause_streams(self, channel: str) -> None:
        """Open no stream in a channel for ten minutes, since Slack takes none there."""
        self._paused[channel] = None

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Count a growing stream while the body runs."""
        self._growing += 1
        try:
            yield
        finally:
            self._growing -= 1

    def gap(self, least: float) -> float:
        """Return the seconds between two appends to one stream: all growing streams share Slack's limit of appends."""
        return least * max(1, self._growing)

    def pause_chunks(self) -> None:
        """Use no chunks for a day, since Slack refused one: text goes as plain markdown, and cards are not shown."""
        self._chunks_paused_until = self._clock.monotonic() + _PAUSE_OF_CHUNKS

    def opened(self, channel: str, ts: str, text: str, *, in_chunks: bool) -> None:
        """Record a new stream with its first text. Slack requires the same form, chunks or markdown, until its end."""
        self._drafts[channel, ts] = _Draft(text, in_chunks)

    def set_text(self, channel: str, ts: str, text: str | None) -> None:
        """Record the exact text that a draft shows, or None if it is unknown."""
        if draft := self._drafts.get((channel, ts)):
            draft.text = text

    def set_closing(self, channel: str, ts: str, closing: Sequence[dict[str, Any]]) -> None:
        """Record the chunks that end a stream, which leave no card in progress."""
        if draft := self._drafts.get((channel, ts)):
            draft.closing = tuple(closing)

    def forget(self, channel: str, ts: str) -> None:
        self._drafts.pop((channel, ts), None)

    def text(self, channel: str, ts: str) -> str | None:
        draft = self._drafts.get((channel, ts))
        return draft.text if draft else None

    def forms(self, channel: str, ts: str, text: str) -> tuple[dict[str, Any], ...]:
        """Return the arguments that end a stream with more text: both forms if its own is unknown."""
        if (channel, ts) in self._drafts:
            return (self.ending(channel, ts, text),)
        return {"markdown_text": text or None}, {"chunks": text_chunks(text) or None}

    def ending(self, channel: str, ts: str, text: str) -> dict[str, Any]:
        """Return the arguments that end a draft's stream with its last text (Slack: chat.stopStream)."""
        draft = self._drafts.get((channel, ts)) or _Draft()
        if not draft.in_chunks:
            return {"markdown_text": text or None}
        return {"chunks": [*draft.closing, *text_chunks(text)] or None}


def text_chunks(text: str) -> list[dict[str, Any]]:
    return [{"type": "markdown_text", "text": text}] if text else []


_OPEN_AT: Final = 80  # characters
_OPEN_AFTER: Final = 0.12  # seconds since the first text or card
_APPEND_AT: Final = 500
_APPEND_AFTER: Final = 0.7  # seconds since the last flush
_KEEP_ALIVE: Final = 60.0  # seconds; Slack ends a stream that is silent for minutes
_MOST: Final = int(PART * FLOOR)  # bytes shown before the reply is finished; they always fit into its first part
_REOPEN_AFTER: Final = 240.0  # seconds; Slack seals a stream about 320 s after its start
_TICK: Final = 0.04
# Error codes for a stream or a card in a form that Slack doesn't accept.
_FORM_REFUSED: Final = frozenset(
    {"cannot_provide_both_markdown_text_and_chunks", "invalid_chunks", "no_text", "streaming_mode_mismatch"}
)


class StreamTarget(Value):
    """The thread of a streamed reply, its recipient and its appearance.

    The recipient is empty in DMs, where Slack wants none. `appearance` holds Slack's arguments for another name and
    icon. `status` sets the text of the thread's status line. `opened` is called once the stream is open. `guard` limits
    links and removes keys. `words` are the sentences around tasks.
    """

    channel: str
    thread: str
    recipient_team: str = ""
    recipient: str = ""
    appearance: Mapping[str, str] = field(default_factory=dict)
    status: Callable[[str], None] = lambda _: None
    guard: ReplyGuard | None = None
    opened: Callable[[], None] = lambda: None
    words: Words = HOUSE_WORDS


class SlackSpeech:
    """A `Speech` in Slack. A background task sends the pending text, and `say` and `show` never wait for Slack.

    Slack requires one form from a stream's start to its end. Chunks can hold text and cards, and are used if Slack
    accepts them. Otherwise text goes as markdown, and tasks appear in the status line.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self, client: SlackClient, target: StreamTarget, log: DraftLog, drafts: Drafts, clock: Clock, emit: Emit
    ) -> None:
        self._client = client
        self._target = target
        self._log = log
        self._drafts = drafts
        self._clock = clock
        self._emit = emit
        self._inert = InertStream(target.guard)
        self._task_cards = TaskCards(target.words)
        self._pending = ""
        self.shown = ""
        self._room = _MOST  # bytes of text that the draft may still show
        self._ts = ""
        self._opened_at = 0.0
        self._cards = drafts.takes_chunks  # cards can be shown in this reply
        self._form_was_refused = False
        self._ended = False
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup | None = None
        self._nap: asyncio.Task[None] | None = None

    async def say(self, text: str) -> None:
        """Take more of the reply. Returns at once."""
        if self._ended:
            return
        self._pending += self._inert.feed(text)
        await self._begin()

    async def show(self, task: Task) -> None:
        """Take a task's state. Returns at once."""
        if self._ended or (shown := self._task_cards.put(task)) is None:
            return
        if self._cards:
            await self._begin()
        elif shown.state is TaskState.IN_PROGRESS:
            self._target.status(status_for(shown, self._target.words))

    async def settle(self) -> None:
        """Stop sending and wait for a request in progress. Pending text is left to the delivery."""
        self._ended = True
        if self._nap is not None:
            self._nap.cancel()
        await self._stack.aclose()
        if self._ts and not self._form_was_refused:
            self._drafts.set_closing(self._target.channel, self._ts, self._task_cards.closing())

    async def _begin(self) -> None:
        if self._group is None and self._has_pending():
            self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
            self._group.create_task(self._work(self._group))

    def _has_pending(self) -> bool:
        """Return True if there is a reason to open the stream. A card of a finished task waits for the first text."""
        return bool(self._pending.strip()) or (self._cards and self._task_cards.running)

    async def _work(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._open(group):
                self._target.opened()
                with self._drafts.growing():
                    await self._append_all(group)
        except DaemonError as error:
            self._emit("slack.speech_silent", channel=self._target.channel, reason=error.message)
        except Exception as error:  # noqa: BLE001 - the stream is a courtesy; the delivery shows the reply
            self._drafts.set_text(self._target.channel, self._ts, None)
            self._emit("slack.speech_silent", channel=self._target.channel, error=error)
        finally:
            self._give_up_cards()

    def _give_up_cards(self) -> None:
        self._cards = False
        running = [task for task in self._task_cards.tasks.values() if task.state is TaskState.IN_PROGRESS]
        if running and not self._ended:
            self._target.status(status_for(running[-1], self._target.words))

    async def _open(self, group: asyncio.TaskGroup) -> bool:
        """Open the stream once there is enough to show. Returns False if it stays closed."""
        while True:
            await self._gather(group)
            if self._ended or not self._drafts.may_start(self._target.channel):
                return False
            await self._log.opening()
            in_chunks = self._cards
            try:
                return await self._start(in_chunks)
            except (NotDelivered, ChannelRefused) as error:
                await self._log.refused()
                if not (in_chunks and self._refuses_form(error)):
                    if isinstance(error, ChannelRefused) and error.code in NO_STREAMS:
                        self._drafts.pause_streams(self._target.channel)
                    raise

    async def _gather(self, group: asyncio.TaskGroup) -> None:
        since: float | None = None
        while not self._ended and len(self._pending) < _OPEN_AT:
            now = self._clock.monotonic()
            since = (now if since is None else since) if self._has_pending() else None
            if since is not None and now - since >= _OPEN_AFTER:
                return
            await self._doze(group)

    async def _start(self, in_chunks: bool) -> bool:
        target, text, tasks = self._target, self._next_text(), self._task_cards.tasks
        cards = self._task_cards.update() if in_chunks else []
        answer = await self._client.call(
            "chat.startStream",
            channel=target.channel,
            thread_ts=target.thread,
            recipient_team_id=target.recipient_team or None,
            recipient_user_id=target.recipient or None,
            task_display_mode="plan" if cards else None,
            **_form(in_chunks, cards, text),
            **target.appearance,
        )
        self._ts = str(answer.get("ts") or "")
        if not self._ts:
            return False
        self._opened_at = self._clock.monotonic()
        self._drafts.opened(target.channel, self._ts, text, in_chunks=in_chunks)
        self._mark_shown(text, tasks if in_chunks else {})
        self._cards = in_chunks
        await self._log.opened(self._ts)
        return True

    def _refuses_form(self, error: DaemonError) -> bool:
        """Return True if Slack refused the form rather than the text, and stop the cards of this reply."""
        if not isinstance(error, ChannelRefused) or error.code not in _FORM_REFUSED:
            return False
        self._emit("slack.cards_refused", channel=self._target.channel, reason=error.code)
        self._drafts.pause_chunks()
        self._form_was_refused = True
        self._give_up_cards()
        return True

    async def _append_all(self, group: asyncio.TaskGroup) -> None:
        """Append until settled or, without cards, until the text is long enough."""
        flushed, in_chunks = self._clock.monotonic(), self._cards
        while not self._ended and (self._cards or self._room > 0):
            if self._clock.monotonic() - self._opened_at >= _REOPEN_AFTER:
                flushed = self._clock.monotonic()
                await self._reopen(in_chunks)
            elif self._due(self._clock.monotonic() - flushed):
                flushed = self._clock.monotonic()
                await self._append(in_chunks)
            else:
                await self._doze(group)

    async def _reopen(self, in_chunks: bool) -> None:
        """Show everything in a new message before Slack seals the stream, and delete the old message."""
        channel, old, cards, shown, room = self._target.channel, self._ts, self._task_cards, self.shown, self._room
        self._task_cards, self.shown, self._room = cards.afresh(), "", _MOST
        self._pending = shown + self._pending
        try:
            await self._start(in_chunks)
        except DaemonError:
            self._task_cards, self.shown, self._room = cards, shown, room
            self._pending = self._pending[len(shown) :]
            raise
        self._drafts.forget(channel, old)
        try:
            await self._client.call("chat.delete", channel=channel, ts=old)
        except DaemonError as error:
            self._emit("slack.draft_left", channel=channel, ts=old, reason=error.message)

    async def _doze(self, group: asyncio.TaskGroup) -> None:
        self._nap = group.create_task(self._clock.sleep(_TICK))
        await asyncio.wait((self._nap,))

    def _due(self, waited: float) -> bool:
        text, gap = self._next_text(), self._drafts.gap(_APPEND_AFTER)
        if len(text) >= _APPEND_AT and gap <= _APPEND_AFTER:
            return True
        if text or (self._cards and self._task_cards.changed):
            return waited >= gap
        return self._cards and waited >= _KEEP_ALIVE and bool(self._task_cards.keep_alive())

    async def _append(self, in_chunks: bool) -> None:
        text, tasks = self._next_text(), self._task_cards.tasks
        cards = (self._task_cards.update() or ([] if text else self._task_cards.keep_alive())) if self._cards else []
        try:
            form = _form(in_chunks, cards, text)
            await self._client.call("chat.appendStream", channel=self._target.channel, ts=self._ts, **form)
        except (NotDelivered, ChannelRefused) as error:
            if cards and self._refuses_form(error):
                return  # nothing was appended, and the text alone may be accepted
            raise  # surely not appended: the draft's text is still known
        except DaemonError:
            self._drafts.set_text(self._target.channel, self._ts, None)
            raise
        self._mark_shown(text, tasks if self._cards else {})

    def _mark_shown(self, text: str, tasks: Mapping[str, Task]) -> None:
        self._pending = self._pending[len(text) :]
        self.shown += text
        self._room -= size(text)
        self._drafts.set_text(self._target.channel, self._ts, self.shown)
        if tasks:
            self._task_cards.mark_shown(tasks)

    def _next_text(self) -> str:
        head = self._pending[: max(0, self._room)]
        return head if size(head) <= self._room else head[: bisect_right(sizes(head), self._room) - 1]


def _form(in_chunks: bool, cards: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """Return text and cards in one of the two forms that a stream takes, never both (Slack: streaming chunks)."""
    return {"chunks": [*cards, *text_chunks(text)]} if in_chunks else {"markdown_text": text}
