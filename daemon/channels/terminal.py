"""The terminal as a `Channel` for one user, which reads lines and streams replies, in terminals and pipes alike."""

import asyncio
import codecs
import os
import re
import select
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Final, TextIO

from daemon.core.errors import ConfigError, DaemonError, NotDelivered
from daemon.core.lineage import INNER
from daemon.core.notes import SOUL_CHANNEL
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place, Readers
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Acceptance, NewMessage
from daemon.core.ports.channel import Channel
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import Clock, DraftLog, GateDecision, Speech, Task, TaskState
from daemon.core.text import Trusted, one_line

LONGEST_LINE: Final = 40_000  # characters; a longer line becomes several messages

_CHUNK: Final = 65_536  # bytes
_NOT_OURS: Final = 2.0  # seconds until a retry of another terminal's work
_THINKING: Final = "… thinking"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"
_NARROW: Final = 72  # columns of a line that is erased later
_PROMPT: Final = "> "
_WIPE: Final = "\r\x1b[K"
_NO_PERSONS: Final = frozenset({INNER, SOUL_CHANNEL})  # a user of that name would speak in these channels
_USER: Final = re.compile(r"[^\W_][\w .@-]{0,79}")
# Control characters but tab and line break, marks of text direction, exotic line breaks, surrogates.
_HARMFUL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FIRST_PICTURE: Final = 0x2400  # the first of Unicode's symbols for control characters


def printable(text: str) -> str:
    """Return text that is safe to print: characters that would control the terminal become visible marks."""
    return _HARMFUL.sub(_mark, text.replace("\r", ""))


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:  # noqa: PLR2004  # the control characters of ASCII
        return chr(_FIRST_PICTURE + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"  # noqa: PLR2004  # DEL


def check_user(name: str) -> str:
    """Return the name if it can identify a user in a conversation's id. Raises ConfigError if it can't."""
    if not _USER.fullmatch(name):
        hint = "use letters, digits, spaces and . @ - _ alone, at most 80 of them, a letter or digit first"
        raise ConfigError(f"{printable(name)!r} can't be a user's name", hint=hint)
    if name in _NO_PERSONS:
        raise ConfigError(
            f"{name!r} is the name of a room of the soul's own", hint="choose another: soul chat --as NAME"
        )
    return name


class TerminalChannel(Channel):
    """The channel of one user at a terminal or behind a pipe.

    `source` is the file descriptor of the UTF-8 input. If `interactive`, a prompt and a sign of thinking are shown.
    Otherwise each line waits for the reply to the line before, and only replies are printed.
    """

    name = "terminal"

    def __init__(self, soul: str, user: str, clock: Clock, *, source: int, output: TextIO, interactive: bool) -> None:
        self._user = check_user(user)
        self._conversation = ConversationKey(soul, self.name, user)
        self._clock = clock
        self._input = LineReader(source)
        self._screen = _Screen(output, interactive)
        self._interactive = interactive
        self._last_ts = 0
        self._newest_stored = 0.0  # ts of the newest line in the inbox
        self._newest_answered = 0.0  # ts of the newest line whose reply is on the screen
        self._reply_printed = asyncio.Condition()
        self._drafts: dict[str, _TerminalSpeech] = {}
        self._delivered: dict[str, str] = {}

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Read and answer lines. Returns after the reply to the last line, or when the output is closed."""
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
        async with aclosing(self._input.lines()) as lines:
            async for line in lines:
                text = printable(line).strip()
                if not text:
                    self._screen.prompt()
                    continue
                await self._store(intake, text)
                if not self._interactive:
                    await self._wait_for_reply()
        await self._wait_for_reply()

    async def _store(self, intake: Intake, text: str) -> None:
        """Store a line under a new ts. Skips a ts that another terminal has just used."""
        while True:
            ts = self._next_ts()
            audience = Audience(AudienceKind.DM, self._user)
            perception = Perception.of_message(
                conversation=self._conversation,
                ts=ts,
                author=self._user,
                content=text,
                place=Place.TERMINAL,
                audience=audience,
            )
            message = NewMessage(f"terminal-{uuid.uuid4().hex}", perception, addressed=True)
            if await intake.accept(message) is not Acceptance.DUPLICATE:
                self._newest_stored = float(ts)
                return

    def _next_ts(self) -> str:
        self._last_ts = max(self._last_ts + 1, self._clock.now_ms() * 1000)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    async def _wait_for_reply(self) -> None:
        async with self._reply_printed:
            await self._reply_printed.wait_for(lambda: self._newest_answered >= self._newest_stored)

    def healthy(self) -> bool:
        return not self._screen.gone.is_set()

    async def admit(self, perception: Perception) -> GateDecision:
        """Admit the user. Raises NotDelivered for a message from another terminal."""
        self._require_ours(perception.conversation)
        return GateDecision(admitted=True, name=self._user)

    async def readers(self, perception: Perception) -> Readers:
        """Return the readers: users of this terminal can read `memory.db` too."""
        return Readers(perception.audience, members_only=True)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[Callable[[str], None]]:
        self._screen.think()
        try:
            yield lambda _: None  # the sign of thinking suffices
        finally:
            self._screen.stop_thinking()

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        draft = f"draft-{self._next_ts()}"
        speech = self._drafts[draft] = _TerminalSpeech(self._screen, draft, drafts)
        return speech

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        text = printable(reply).strip()
        return (text,) if text else ()

    def reply_to(self, perception: Perception) -> str:
        """Return the ts of the newest line that a post answers, for `deliver`."""
        return perception.ts if perception.modality is Modality.WORDS else ""

    async def deliver(self, post: Post) -> str:
        """Print the text that is not on the screen yet."""
        self._require_ours(post.conversation)
        speech = self._drafts.pop(post.draft or "", None)
        if not self._screen.finish(speech.shown if speech else "", printable(post.body).strip()):
            raise NotDelivered("the terminal is closed")
        ts = self._delivered[post.key] = post.draft or self._next_ts()
        if post.last:
            self._screen.prompt()
            async with self._reply_printed:
                self._newest_answered = max(self._newest_answered, float(post.reply_to or 0))
                self._reply_printed.notify_all()
        return ts

    async def find(self, post: Post) -> FoundPost | None:
        """Return a post of this process. A post of an earlier process is never found, and is printed again."""
        ts = self._delivered.get(post.key)
        return FoundPost(ts, finished=True) if ts else None

    def _require_ours(self, conversation: ConversationKey) -> None:
        if conversation != self._conversation:
            raise NotDelivered("the conversation belongs to another terminal", retry_after=_NOT_OURS)


class _TerminalSpeech:
    """The `Speech` of the terminal, which prints a reply while the soul writes it."""

    def __init__(self, screen: "_Screen", draft: str, log: DraftLog) -> None:
        self.shown = ""
        self._screen = screen
        self._draft = draft
        self._log = log
        self._ended = False

    async def say(self, text: str) -> None:
        piece = printable(text) if self.shown else printable(text).lstrip()
        if self._ended or not piece:
            return
        if not self.shown:
            await self._begin()
        if not self._ended and self._screen.write(piece):
            self.shown += piece

    async def show(self, task: Task) -> None:
        """Show the task as a line until the first text, on interactive screens only."""
        if not self._ended and not self.shown and task.state is not TaskState.PENDING:
            self._screen.note(one_line(printable(task.title)))

    async def settle(self) -> None:
        self._ended = True

    async def _begin(self) -> None:
        try:
            await self._log.opening()
            await self._log.opened(self._draft)
        except DaemonError:  # another daemon may be answering; the commit decides
            self._ended = True


class _Screen:
    """The output of the terminal. `gone` is set once the output is closed."""

    def __init__(self, output: TextIO, interactive: bool) -> None:
        self.gone = asyncio.Event()
        self._output = output
        self._interactive = interactive
        self._thinking = False

    def prompt(self) -> None:
        if self._interactive:
            self._print(_PROMPT)

    def leave(self) -> None:
        if self._interactive:
            self._print("\n")

    def think(self) -> None:
        if self._interactive:
            self._thinking = True
            self._print(_THINKING)

    def note(self, text: str) -> None:
        if self._thinking:
            columns = _NARROW if text.isascii() else _NARROW // 2  # some characters take two columns
            self._print(f"{_WIPE}{_DIM}… {text[:columns]}{_PLAIN}")

    def stop_thinking(self) -> None:
        if self._thinking:
            self._thinking = False
            self._print(_WIPE)

    def write(self, text: str) -> bool:
        self.stop_thinking()
        return self._print(text)

    def finish(self, shown: str, text: str) -> bool:
        """Complete a reply of which `shown` is on the screen. If the reply differs from that, print it whole."""
        if shown.rstrip() == text:
            return self.write("\n")
        if shown and text.startswith(shown):
            return self.write(f"{text[len(shown) :]}\n")
        return self.write(f"\n{text}\n" if shown else f"{text}\n")

    def _print(self, text: str) -> bool:
        try:
            self._output.write(text)
            self._output.flush()
        except (OSError, ValueError):  # the pipe's reader is gone, or the stream was closed
            self.gone.set()
        return not self.gone.is_set()


class LineReader:
    """The lines of a file descriptor (terminal, pipe or file), read in a thread without blocking the event loop."""

    def __init__(self, source: int) -> None:
        self._source = source

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield lines without their ends, until the end of input. The thread ends with the generator."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        wake, waker = os.pipe()
        rest = ""
        try:
            while chunk := await self._chunk(wake, waker):
                *lines, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in lines:
                    yield line
                if len(rest) >= LONGEST_LINE:
                    yield rest
                    rest = ""
            if rest := rest + decoder.decode(b"", final=True):
                yield rest
        finally:
            os.close(wake)
            os.close(waker)

    async def _chunk(self, wake: int, waker: int) -> bytes:
        reading = asyncio.get_running_loop().run_in_executor(None, _read_when_ready, self._source, wake)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            os.write(waker, b".")
            await asyncio.wait((reading,))
            raise


def _read_when_ready(source: int, wake: int) -> bytes:
    """Return the next bytes, or none at the end of input, after a hang-up, or once `wake` is readable."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(wake, select.POLLIN)
    if wake in {ready for ready, _ in poll.poll()}:
        return b""
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""
