"""The names, icons, task cards and status lines with which souls appear in Slack."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.installation import CUSTOMIZE_SCOPE
from daemon.channels.slack.link_safety import BREAK, CARDS, weight
from daemon.channels.slack.markup import inert
from daemon.channels.slack.message_text import label
from daemon.channels.slack.refusals import APP, SlackIdentity
from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import ChannelError, ChannelRefused
from daemon.core.last_line import LastLine
from daemon.core.ports.services import Emit, Task, TaskState
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.text import shortened
from daemon.core.value import Value

TITLE: Final = 120  # characters of a card's first line
DETAILS: Final = 500
MOST: Final = 40  # cards under one reply; a message holds 50 blocks
_ENDED: Final = frozenset({TaskState.COMPLETE, TaskState.ERROR})
# Places where a link, a mention or Slack's own syntax could begin; a card holds none of them.
_POWER: Final = re.compile(
    r"(?<=:)(?=//)|(?<=\])(?=\()|(?<=<)(?=[^\s\u2060])|(?<=@)(?=\w)|(?<=\bwww)(?=\.)|(?<=\bmailto)(?=:)", re.IGNORECASE
)


def card_text(text: str, limit: int) -> str:
    """Return the text as one inert line of at most `limit` visible characters, without links and mentions."""
    return _POWER.sub(BREAK, shortened(label(inert(text), 4 * limit), limit))


class TaskCards:
    """The task cards of one reply, by id, in the order of their first appearance.

    Slack replaces a card's title and status with every update but appends to its details. Details that a card already
    shows are therefore never sent again. All cards together stay within their part of a stream's budget: new details
    are left out first, then new titles, then new cards.
    """

    def __init__(self, words: Words = HOUSE_WORDS) -> None:
        self._words = words
        self._tasks: dict[str, Task] = {}
        self._shown: Mapping[str, Task] = {}
        self._grown: dict[str, str] = {}  # all details that Slack shows, including those that were replaced

    def put(self, task: Task) -> Task | None:
        """Set a task's current state and return the task as it may be shown, or None if its card has no room."""
        before = self._tasks.get(task.id)
        if before is None and len(self._tasks) >= MOST:
            return None
        safe = replace(task, title=card_text(task.title, TITLE) or "…", details=card_text(task.details, DETAILS))
        smaller = replace(safe, details=before.details if before else "")
        last = replace(smaller, title=before.title) if before else None
        fitting = next((one for one in (safe, smaller) if self._fits(one)), last)
        if fitting is not None:
            self._tasks[task.id] = fitting
        return fitting

    def _fits(self, task: Task) -> bool:
        all_tasks = (self._tasks | {task.id: task}).values()
        cards = [_card(replace(one, title=self._not_needed(one), details=self._all_details(one))) for one in all_tasks]
        return weight([_title(self._summary(MOST, MOST)), *cards]) <= CARDS

    def _all_details(self, task: Task) -> str:
        return self._grown.get(task.id, "") + self._more(task)

    @property
    def changed(self) -> bool:
        return self._tasks != self._shown

    @property
    def running(self) -> bool:
        return any(task.state not in _ENDED for task in self._tasks.values())

    @property
    def tasks(self) -> Mapping[str, Task]:
        return dict(self._tasks)

    def update(self) -> list[dict[str, Any]]:
        changes = self._changes(self._tasks)
        return [_title(self._words.say("cards_begun")), *changes] if changes and not self._shown else changes

    def mark_shown(self, tasks: Mapping[str, Task]) -> None:
        """Record what Slack shows: the `tasks` from which the update was made."""
        self._grown |= {id_: self._all_details(task) for id_, task in tasks.items()}
        self._shown = tasks

    def afresh(self) -> "TaskCards":
        """Return cards of the same tasks for a new message, which shows none of them yet."""
        fresh = TaskCards(self._words)
        fresh._tasks = self._tasks  # the same dictionary, which keeps changes made during the switch
        return fresh

    def keep_alive(self) -> list[dict[str, Any]]:
        """Return an unchanged card in progress, which keeps Slack from ending a silent stream, or an empty list."""
        running = [task for task in self._shown.values() if task.state not in _ENDED]
        return [_card(replace(running[0], details=""))] if running else []

    def closing(self) -> tuple[dict[str, Any], ...]:
        """Return the chunks that end every card.

        Slack shows an error where a finished message has tasks in progress. Tasks in progress become complete. Tasks
        that never began are marked as not needed.
        """
        if not self._tasks:
            return ()
        final = {id_: self._ended(task) for id_, task in self._tasks.items()}
        failed = sum(task.state is TaskState.ERROR for task in final.values())
        return (_title(self._summary(len(final), failed)), *self._changes(final))

    def _ended(self, task: Task) -> Task:
        if task.state is TaskState.PENDING:
            return replace(task, title=self._not_needed(task), state=TaskState.COMPLETE)
        return task if task.state in _ENDED else replace(task, state=TaskState.COMPLETE)

    def _not_needed(self, task: Task) -> str:
        return self._words.say("card_not_needed", title=task.title)

    def _summary(self, steps: int, failed: int) -> str:
        done = self._words.say("cards_done_one") if steps == 1 else self._words.say("cards_done", steps=steps)
        return self._words.say("cards_failed", done=done, failed=failed) if failed else done

    def _changes(self, now: Mapping[str, Task]) -> list[dict[str, Any]]:
        changed = [task for id_, task in now.items() if self._shown.get(id_) != task]
        return [_card(replace(task, details=self._more(task))) for task in changed]

    def _more(self, task: Task) -> str:
        before = self._shown[task.id].details if task.id in self._shown else ""
        if task.details.startswith(before):
            return task.details[len(before) :]
        return f"\n{task.details}" if task.details else ""


def _card(task: Task) -> dict[str, Any]:
    details = {"details": task.details} if task.details else {}
    return {"type": "task_update", "id": task.id, "title": task.title, "status": task.state.value, **details}


def _title(text: str) -> dict[str, Any]:
    return {"type": "plan_update", "title": text}


T = TypeVar("T")

_NAME: Final = 80  # characters
_EMOJI: Final = re.compile(r"(?::[\w+'-]{1,100}:){1,2}")  # the second is a skin tone
_PICTURE: Final = re.compile(r"https://[^\s<>|]{1,500}")


class Appearance(Value):
    """A soul's name and icon in Slack. The icon is an `:emoji:`, the https URL of a picture, or empty."""

    name: str
    icon: str = ""


class Appearances:
    """The names and icons of all souls, as Slack's arguments; none if the token lacks the scope."""

    def __init__(self, appearance_of: Callable[[str], Appearance | None] | None, emit: Emit) -> None:
        self._appearance_of = appearance_of
        self._emit = emit
        self._allowed = appearance_of is not None

    def check_scope(self, identity: SlackIdentity) -> None:
        """Use the app's own name and icon if the token lacks the scope, and log that once."""
        if identity.scopes and CUSTOMIZE_SCOPE not in identity.scopes:
            self._disable("the scope is missing")

    def arguments_for(self, soul: str) -> Mapping[str, str]:
        """Return Slack's arguments for a soul's name and icon, or an empty mapping for the app's own."""
        appearance = self._appearance_of(soul) if self._allowed and self._appearance_of is not None else None
        name = card_text(appearance.name, _NAME) if appearance else ""
        if appearance is None or not name:
            return {}
        return {"username": name, **_icon(appearance.icon)}

    async def post_as(self, soul: str, post: Callable[[Mapping[str, str]], Awaitable[T]]) -> T:
        """Call `post` with a soul's arguments, and again without them if Slack refuses those.

        Raises what `post` does.
        """
        arguments = self.arguments_for(soul)
        try:
            return await post(arguments)
        except ChannelRefused as error:
            if not arguments or error.code != "missing_scope":
                raise
            self._disable(error.message)
        return await post({})

    def _disable(self, reason: str) -> None:
        if self._allowed:
            self._allowed = False
            hint = f"add the scope {CUSTOMIZE_SCOPE} in the app's settings and reinstall the app"
            self._emit("slack.faces_missing", reason=reason, hint=hint)


def _icon(icon: str) -> Mapping[str, str]:
    if _EMOJI.fullmatch(icon):
        return {"icon_emoji": icon}
    return {"icon_url": icon} if _PICTURE.fullmatch(icon) else {}


_AFTER: Final = 0.12  # seconds; a faster reply costs no call
_PACE: Final = 0.7  # seconds between two texts of one line
_REFRESH: Final = 90.0  # seconds; Slack clears the line by itself after two minutes
_CLEARING: Final = 2.0  # seconds for one line, and at the end for all of them together
_REST: Final = 86_400.0  # seconds without a line after Slack refused it to the app
_LONGEST: Final = 90  # characters


def status_for(task: Task, words: Words = HOUSE_WORDS) -> str:
    """Return a task as a status that Slack shows after the soul's name: `is reading docs/limits.md…`."""
    title = task.title.rstrip(" .…")[:_LONGEST]
    first = title.partition(" ")[0]
    english = "working" not in words.own and first.isalpha() and first.endswith("ing")
    return f"is {title[0].lower()}{title[1:]}…" if english else words.say("working", title=title)


@dataclass(slots=True, eq=False)
class _Line:
    """The status line of one thread. `nap` is the sleep before the next update; `over` is set once a message grows."""

    channel: str
    thread: str
    text: str
    sent: bool = False
    over: bool = False
    nap: asyncio.Task[None] | None = None


class StatusLine:
    """The status lines, one for each thread (Slack: assistant.threads.setStatus)."""

    def __init__(self, client: SlackClient) -> None:
        self._client = client
        self._to_clear: asyncio.Queue[tuple[str, str]] | None = None
        self._lines: dict[tuple[str, str], _Line] = {}
        self._refused_until = 0.0

    async def run(self) -> None:
        """Clear lines in the background until cancelled, then clear the rest. No reply waits for this."""
        waiting: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._to_clear, stopped = waiting, asyncio.CancelledError()
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    group.create_task(self._clear(await waiting.get()))
            except asyncio.CancelledError as cancelled:
                stopped = cancelled  # raised again once all lines are cleared
            self._to_clear = None
            if rest := [waiting.get_nowait() for _ in range(waiting.qsize())]:
                group.create_task(self._clear(*rest))
        raise stopped

    @asynccontextmanager
    async def shown(self, channel: str, thread: str, text: str) -> AsyncIterator[Callable[[str], None]]:
        """Show the line while the body runs, at first with this text. Exceptions of the body pass through.

        The yielded callback changes the text. Without a thread there is no line.
        """
        if not thread:
            yield lambda _: None
            return
        line = self._lines[channel, thread] = _Line(channel, thread, text)
        try:
            async with alongside(
                LastLine(self._client.clock, self._client.emit).keep("status line", partial(self._keep, line))
            ):
                yield partial(self.say, channel, thread)
        finally:
            if self._lines.get((channel, thread)) is line:
                del self._lines[channel, thread]
            if line.over:
                pass  # Slack removed the line when the message appeared
            elif line.sent and self._to_clear is not None:
                self._to_clear.put_nowait((channel, thread))
            elif line.sent:
                await self._clear((channel, thread))

    def say(self, channel: str, thread: str, text: str) -> None:
        """Change the text of a line that is shown, as soon as its pace allows. Returns at once."""
        line = self._lines.get((channel, thread))
        if line is not None and not line.over and line.text != text:
            line.text = text
            if line.nap is not None:
                line.nap.cancel()

    def end(self, channel: str, thread: str) -> None:
        """Stop setting the line: Slack shows a session's state in the same place."""
        line = self._lines.get((channel, thread))
        if line is not None:
            line.over = True
            if line.nap is not None:
                line.nap.cancel()

    async def _keep(self, line: _Line) -> None:
        await self._client.clock.sleep(_AFTER)
        async with asyncio.TaskGroup() as group:
            while not line.over:
                line.sent = True
                text, at = line.text, self._client.clock.monotonic()
                await self._set(line.channel, line.thread, text)
                if line.text == text:
                    line.nap = group.create_task(self._client.clock.sleep(_REFRESH))
                    await asyncio.wait((line.nap,))
                    line.nap = None
                if (early := at + _PACE - self._client.clock.monotonic()) > 0:
                    await self._client.clock.sleep(early)

    async def _clear(self, *lines: tuple[str, str]) -> None:
        try:
            async with time_limit(self._client.clock, _CLEARING), asyncio.TaskGroup() as group:
                for channel, thread in lines:
                    group.create_task(self._set(channel, thread, ""))
        except TimeoutError:
            self._client.emit(
                "slack.status_failed", channel=lines[0][0], reason="clearing took too long", lines=len(lines)
            )

    async def _set(self, channel: str, thread: str, text: str) -> None:
        if self._client.clock.monotonic() < self._refused_until:
            return
        try:
            await self._client.call("assistant.threads.setStatus", channel_id=channel, thread_ts=thread, status=text)
        except ChannelError as error:
            self._client.emit("slack.status_failed", channel=channel, reason=error.message)
            if isinstance(error, ChannelRefused) and error.code in APP:
                self._refused_until = self._client.clock.monotonic() + _REST


class StatusOnly:
    """A `Speech` for conversations without a stream. Tasks appear in the status line, the reply with its delivery."""

    shown = ""

    def __init__(self, status: Callable[[str], None], words: Words) -> None:
        self._status = status
        self._words = words

    async def say(self, text: str) -> None:
        """Do nothing."""

    async def show(self, task: Task) -> None:
        """Show a task in progress in the status line. Returns at once."""
        if task.state is TaskState.IN_PROGRESS:
            self._status(status_for(replace(task, title=card_text(task.title, TITLE)), self._words))

    async def settle(self) -> None:
        """Do nothing."""
