"""Log lines: what each level shows, and what none shows."""

import io
import json
import logging
import os
import re
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from daemon.core.config import LogLevel
from daemon.core.errors import ModelUnavailable, StoreFull
from daemon.core.ports.services import Emit
from daemon.core.telemetry import MOST_RECORDS, Telemetry
from daemon.core.telemetry.redaction import REDACTED, Redactor, remove_keys
from tests.fakes import FakeClock

LEVELS: tuple[LogLevel, ...] = ("minimal", "standard", "verbose", "debug")
CANARIES = (
    "xoxb-271828-314159-CanaryBotToken",
    "xapp-1-A0CANARY-161803-canaryapp",
    "sk-ant-api03-canary-key_AAAA",
    "6f1ed002-ab55-4de9-9f4b-0c4a6a3c7d11",
    'c@nary/p+ss w"rd\\ö',
)


class CapturedLog:
    def __init__(self, level: LogLevel = "standard", secrets: tuple[str, ...] = CANARIES) -> None:
        self.stream = io.StringIO()
        self.clock = FakeClock()
        self.tell = Telemetry(level, self.stream, secrets, self.clock)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[str]:
        return [line.split(" ", 1)[1] for line in self.text.splitlines()]


Install = Callable[[LogLevel], CapturedLog]


@pytest.fixture
def installed() -> Iterator[Install]:
    undo: list[Callable[[], None]] = []

    def install(level: LogLevel) -> CapturedLog:
        log = CapturedLog(level)
        undo.append(log.tell.install())
        return log

    yield install
    for step in reversed(undo):
        step()


def test_an_event_is_one_line_to_which_each_level_adds_what_seed_000_says() -> None:
    log = CapturedLog()
    emit: Emit = log.tell
    emit("cycle.committed", conversation="minoan/T1/C1/", ms=12.5, hops=2, late=False, draft_id=None, why="a b")
    assert log.text == (
        "2025-06-15T15:06:40.000Z info event=cycle.committed"
        ' conversation=minoan/T1/C1/ ms=12.5 hops=2 late=False draft_id=None why="a b"\n'
    )
    log = CapturedLog()
    log.tell("x.y", a="", b='say "hi"', c="k=v", d="back\\slash", e="ünïcode", **{"odd key=\n": 1})
    assert log.lines == [r'info event=x.y a="" b="say \"hi\"" c="k=v" d="back\\slash" e=ünïcode odd_key__=1']

    class Mood(StrEnum):
        CALM = "calm"

    class Key:
        def __str__(self) -> str:
            return "key"

    log = CapturedLog()
    log.tell("x.y", mood=Mood.CALM, key=Key(), path=Path("/a"), id=uuid.UUID(int=0), many=("a", 1), long="x" * 300)
    assert log.lines == [f"info event=x.y mood=calm key=key path=/a id={uuid.UUID(int=0)} many=a,1 long={'x' * 200}…"]

    def lines_at(level: LogLevel) -> str:
        log = CapturedLog(level)
        log.tell("step.started", step="reply")
        log.tell(
            "step.completed",
            step="reply",
            provider="anthropic",
            tokens_in=10,
            duration_ms=5,
            prompt="p" * 300,
            response="r" * 600,
            monologue="I fear him",
        )
        log.tell("cycle.committed", conversation="c")
        return "\n".join(log.lines)

    assert lines_at("minimal") == "info event=step.completed step=reply"
    figures = "info event=step.completed step=reply provider=anthropic tokens_in=10 duration_ms=5"
    assert lines_at("standard") == f"{figures}\ninfo event=cycle.committed conversation=c"
    verbose = f"{figures} prompt={'p' * 200}… response={'r' * 500}…"
    assert lines_at("verbose").splitlines()[1] == verbose
    assert lines_at("verbose").startswith("info event=step.started")
    assert f'prompt={"p" * 300} response={"r" * 600} monologue="I fear him"' in lines_at("debug")


def test_processes_are_shown_from_standard_on_thoughts_and_private_words_at_debug_only() -> None:
    for level in LEVELS:
        log = CapturedLog(level)
        log.tell("process.moved", act="refuse", origin="curious", target="poetic", because="they said x")
        log.tell("memory.left", memory=("a",))
        log.tell("monologue.thought", monologue="hm")
        moved = "info event=process.moved act=refuse origin=curious target=poetic"
        expected: dict[LogLevel, list[str]] = {
            "minimal": [],
            "standard": [moved],
            "verbose": [moved],
            "debug": [
                f'{moved} because="they said x"',
                "info event=memory.left memory=('a',)",
                "info event=monologue.thought monologue=hm",
            ],
        }
        assert log.lines == expected[level]
    log = CapturedLog("standard")
    log.tell("slack.heard", kind="NewMessage")
    assert log.lines == []
    log = CapturedLog("verbose")
    log.tell("slack.heard", kind="NewMessage")
    log.tell("step.completed", response="<internal_monologue>no</internal_monologue><external_dialogue>Yes!")
    assert log.lines == ["info event=slack.heard kind=NewMessage", "info event=step.completed response=Yes!"]
    for level in LEVELS:

        class Perception:
            content: str = "I love Ana"

        log = CapturedLog(level)
        log.tell("step.completed", monologue="love A", inner_monologue="love B", thought="love C", memory=["love D"])
        log.tell("inbox.failed", content="love E", message_text="love F", perception=Perception(), rows=[Perception()])
        log.tell("step.completed", role="thinking", response="love G")
        log.tell("step.completed", response="<internal_monologue>love H</internal_monologue>")
        log.tell("step.completed", response='{"inner_speech": "love I"}')
        log.tell("memory.dumped", dump="love J")
        log.tell("cycle.failed", error=ValueError("love K"), said={"love": "L"}, odd=object())
        log.tell("x.failed", message_ts="1.2", text_length=3)
        assert ("love" in log.text) == (level == "debug")
        assert "message_ts=1.2 text_length=3" in log.text, level


def test_errors_and_failures_are_shown_at_every_level_without_other_libraries_texts() -> None:
    log = CapturedLog("minimal")
    try:
        try:
            json.loads("the words of Ana")
        except ValueError as error:
            raise ModelUnavailable("the model is away", hint="wait") from error
    except ModelUnavailable as error:
        log.tell("cycle.abandoned", error=error)
    log.tell("disk.checked", error=StoreFull("no room"))
    log.tell("x.y", error=ExceptionGroup("two", [OSError(28, "No space left"), KeyError("Ana")]))
    first, second, third = log.lines
    assert first.startswith('warning event=cycle.abandoned error="ModelUnavailable: the model is away (wait) < JSONDec')
    assert "decoder.py:" in first
    assert second == 'warning event=disk.checked error="StoreFull: no room"'
    assert third == 'warning event=x.y error="ExceptionGroup[OSError: No space left; KeyError]"'
    assert "Ana" not in log.text
    for event, line in (
        ("cycle.failed", "error event=cycle.failed"),
        ("slack.catch_up_failed", "error event=slack.catch_up_failed"),
        ("slack.call_failed", "warning event=slack.call_failed"),
        ("outbox.in_doubt", "warning event=outbox.in_doubt"),
        ("cycle.silent", "warning event=cycle.silent"),
        ("cycle.silent_unasked", None),
        ("daemon.ready", "notice event=daemon.ready"),
        ("slack.status_failed", None),
        ("outbox.sent", None),
    ):
        log = CapturedLog("minimal")
        log.tell(event)
        assert log.lines == ([line] if line else []), event


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_an_event_that_can_not_be_logged_leaves_a_warning_and_raises_nothing() -> None:
    for level in LEVELS:
        log = CapturedLog(level)
        log.tell("x.failed", odd=Broken())
        log.tell.library(logging.LogRecord("lib", logging.ERROR, "", 1, "%s", (Broken(),), None))
        assert log.lines == ["warning event=telemetry.lost"] * 2, level
        log.stream.close()
        log.tell("x.failed")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    Telemetry("standard", stream, (), FakeClock())("x.y", a="ö…")
    assert stream.buffer.seek(0) == 0
    assert stream.buffer.read().endswith(b"event=x.y a=\\xf6\\u2026\n")


def test_lines_for_the_journal_carry_its_priority_instead_of_a_time(tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w+", encoding="utf-8") as stream:
        status = os.fstat(stream.fileno())
        tell = Telemetry("standard", stream, (), FakeClock(), journal_stream=f"{status.st_dev}:{status.st_ino}")
        tell("x.y", a=1)
        tell("x.failed")
        Telemetry("standard", stream, (), FakeClock(), journal_stream=f"{status.st_dev}:1")("x.y", a=2)
        stream.seek(0)
        assert stream.read().splitlines() == [
            "<6>event=x.y a=1",
            "<3>event=x.failed",
            "2025-06-15T15:06:40.000Z info event=x.y a=2",
        ]


def test_library_records_are_shown_but_never_their_debug_frames(installed: Install) -> None:
    expected: dict[LogLevel, list[str]] = {"standard": ["warning"], "debug": ["info", "warning"]}
    for level, shown in expected.items():
        log = installed(level)
        for name in (
            "slack_bolt.AsyncApp",
            "slack_sdk.socket_mode.aiohttp",
            "aiohttp.access",
            "anthropic",
            "soul:Bolt",
        ):
            before = len(log.lines)
            logger = logging.getLogger(name)
            old = logger.level
            logger.setLevel(logging.DEBUG)  # as a library does when a variable of its own asks for it
            for call in (logger.debug, logger.info, logger.warning):
                call("frame of %s", "Ana")
            logger.setLevel(old)
            assert [line.split()[0] for line in log.lines[before:]] == shown
        assert "logger=slack_bolt.AsyncApp" in log.text, level


async def test_a_library_s_text_ends_with_its_first_line_and_does_not_flood_the_log(installed: Install) -> None:
    log = installed("verbose")
    logging.getLogger("asyncio").error("Task exception was never retrieved\nfuture: <Task ValueError('Ana')>")
    logging.getLogger("other").error("%d apples", "many")
    try:
        int("Ana")
    except ValueError:
        logging.getLogger("other").exception("")
    assert log.lines[0] == 'error event=library logger=asyncio said="Task exception was never retrieved"'
    assert log.lines[1] == 'error event=library logger=other said="%d apples"'
    assert re.fullmatch(r'error event=library logger=other said="" error="ValueError at test_\w+.py:\d+"', log.lines[2])
    assert len(log.lines) == 3
    log = installed("standard")
    for number in range(5_000):
        logging.getLogger("mcp.client.session").warning("unknown message %s", number)
    logging.getLogger("asyncio").warning("another library")
    assert len(log.lines) == MOST_RECORDS + 1
    await log.clock.advance(60)
    logging.getLogger("mcp").warning("later")
    assert log.lines[-2:] == [
        f"warning event=library.records_lost library=mcp number={5_000 - MOST_RECORDS}",
        "warning event=library logger=mcp said=later",
    ]


def test_uncaught_exceptions_are_events_instead_of_bare_tracebacks(
    installed: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    log = installed("standard")
    error = ValueError(CANARIES[0])
    sys.excepthook(ValueError, error, None)
    thread = threading.Thread(target=[].pop)
    thread.start()
    thread.join()
    assert log.lines[0] == "error event=daemon.crashed error=ValueError"
    assert log.lines[1].startswith('error event=thread.crashed error="IndexError at ')
    assert capsys.readouterr().err == ""
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert "KeyboardInterrupt" in capsys.readouterr().err

    class Doomed:
        def __del__(self) -> None:
            raise OSError(5, "broken")

    log = installed("standard")
    doomed = Doomed()
    del doomed
    assert log.lines[0].startswith('error event=finalizer.crashed error="OSError: broken at ')


def _disguises(secret: str) -> tuple[str, ...]:
    half = len(secret) // 2
    broken = f"{secret[:half]}\n    {secret[half:]}"
    return (
        secret,
        secret.upper(),
        " ".join(secret),
        broken,
        repr(broken),
        repr([{"header": repr({"authorization": f"Bearer {secret}"})}]),
        json.dumps(json.dumps({"token": secret})),
        quote(secret, safe=""),
        quote_plus(quote(secret, safe="")),
        f"https://u:{quote(secret)}@host/?token={quote(secret, safe='')}&x=1",
        secret[:18],
    )


def _leaks(text: str) -> list[str]:
    bare = re.sub(r"[^a-z0-9]", "", text.lower())
    pieces = {re.sub(r"[^a-z0-9]", "", secret.lower())[-9:] for secret in CANARIES[:4]}
    return [piece for piece in pieces if piece in bare] + re.findall(r"(?i)c@?nary/", text)


def test_no_secret_is_in_any_line_at_any_level(installed: Install) -> None:
    for level in LEVELS:
        for secret in CANARIES:
            log = installed(level)
            for disguise in _disguises(secret):
                log.tell("x.failed", reason=disguise, prompt=disguise, many=(disguise, {"k": disguise}))
                log.tell("x.failed", reason="x" * 190 + disguise)
                log.tell(f"x.{disguise}.failed")
                try:
                    try:
                        uuid.UUID(disguise, version=9)
                    except ValueError as error:
                        error.add_note(disguise)
                        raise ModelUnavailable(f"refused: {disguise}", hint=disguise) from error
                except ModelUnavailable as error:
                    log.tell("x.failed", error=error)
                    logging.getLogger("slack_sdk").exception("headers %r", {"authorization": disguise})
            assert log.text.count(REDACTED) > 10, (level, secret)
            assert _leaks(log.text) == [], (level, secret)


def test_what_looks_like_a_key_goes_wherever_it_stands_and_a_secret_with_blanks_in_any_run_of_them() -> None:
    for text in (
        "xoxp-1234567890-abcdef",
        "xoxe.xoxb-1-abcdefgh",
        "sk-proj-abcdefghijklmnop",
        "sk-ant-api03-abcdefghijklmnop",
        "gsk_abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "glpat-abcdefghijklmnopqrst",
        "AKIAABCDEFGHIJKLMNOP abcdef".removesuffix(" abcdef"),
        "AIzaSyabcdefghijklmnopqrstuvwxyz0123456",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop",
        "postgres://ada:abcdef12@db.example/main",
        "wss://wss-primary.slack.com/link/?ticket=0f7c2a9e-1c1b&app_id=1",
        "https://hooks.slack.com/services/T1/B1/abcdef",
        "Authorization: Bearer 0f7c2a9e1c1b",
    ):
        assert REDACTED in Redactor(())(text)
        assert "abcdef" not in Redactor(())(text)
        assert "0f7c2a9e" not in Redactor(())(text)
    text = "a task-based risk-averse approach, ticket=none, the bearer of news, 10% of it"
    assert Redactor(("abc", "", "  "))(text.replace("ticket=none, ", "")) == text.replace("ticket=none, ", "")
    for blanks in (0, 1, 3):
        secret = "Bearer" + " a" * blanks + " 0f7c2a9e1c1b"
        redact = Redactor([secret])
        assert "0f7c2a9e" not in redact(f"x {secret} y"), blanks
        assert "0f7c2a9e" not in redact(f"x {secret.replace(' ', '   ')} y"), blanks
        text = ("Bearer" + " " * 8_000) * 2
        assert redact(text) == text, blanks
    text = "eyJ-" * 50_000  # searched to its end from each of them it would take minutes
    assert remove_keys(text) == text
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
    assert remove_keys(f"a {token}, key-{token}") == "a [redacted], key-[redacted]"
    assert remove_keys("eyJhbGciOiJIUzI1-sk-0123456789abcdef") == "eyJhbGciOiJIUzI1-[redacted]"


@given(event=st.text(), value=st.text(), level=st.sampled_from(LEVELS), key=st.text(min_size=1))
@example(
    event="x\n<0>event=fake", value="\x1b[31mred\x1b[0m\r\n\u202e\u2028\x85\U000e0041\ud800", level="debug", key="a\nb"
)
def test_nothing_but_printable_characters_reaches_the_stream(event: str, value: str, level: LogLevel, key: str) -> None:
    log = CapturedLog(level)
    log.tell(event, **{key: value})
    log.tell("x.failed", reason=value, many=[value], error=ValueError(value), bad=StoreFull(value))
    log.tell.library(logging.LogRecord(value, logging.ERROR, "", 1, value, None, None))
    assert all(line.isprintable() for line in log.text.removesuffix("\n").split("\n"))
    assert log.text.count("event=x.failed") >= 1
    assert log.text.count("\n") <= 3
    assert "event=telemetry.lost" not in log.text
