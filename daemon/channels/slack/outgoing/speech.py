"""A reply becoming visible while it is made, through Slack's streaming methods; on any trouble it falls silent."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.outgoing.drafts import Drafts, spoken
from daemon.channels.slack.outgoing.markup import InertStream
from daemon.channels.slack.outgoing.status_line import words_for
from daemon.channels.slack.outgoing.task_cards import Plan
from daemon.core.errors import ChannelRefused, DaemonError, NotDelivered
from daemon.core.ports import Clock, DraftLog, Emit, Task, TaskState

_OPEN_AT: Final = 80  # characters
_OPEN_AFTER: Final = 0.12  # seconds since the first text or card
_APPEND_AT: Final = 500
_APPEND_AFTER: Final = 0.7  # seconds since the last flush
_PULSE: Final = 60.0  # seconds; a stream that is silent for minutes is ended by Slack
_MOST: Final = 8_000  # characters shown before the reply is finished
_TICK: Final = 0.04
# Slack's words for a stream or a card that it won't have in this form.
_FORM_REFUSED: Final = frozenset(
    {"cannot_provide_both_markdown_text_and_chunks", "invalid_chunks", "no_text", "streaming_mode_mismatch"}
)


@dataclass(frozen=True, slots=True)
class Where:
    """The thread a reply is streamed into, for whom and under which face.

    The recipient is empty in DMs, where Slack wants none; `face` holds Slack's arguments for another name and icon;
    `status` says a few words in the thread's status line.
    """

    channel: str
    thread: str
    recipient_team: str = ""
    recipient: str = ""
    face: Mapping[str, str] = field(default_factory=dict)
    status: Callable[[str], None] = lambda _: None


class SlackSpeech:
    """Implements `Speech`: a worker of its own sends what has gathered, so that `say` and `show` never wait.

    Slack ties a stream to the form it was begun in: chunks can hold words and cards, and are used wherever Slack takes
    them; elsewhere words go as markdown, and what would be a card is said in the status line.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self, client: SlackClient, where: Where, log: DraftLog, drafts: Drafts, clock: Clock, emit: Emit
    ) -> None:
        self._client = client
        self._where = where
        self._log = log
        self._drafts = drafts
        self._clock = clock
        self._emit = emit
        self._inert = InertStream()
        self._plan = Plan()
        self._pending = ""
        self._shown = ""
        self._ts = ""
        self._cards = drafts.takes_chunks  # whether cards can be shown in this reply
        self._refused = False  # whether Slack refused its form
        self._ended = False
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup | None = None
        self._nap: asyncio.Task[None] | None = None

    async def say(self, text: str) -> None:
        """Take more of the reply; returns at once."""
        if self._ended:
            return
        self._pending += self._inert.feed(text)
        await self._begin()

    async def show(self, task: Task) -> None:
        """Take how far a task is; returns at once."""
        if self._ended or (shown := self._plan.tell(task)) is None:
            return
        if self._cards:
            await self._begin()
        elif shown.state is TaskState.IN_PROGRESS:
            self._where.status(words_for(shown))

    async def settle(self) -> None:
        """Send nothing more and wait for a request under way; what is pending is left to the delivery."""
        self._ended = True
        if self._nap is not None:
            self._nap.cancel()
        await self._stack.aclose()
        if self._ts and not self._refused:
            self._drafts.to_close(self._where.channel, self._ts, self._plan.closing())

    async def _begin(self) -> None:
        if self._group is None and self._has_something():
            self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
            self._group.create_task(self._work(self._group))

    def _has_something(self) -> bool:
        return bool(self._pending.strip()) or (self._cards and self._plan.waiting)

    async def _work(self, group: asyncio.TaskGroup) -> None:
        try:
            if await self._open(group):
                await self._go_on(group)
        except DaemonError as error:
            self._emit("slack.speech_silent", channel=self._where.channel, reason=error.message)
        finally:
            self._give_up_cards()

    def _give_up_cards(self) -> None:
        """From now on say in the status line what no card can show."""
        self._cards = False
        going_on = [task for task in self._plan.told.values() if task.state is TaskState.IN_PROGRESS]
        if going_on and not self._ended:
            self._where.status(words_for(going_on[-1]))

    async def _open(self, group: asyncio.TaskGroup) -> bool:
        """Open the stream once there is enough to show; False when it isn't begun."""
        while True:
            await self._gather(group)
            if self._ended or not self._drafts.may_start():
                return False
            await self._log.opening()
            in_chunks = self._cards
            try:
                return await self._start(in_chunks)
            except (NotDelivered, ChannelRefused) as error:
                await self._log.refused()
                if not (in_chunks and self._form_refused(error)):
                    if isinstance(error, ChannelRefused):
                        self._drafts.refused()
                    raise

    async def _gather(self, group: asyncio.TaskGroup) -> None:
        """Wait for something to show, and a moment more for it to grow."""
        since: float | None = None
        while not self._ended and len(self._pending) < _OPEN_AT:
            now = self._clock.monotonic()
            since = (now if since is None else since) if self._has_something() else None
            if since is not None and now - since >= _OPEN_AFTER:
                return
            await self._doze(group)

    async def _start(self, in_chunks: bool) -> bool:
        where, text, told = self._where, self._room(), self._plan.told
        cards = self._plan.update() if in_chunks else []
        answer = await self._client.call(
            "chat.startStream",
            channel=where.channel,
            thread_ts=where.thread,
            recipient_team_id=where.recipient_team or None,
            recipient_user_id=where.recipient or None,
            task_display_mode="plan" if in_chunks else None,
            **_form(in_chunks, cards, text),
            **where.face,
        )
        self._ts = str(answer.get("ts") or "")
        if not self._ts:
            return False
        self._drafts.opened(where.channel, self._ts, text, in_chunks=in_chunks)
        self._note(text, told if in_chunks else {})
        self._cards = in_chunks
        await self._log.opened(self._ts)
        return True

    def _form_refused(self, error: DaemonError) -> bool:
        """Whether Slack refused the form rather than the words; then that form is given up for good."""
        if not isinstance(error, ChannelRefused) or error.code not in _FORM_REFUSED:
            return False
        self._emit("slack.cards_refused", channel=self._where.channel, reason=error.code)
        self._drafts.chunks_refused()
        self._refused = True
        self._give_up_cards()
        return True

    async def _go_on(self, group: asyncio.TaskGroup) -> None:
        """Append until settled or, in words alone, long enough."""
        flushed, in_chunks = self._clock.monotonic(), self._cards
        while not self._ended and (self._cards or len(self._shown) < _MOST):
            if self._due(self._clock.monotonic() - flushed) and self._drafts.may_append():
                flushed = self._clock.monotonic()
                await self._append(in_chunks)
            else:
                await self._doze(group)

    async def _doze(self, group: asyncio.TaskGroup) -> None:
        """Wait a moment, or until settled."""
        self._nap = group.create_task(self._clock.sleep(_TICK))
        await asyncio.wait((self._nap,))

    def _due(self, waited: float) -> bool:
        text = self._room()
        if len(text) >= _APPEND_AT:
            return True
        news = bool(text) or (self._cards and self._plan.waiting)
        return waited >= _APPEND_AFTER if news else self._cards and waited >= _PULSE and bool(self._plan.pulse())

    async def _append(self, in_chunks: bool) -> None:
        text, told = self._room(), self._plan.told
        cards = (self._plan.update() or ([] if text else self._plan.pulse())) if self._cards else []
        try:
            form = _form(in_chunks, cards, text)
            await self._client.call("chat.appendStream", channel=self._where.channel, ts=self._ts, **form)
        except (NotDelivered, ChannelRefused) as error:
            if cards and self._form_refused(error):
                return  # nothing was appended, and the words alone may be
            raise  # surely not appended: what the draft shows is still known
        except DaemonError:
            self._drafts.shows(self._where.channel, self._ts, None)
            raise
        self._note(text, told if self._cards else {})

    def _note(self, text: str, told: Mapping[str, Task]) -> None:
        """Slack shows this by now."""
        self._pending = self._pending[len(text) :]
        self._shown += text
        self._drafts.shows(self._where.channel, self._ts, self._shown)
        if told:
            self._plan.took(told)

    def _room(self) -> str:
        """What has gathered, as far as the draft may still grow."""
        return self._pending[: _MOST - len(self._shown)]


def _form(in_chunks: bool, cards: list[dict[str, Any]], text: str) -> dict[str, Any]:
    """Words and cards as one of the two forms that a stream takes, never both (Slack: streaming chunks)."""
    return {"chunks": [*cards, *spoken(text)]} if in_chunks else {"markdown_text": text}
