"""The terminal as a `Channel` for one person: lines in, replies streamed out, pipes and terminals alike."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Final, TextIO

from daemon.channels.terminal_input import Lines
from daemon.core.errors import ChannelRefused, ConfigError, DaemonError, NotDelivered
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.ports import (
    Acceptance,
    Clock,
    DraftLog,
    FoundPost,
    GateDecision,
    Intake,
    NewMessage,
    Post,
    Room,
    Speech,
    Task,
    TaskState,
    ThreadMessage,
)

_NOT_OURS: Final = 2.0  # seconds after which work of another terminal is offered again
_THINKING: Final = "… thinking"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_NARROW: Final = 72  # columns that a line which is to be wiped may take
_PROMPT: Final = "> "
_WIPE: Final = "\r\x1b[K"
_PERSON: Final = re.compile(r"[^\W_][\w .@-]{0,79}")
# Control characters but tab and line break, marks that turn the direction of text, exotic line breaks, half characters.
_HARMFUL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FIRST_PICTURE: Final = 0x2400  # Unicode's pictures of control characters


def printable(text: str) -> str:
    """Text of people or models, safe to print: what would steer the terminal is shown as a mark instead."""
    return _HARMFUL.sub(_mark, text.replace("\r", ""))


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004  # the control characters of ASCII
        return chr(_FIRST_PICTURE + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"  # noqa: PLR2004  # DEL


def check_person(name: str) -> str:
    """A name that can stand for a person in a conversation's id. Raises ConfigError for any other."""
    if not _PERSON.fullmatch(name):
        hint = "use letters, digits, spaces and . @ - _ alone, at most 80 of them, a letter or digit first"
        raise ConfigError(f"{printable(name)!r} can't be a person's name", hint=hint)
    return name


class TerminalChannel:
    """Implements `Channel` for one person at a terminal or at the other end of a pipe.

    `source` is the file descriptor that lines are read from, as UTF-8; `interactive` shows a prompt and a sign of
    thinking, else each line waits for the answer to the one before and nothing but replies is printed.
    """

    name = "terminal"

    def __init__(self, soul: str, person: str, clock: Clock, *, source: int, output: TextIO, interactive: bool) -> None:
        self._person = check_person(person)
        self._conversation = ConversationKey(soul, self.name, person)
        self._clock = clock
        self._lines = Lines(source)
        self._screen = _Screen(output, interactive)
        self._interactive = interactive
        self._last_ts = 0
        self._asked = 0.0  # ts of the newest line handed over
        self._answered_to = 0.0  # ts of the newest line whose answer is on the screen
        self._news = asyncio.Condition()
        self._drafts: dict[str, _TerminalSpeech] = {}
        self._delivered: dict[str, str] = {}

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; returns after the last line was answered, or when nobody reads the output any more."""
        ready.set()
        self._screen.prompt()
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(self._read(intake))
            watching = group.create_task(self._screen.gone.wait())
            await asyncio.wait((reading, watching), return_when=asyncio.FIRST_COMPLETED)
            reading.cancel()
            watching.cancel()
        self._screen.leave()

    async def _read(self, intake: Intake) -> None:
        async with aclosing(self._lines.read()) as lines:
            async for line in lines:
                text = printable(line).strip()
                if not text:
                    self._screen.prompt()
                    continue
                await self._hand_over(intake, text)
                if not self._interactive:
                    await self._until_answered()
        await self._until_answered()

    async def _hand_over(self, intake: Intake, text: str) -> None:
        """Store a line under a ts of its own; one that another terminal took in the same moment is passed over."""
        while True:
            ts = self._next_ts()
            audience = Audience(AudienceKind.DM, self._person)
            said = Perception.of_message(
                conversation=self._conversation,
                ts=ts,
                author=self._person,
                content=text,
                place=Place.TERMINAL,
                audience=audience,
            )
            message = NewMessage(f"terminal-{uuid.uuid4().hex}", said, addressed=True)
            if await intake.accept(message) is not Acceptance.DUPLICATE:
                self._asked = float(ts)
                return

    def _next_ts(self) -> str:
        """Seconds with six decimals, as Slack writes them, always more than before."""
        self._last_ts = max(self._last_ts + 1, self._clock.now_ms() * 1000)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    async def _until_answered(self) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self._answered_to >= self._asked)

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return not self._screen.gone.is_set()

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; what was said at another terminal is left to that one."""
        self._require_ours(perception.conversation)
        return GateDecision(admitted=True, name=self._person)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[None]:
        """See `Channel.thinking`."""
        self._screen.think()
        try:
            yield
        finally:
            self._screen.stop_thinking()

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """See `Channel.speak`."""
        draft = f"draft-{self._next_ts()}"
        speech = self._drafts[draft] = _TerminalSpeech(self._screen, draft, drafts)
        return speech

    def split(self, reply: str, conversation: ConversationKey) -> tuple[str, ...]:
        """See `Channel.split`; a terminal takes everything whole."""
        text = printable(reply).strip()
        return (text,) if text else ()

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`; tells `deliver` up to which line a post answers, which only words are."""
        return perception.ts if perception.modality is Modality.WORDS else ""

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; there is nobody at a terminal but the person who sits there."""
        raise ChannelRefused(f"{printable(contact)} can't be written to from a terminal", code="unreachable")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; prints what is not on the screen yet."""
        self._require_ours(post.conversation)
        speech = self._drafts.pop(post.draft or "", None)
        if not self._screen.finish(speech.shown if speech else "", printable(post.body).strip()):
            raise NotDelivered("the terminal is gone")
        ts = self._delivered[post.key] = post.draft or self._next_ts()
        if post.last:
            self._screen.prompt()
            async with self._news:
                self._answered_to = max(self._answered_to, float(post.reply_to or 0))
                self._news.notify_all()
        return ts

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; an earlier terminal can't be looked at, so what it may have shown is shown again."""
        ts = self._delivered.get(post.key)
        return FoundPost(ts, finished=True) if ts else None

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`; there are no threads here."""
        return ()

    def _require_ours(self, conversation: ConversationKey) -> None:
        if conversation != self._conversation:
            raise NotDelivered("it belongs to another person's terminal", retry_after=_NOT_OURS)


class _TerminalSpeech:
    """A reply being printed while it is made; implements `Speech`."""

    def __init__(self, screen: "_Screen", draft: str, log: DraftLog) -> None:
        self.shown = ""
        self._screen = screen
        self._draft = draft
        self._log = log
        self._ended = False

    async def say(self, text: str) -> None:
        """See `Speech.say`."""
        piece = printable(text) if self.shown else printable(text).lstrip()
        if self._ended or not piece:
            return
        if not self.shown:
            await self._begin()
        if not self._ended and self._screen.write(piece):
            self.shown += piece

    async def show(self, task: Task) -> None:
        """See `Speech.show`; a line that stands until the first words, at a terminal alone."""
        if not self._ended and not self.shown and task.state is not TaskState.PENDING:
            self._screen.note(" ".join(printable(task.title).split()))

    async def settle(self) -> None:
        """See `Speech.settle`."""
        self._ended = True

    async def _begin(self) -> None:
        try:
            await self._log.opening()
            await self._log.opened(self._draft)
        except DaemonError:  # somebody else answers by now; the commit will tell
            self._ended = True


class _Screen:
    """What is printed, and where the cursor is; `gone` is set when nobody reads it any more."""

    def __init__(self, output: TextIO, interactive: bool) -> None:
        self.gone = asyncio.Event()
        self._output = output
        self._interactive = interactive
        self._thinking = False

    def prompt(self) -> None:
        """Ask for a line."""
        if self._interactive:
            self._print(_PROMPT)

    def leave(self) -> None:
        """End the line that the prompt began."""
        if self._interactive:
            self._print("\n")

    def think(self) -> None:
        """Show that an answer is being made."""
        if self._interactive:
            self._thinking = True
            self._print(_THINKING)

    def note(self, text: str) -> None:
        """Say in the place of that sign what is being done."""
        if self._thinking:
            columns = _NARROW if text.isascii() else _NARROW // 2  # some characters take two
            self._print(f"{_WIPE}{_DIM}… {text[:columns]}{_PLAIN}")

    def stop_thinking(self) -> None:
        """Wipe the sign away."""
        if self._thinking:
            self._thinking = False
            self._print(_WIPE)

    def write(self, text: str) -> bool:
        """Print a piece of a reply; False when nobody reads."""
        self.stop_thinking()
        return self._print(text)

    def finish(self, shown: str, text: str) -> bool:
        """End a reply of which `shown` stands on the screen already; one that turned out otherwise is printed anew."""
        if shown.rstrip() == text:
            return self.write("\n")
        if shown and text.startswith(shown):
            return self.write(f"{text[len(shown) :]}\n")
        return self.write(f"\n{text}\n" if shown else f"{text}\n")

    def _print(self, text: str) -> bool:
        try:
            self._output.write(text)
            self._output.flush()
        except (OSError, ValueError):  # the other end of the pipe went away, or the stream was closed
            self.gone.set()
        return not self.gone.is_set()
