"""The terminal channel: it reads lines, prints each reply once, and prints nothing that controls the terminal."""

import asyncio
import io
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.channels.terminal import LONGEST_LINE, LineReader, TerminalChannel, check_user, printable
from daemon.core.errors import ChannelRefused, ConfigError, NotDelivered
from daemon.core.perception import ConversationKey, Modality, Perception, Place
from daemon.core.ports.arrivals import NewMessage
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import Task, TaskState
from tests import given
from tests.fakes import TIMEOUT, FakeClock, FakeDrafts, FakeIntake

ADA = ConversationKey("minoan", "terminal", "Ada")
BEN = ConversationKey("minoan", "terminal", "Ben")


class Terminal:
    """A channel with a pipe to type into and a screen to read."""

    def __init__(self, *, interactive: bool = False, refusals: int = 0) -> None:
        self.source, self._typing = os.pipe()
        self.screen = io.StringIO()
        self.intake = FakeIntake()
        self.intake.duplicates = refusals
        self.channel = TerminalChannel(
            "minoan", "Ada", FakeClock(), source=self.source, output=self.screen, interactive=interactive
        )

    def type(self, text: str | bytes) -> None:
        os.write(self._typing, text.encode() if isinstance(text, str) else text)

    def end(self) -> None:
        if self._typing >= 0:
            os.close(self._typing)
        self._typing = -1

    def close(self) -> None:
        self.end()
        os.close(self.source)

    async def next_message(self) -> NewMessage:
        return await self.intake.next()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["asyncio.Task[None]"]:
        async with asyncio.TaskGroup() as group:
            ready = asyncio.Event()
            task = group.create_task(self.channel.listen(self.intake, ready))
            await ready.wait()
            yield task
            task.cancel()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@pytest.fixture
def interactive() -> Iterator[Terminal]:
    made = Terminal(interactive=True)
    yield made
    made.close()


def perception(ts: str = "1.5", conversation: ConversationKey = ADA, modality: Modality = Modality.WORDS) -> Perception:
    known = given.perception(source=conversation.channel, place=Place.TERMINAL, ts=ts, modality=modality)
    return replace(known, conversation=conversation)


def post(body: str, reply_to: str = "1.5", **more: object) -> Post:
    fields: dict[str, object] = {
        "key": "k", "conversation": ADA, "reply_to": reply_to, "recipient": "Ada", "newer_than_ts": "0"
    }  # fmt: skip
    return Post(body=body, **fields | more)  # type: ignore[arg-type]  # each test gives the fields it is about


async def test_a_reply_is_one_part_of_this_terminal_and_a_line_a_message_of_a_private_conversation(
    terminal: Terminal,
) -> None:
    channel = terminal.channel
    assert channel.split("  a\nb ", perception().conversation) == ("a\nb",)
    assert channel.split(" \n", perception().conversation) == ()
    assert channel.reply_to(perception("7.5")) == "7.5"
    assert await channel.thread_before(perception(), 5) == ()
    assert channel.healthy()
    with pytest.raises(ChannelRefused):
        await channel.find_room("U0BEN")
    assert (await terminal.channel.admit(perception())).name == "Ada"
    with pytest.raises(NotDelivered):
        await terminal.channel.admit(perception(conversation=BEN))
    with pytest.raises(NotDelivered):
        await terminal.channel.deliver(post("for Ben", conversation=BEN))
    assert terminal.screen.getvalue() == ""
    assert await terminal.channel.find(post("x")) is None
    ts = await terminal.channel.deliver(post("x"))
    assert await terminal.channel.find(post("x")) == FoundPost(ts, finished=True)
    async with terminal.listening():
        terminal.type("  Grüße \x1b[31m\n")
        message = await terminal.next_message()
    assert message.perception.content == "Grüße ␛[31m"
    assert (message.perception.conversation, message.perception.author) == (ADA, "Ada")
    assert (message.perception.place, message.addressed) == (Place.TERMINAL, True)
    assert str(message.perception.audience) == "dm:Ada"
    assert ConversationKey.parse(str(message.perception.conversation)) == ADA


async def test_in_a_pipe_each_line_waits_for_the_reply_to_the_line_before(terminal: Terminal) -> None:
    terminal.type("one\n\n  \ntwo")
    terminal.end()
    async with terminal.listening() as task:
        first = await terminal.next_message()
        assert not terminal.intake.waiting
        await terminal.channel.deliver(post("1", first.perception.ts))
        second = await terminal.next_message()
        await terminal.channel.deliver(post("2", second.perception.ts, part=0, last=False))
        await asyncio.sleep(0)
        assert not task.done(), "a part of the last reply is still to come"
        await terminal.channel.deliver(post("3", second.perception.ts, part=1, last=True))
        await asyncio.wait_for(task, TIMEOUT)
    assert (first.perception.content, second.perception.content) == ("one", "two")
    assert float(second.perception.ts) > float(first.perception.ts)
    assert terminal.screen.getvalue() == "1\n2\n3\n"


async def test_listening_ends_at_once_without_input(terminal: Terminal) -> None:
    terminal.end()
    async with terminal.listening() as task:
        await asyncio.wait_for(task, TIMEOUT)
    assert terminal.screen.getvalue() == ""


async def test_a_user_may_type_several_lines_and_one_reply_answers_them(interactive: Terminal) -> None:
    interactive.type("one\ntwo\n")
    async with interactive.listening() as task:
        await interactive.next_message()
        last = await interactive.next_message()
        async with interactive.channel.thinking(perception()):
            assert interactive.screen.getvalue() == "> … thinking"
        await interactive.channel.deliver(post("both", last.perception.ts))
        interactive.end()
        await asyncio.wait_for(task, TIMEOUT)
    assert interactive.screen.getvalue() == "> … thinking\r\x1b[Kboth\n> \n"


async def test_a_ts_that_another_terminal_used_is_skipped() -> None:
    terminal = Terminal(refusals=2)
    async with terminal.listening():
        terminal.type("one\n")
        message = await terminal.next_message()
    terminal.close()
    offered = [one.perception.ts for one in terminal.intake.offered if isinstance(one, NewMessage)]
    assert len(set(offered)) == 3
    assert message.perception.ts == max(offered)


async def test_streamed_text_is_not_printed_twice(terminal: Terminal) -> None:
    log = FakeDrafts()
    speech = terminal.channel.speak(perception(), log.log)
    for piece in ("\n ", "Hel", "lo ", "there"):
        await speech.say(piece)
    assert terminal.screen.getvalue() == "Hello there"
    await speech.settle()
    await speech.say("never")
    assert log.steps[0] == "opening"
    await terminal.channel.deliver(post("Hello there, you", draft=log.steps[1]))
    assert terminal.screen.getvalue() == "Hello there, you\n"
    await terminal.channel.deliver(post("Hello there, you", draft=log.steps[1]))
    printed = "Hello there, you\nHello there, you\n"
    assert terminal.screen.getvalue() == printed, "the draft is no longer known"
    for body, shown in (("Hello", "Hello \n"), ("Sorry.", "Hello \nSorry.\n")):
        log = FakeDrafts()
        speech = terminal.channel.speak(perception(), log.log)
        await speech.say("Hello ")
        await speech.settle()
        await terminal.channel.deliver(post(body, draft=log.steps[1]))
        printed += shown
        assert terminal.screen.getvalue() == printed, "a reply that differs from its draft is printed whole"


async def test_a_closed_output_ends_listening_without_an_error(terminal: Terminal) -> None:
    async with terminal.listening() as task:
        terminal.type("one\n")
        message = await terminal.next_message()
        terminal.screen.close()
        with pytest.raises(NotDelivered, match="closed"):
            await terminal.channel.deliver(post("x", message.perception.ts))
        await asyncio.wait_for(task, TIMEOUT)
    assert not terminal.channel.healthy()


async def test_a_task_is_shown_dimmed_until_the_first_text_and_none_in_a_pipe(
    interactive: Terminal, terminal: Terminal
) -> None:
    channel, log = interactive.channel, FakeDrafts()
    speech = channel.speak(perception(), log.log)
    await speech.show(Task("1", "The soul does not think yet", TaskState.IN_PROGRESS))
    async with channel.thinking(perception()):
        await speech.show(Task("0", "Later", TaskState.PENDING))
        await speech.show(Task("1", "Reading\n\x1b[2J" + "x" * 200, TaskState.IN_PROGRESS))
        await speech.show(Task("2", "日" * 200, TaskState.IN_PROGRESS))
        await speech.say("Words.")
        await speech.show(Task("1", "Reading on", TaskState.IN_PROGRESS))
    await speech.settle()
    shown = interactive.screen.getvalue().split("\r\x1b[K")
    assert shown[0] == "… thinking"
    assert shown[1].startswith("\x1b[2m… Reading ␛[2J")
    assert [len(line) for line in shown[1:3]] == [4 + 2 + 36 + 4, 4 + 2 + 36 + 4]
    assert shown[3:] == ["Words."]
    assert log.steps[0] == "opening"
    speech = terminal.channel.speak(perception(), FakeDrafts().log)
    async with terminal.channel.thinking(perception()):
        await speech.show(Task("1", "Reading", TaskState.IN_PROGRESS))
    await speech.settle()
    assert terminal.screen.getvalue() == ""
    lost = terminal.channel.speak(perception(), FakeDrafts(lost=True).log)
    await lost.say("Hello")
    await lost.say(" there")
    assert terminal.screen.getvalue() == ""


async def test_a_post_without_a_message_answers_no_line(terminal: Terminal) -> None:
    channel = terminal.channel
    async with terminal.listening() as task:
        terminal.type("a question\n")
        message = await terminal.next_message()
        terminal.end()
        for modality in (Modality.TIME, Modality.DECISION):
            reply_to = channel.reply_to(perception("9999999999.5", modality=modality))
            await channel.deliver(post("It is time.", reply_to, key=modality))
            assert not task.done(), modality
        await channel.deliver(post("An answer.", message.perception.ts))
        await asyncio.wait_for(task, TIMEOUT)
    assert terminal.screen.getvalue() == "It is time.\nIt is time.\nAn answer.\n"


async def test_cancelling_ends_a_read_that_waits_for_a_line(terminal: Terminal) -> None:
    async with asyncio.timeout(10):
        async with terminal.listening():
            await asyncio.sleep(0)
        await asyncio.get_running_loop().shutdown_default_executor()


async def test_lines_are_read_from_files_too_until_a_read_error(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"one\r\n\xff\xc3\xa4" + b"x" * (2 * LONGEST_LINE) + b"\nlast \xc3")
    with file.open("rb") as source:
        lines = [line async for line in LineReader(source.fileno()).lines()]
    assert lines[0] == "one\r"
    assert "".join(lines[1:-1]) == "\ufffdä" + "x" * (2 * LONGEST_LINE)
    assert lines[-1] == "last \ufffd"
    with (tmp_path / "file").open("wb") as unreadable:
        assert [line async for line in LineReader(unreadable.fileno()).lines()] == []


async def test_an_endless_line_becomes_several_messages(terminal: Terminal) -> None:
    async with terminal.listening() as task:
        terminal.type("x" * (LONGEST_LINE + 5))
        message = await terminal.next_message()
        task.cancel()
    assert len(message.perception.content) >= LONGEST_LINE


@drawn(st.text())
def test_printed_text_can_not_control_the_terminal(text: str) -> None:
    shown = printable(text)
    assert not any(ord(char) < 0x20 and char not in "\n\t" for char in shown)
    assert not any(0x7F <= ord(char) < 0xA0 or char in "\u202e\u2066\u200f\u2028" for char in shown)
    assert printable(shown) == shown
    shown.encode()


def test_ordinary_text_is_printed_unchanged_and_an_unsafe_user_name_refused() -> None:
    for text in ("naïve 日本語\n\tb", "👩‍👩‍👧 می‌خواهم", "a → b"):
        assert printable(text) == text
    assert printable("a\r\nb\x1b[2J\x7f\u202e\x9b") == "a\nb␛[2J␡\\u202e\\u009b"
    for name in ("", "a/b", "../x", " a", "a\nb", "\x1b[2J", "x" * 81, "inner", "soul"):
        with pytest.raises(ConfigError) as refused:
            check_user(name)
        assert "\x1b" not in refused.value.message, name
        assert refused.value.hint, name
    for name in ("ada", "Ada Byron", "o.k-2_b@home", "Ölaf"):
        assert check_user(name) == name
