"""No error ends a loop: it is logged, what failed is begun again or parked, and everything else goes on."""

import ast
import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from daemon.app.assembly import assemble, souls_of
from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.errors import ConfigError, DeliveryUncertain, SchemaMismatch, StoreBusy
from daemon.core.last_line import LastLine
from daemon.core.perception import ConversationKey, Perception
from daemon.core.ports import Intake
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import DraftLog, GateDecision, Speech
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.core.telemetry.metrics import fanout
from daemon.core.telemetry.redaction import RecentErrors
from daemon.core.text import Trusted
from daemon.memory.admin.replies import Backlog
from daemon.memory.emptied_posts import Note
from daemon.memory.queues import approvals, intention_rows
from daemon.memory.store import Store
from daemon.processes.subprocesses import SUBPROCESSES
from tests.fakes import TIMEOUT, Events, FakeChannel, FakeClock, FakeSpeech, StillClock
from tests.given import TEAM, new_message
from tests.models import FakeModel
from tests.store.parts import look

ROOT = Path(__file__).parents[2]


async def kept(clock: FakeClock, events: Events, *failures: Exception) -> None:
    """A loop that ends in each of these failures, one after another, and at last of itself."""
    left = iter(failures)

    async def work() -> None:
        for failure in left:
            raise failure

    await LastLine(clock, events).keep("chore", work)


async def test_a_loop_begins_again_after_growing_pauses() -> None:
    clock, events = FakeClock(auto=True), Events()
    await kept(clock, events, *[KeyError("words of Ana")] * 8)
    assert clock.slept == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [event["reason"] for event in events.named("loop.failed")] == ["KeyError"] * 8
    assert {event["loop"] for event in events.named("loop.failed")} == {"chore"}
    clock, events = FakeClock(auto=True), Events()
    await kept(clock, events, *[StoreBusy("held", hint="wait")] * 5)
    assert clock.slept == [1] * 5
    assert events.emitted == [("store.failed", {"reason": "held", "hint": "wait"})] * 5
    clock, runs = FakeClock(auto=True), 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            await clock.sleep(100)
        if runs < 5:
            raise KeyError

    await LastLine(clock, Events()).keep("chore", work)
    assert clock.slept == [1, 2, 100, 1, 2]


async def test_what_has_to_end_the_daemon_ends_a_loop() -> None:
    outdated, both = SchemaMismatch("newer"), ExceptionGroup("both", [KeyError(), SchemaMismatch("newer")])
    for error in (outdated, both, ConfigError("no token"), KeyboardInterrupt(), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            await LastLine(FakeClock(auto=True), Events()).keep("chore", _raise(error))


def test_troubles_are_what_failed_within_an_hour() -> None:
    clock = FakeClock()
    troubles = RecentErrors(clock)
    for _ in range(2):
        troubles("loop.failed", loop="backup", reason="PermissionError")
    troubles("outbox.access_lost", reason="token_revoked")
    troubles("slack.heard")
    assert troubles.now() == {"backup": "2 times, last: PermissionError", "posting": "1 times, last: token_revoked"}
    troubles("outbox.sent")
    assert list(troubles.now()) == ["backup"]
    clock._elapsed = 3601.0
    assert not troubles.now()


# Where tasks are begun, and why one that fails there ends nothing that should go on. `last line`: each task is begun
# through `LastLine.keep`. `row`: it belongs to the work on one row, whose failure the dispatcher takes; `request`: to
# one HTTP request or one function call, which fails alone; `start`: before the daemon works; `file`: without the
# writer nothing can go on; `workspace`: the local workspace, which is not the daemon.
TASKS = {
    "app/__init__.py:run_chat": "last line in Daemon.work",
    "app/lifecycle.py:Daemon._listen": "last line",
    "app/lifecycle.py:Daemon.live": "last line",
    "app/lifecycle.py:unless_stopped": "start",
    "app/lifecycle.py:clock_of": "the daemon, which runs inside it",
    "channels/http/contexts.py:ContextPages.watch_context": "request",
    "channels/http/sessions.py:CompanionPolls.wait": "request",
    "channels/http/stream.py:ReplyStream.reply": "request",
    "channels/http/sessions.py:SessionPages.session_notes": "request",
    "channels/http/stream.py:ReplyStream.run": "request",
    "core/channels.py:Channels.listen": "last line in Daemon.live",
    "channels/slack/people.py:Names.of": "row",
    "channels/slack/people.py:Directory._look_up": "row",
    "channels/slack/channel.py:SlackChannel.listen": "last line",
    "channels/slack/connection.py:Connection.keep_open": "last line",
    "channels/slack/connection.py:Supervisor.run": "last line",
    "channels/slack/sessions.py:Acknowledgements.run": "last line in SlackChannel.listen",
    "channels/slack/speech.py:SlackSpeech._begin": "row",
    "channels/slack/speech.py:SlackSpeech._doze": "row",
    "channels/slack/appearance.py:StatusLine._clear": "last line in SlackChannel.listen",
    "channels/slack/appearance.py:StatusLine._keep": "row",
    "channels/slack/private_answers.py:PrivateAnswers.run": "last line in SlackChannel.listen",
    "channels/slack/appearance.py:StatusLine.run": "last line in SlackChannel.listen",
    "channels/slack/appearance.py:StatusLine.shown": "last line",
    "channels/terminal.py:TerminalChannel.listen": "the talk in the terminal is over",
    "core/concurrency.py:Bell.wait": "row",
    "core/concurrency.py:alongside": "the callers are listed here",
    "core/concurrency.py:moving_limit": "row",
    "core/concurrency.py:set_within": "the waiter",
    "ism/__init__.py:_Work._unless_cut": "row",
    "llm/answers.py:find_model": "the look at the start",
    "local_slack/clock.py:WorkspaceClock.run": "workspace",
    "local_slack/server.py:WorkspaceServer.__aenter__": "workspace",
    "local_slack/sockets.py:AppSockets._serve": "workspace",
    "memory/database/__init__.py:open_database": "file",
    "memory/database/backup.py:BackupSchedule._copy": "last line in Daemon.work",
    "memory/queues/alarms.py:Duty.turn": "whose duty it is",
    "memory/retrieval/surfacing.py:Surfacing._search_now": "row",
    "mind/process.py:Interrupt.unless_called": "row",
    "runtime/jobs.py:JobRunner.do": "row",
    "runtime/consolidation.py:Consolidator.look": "last line in Daemon.work",
    "runtime/conversation.py:ConversationHandler._think_in_time": "row",
    "runtime/conversation.py:ConversationHandler._triage": "row",
    "runtime/dispatcher.py:Dispatcher._start_next": "row",
    "runtime/dispatcher.py:Dispatcher.run": "last line in Dispatcher._serve",
    "runtime/recalling.py:_known": "row",
    "runtime/recalling.py:process_context": "row",
    "shared/news.py:open_news": "a command, which ends with it",
    "tools/mcp/toolbox.py:_to_the_end": "request",
    "tools/mcp/program.py:run_program": "last line in open_toolbox",
    "tools/mcp/toolbox.py:McpToolbox.tools": "row",
    "tools/mcp/toolbox.py:open_toolbox": "last line",
}
_STARTERS = {"create_task", "ensure_future", "alongside", "gather", "run_coroutine_threadsafe", "start_soon"}


@cache
def _beginnings() -> dict[str, list[ast.Call]]:
    """The calls that begin tasks, by file, class and function."""
    found: dict[str, list[ast.Call]] = {}

    def search(node: ast.AST, name: str, path: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                inner = f"{name}.{child.name}".strip(".") if isinstance(node, ast.Module | ast.ClassDef) else name
            if isinstance(child, ast.Call):
                called = child.func
                label = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if label in _STARTERS:
                    found.setdefault(f"{path}:{name}", []).append(child)
            search(child, inner, path)

    for path in sorted((ROOT / "daemon").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(starter in text for starter in _STARTERS):  # parsing all takes a second
            search(ast.parse(text), "", str(path.relative_to(ROOT / "daemon")))
    return found


def test_every_place_that_begins_a_task_is_listed_with_what_its_failure_ends_and_begun_with_the_last_line() -> None:
    assert sorted(_beginnings()) == sorted(TASKS)
    bare = {
        f"{place}: {ast.unparse(call)}"
        for place, calls in _beginnings().items()
        for call in calls
        if TASKS.get(place) == "last line" and not re.search(r"keep\(|_kept\(", ast.unparse(call))
    }
    assert not bare


class PoisonedChannel(FakeChannel):
    """A channel that fails with `error` in the rooms that are named after the failing call."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.listened = 0

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        self.listened += 1
        if self.listened < 3:
            raise self.error
        await super().listen(intake, ready)

    def healthy(self) -> bool:
        raise self.error

    async def admit(self, perception: Perception) -> GateDecision:
        if perception.conversation.channel == "DGATE":
            raise self.error
        return await super().admit(perception)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        if conversation.channel == "DSPLIT":
            raise self.error
        return super().split(reply, conversation, trusted)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        return FakeSpeech()

    async def deliver(self, post: Post) -> str:
        if post.body in set(Note):
            return await super().deliver(post)
        if post.conversation.channel == "DPOST":
            raise self.error
        if post.conversation.channel == "DFIND":
            raise DeliveryUncertain("reset")
        return await super().deliver(post)

    async def find(self, post: Post) -> FoundPost | None:
        if post.conversation.channel == "DFIND":
            raise self.error
        return await super().find(post)

    def notes(self) -> dict[str, str]:
        return {post.conversation.channel: post.body for post in self.posted if post.body in set(Note)}


class Sickbed:
    """A running daemon, its poisoned channel, and the time that passes only while a test waits."""

    def __init__(self, settings: Settings, error: Exception) -> None:
        self.settings = settings
        self.clock, self.events, self.office = StillClock(), Events(), PoisonedChannel(error)
        self.troubles = RecentErrors(self.clock)
        self.ran = 0
        self.store: Store

    async def say(self, channel: str, text: str) -> ConversationKey:
        key = ConversationKey(self.settings.name, TEAM, channel)
        await self.store.inbox.accept(new_message(f"{self.clock.now_ms() / 1000:.6f}", text, conversation=key))
        return key

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let a second pass after each look into memory.db, until something holds."""
        async with asyncio.timeout(TIMEOUT):
            while not holds():
                await self.store.jobs.next_due_ms()
                await self.clock.advance(1.0)

    def states(self, sql: str) -> list[object]:
        return [row[0] for row in look(self.settings.database_path, sql)]

    async def poison_chore(self) -> None:
        self.ran += 1
        raise self.office.error


@asynccontextmanager
async def sickbed(home: Path, error: Exception) -> Any:  # noqa: ANN401  # a context manager
    day = 86_400.0
    settings = Settings(
        _env_file=None, home=home, embedder="none", lease=day, deadline=day, stale_after=day, in_doubt=1.0
    )
    bed = Sickbed(settings, error)
    emit = fanout(bed.events, bed.troubles)
    stop, service = asyncio.Event(), ServiceManager()
    async with AsyncExitStack() as stack:
        built = await stack.enter_async_context(
            assemble(
                settings,
                bed.office,
                bed.clock,
                emit,
                workspace=TEAM,
                souls=souls_of(settings, emit),
                llm_of=lambda _: FakeModel(),
                troubles=bed.troubles,
            )
        )
        built.chores["poison"] = bed.poison_chore  # type: ignore[index]  # a dict
        bed.store = built.store
        await stack.enter_async_context(alongside(built.live(stop, service, Watchdog(service, None), lambda _: None)))
        yield bed


_INTENTION = """
    INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, process, behalf, place, audience, state,
                            created_ms)
    VALUES ('i', :conversation, :soul, :workspace, 's', 1, '', 'U1', 'dm', 'dm:DTIME', 'waiting', 1)
"""
_QUESTION = """
    INSERT INTO approvals (id, conversation, soul, workspace, turn, tool, arguments, asked, audience, state,
                           expires_ms, created_ms)
    VALUES ('a', :conversation, :soul, :workspace, 1, 't', '{}', '["U1"]', 'dm:DTIME', 'waiting', 1, 1)
"""


def _raise(error: BaseException) -> Callable[..., Coroutine[object, object, Any]]:
    async def fail(*_: object, **__: object) -> object:
        raise error

    return fail


@pytest.mark.parametrize(
    "error", [KeyError("ts"), RecursionError("too deep"), PermissionError(13, "Permission denied")], ids=repr
)
async def test_poison_of_every_kind_is_parked_with_a_word_and_everything_else_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail_at_once(*_: object) -> int:
        raise error

    monkeypatch.setattr("daemon.memory.database.backup.newest_copy", fail_at_once)
    monkeypatch.setattr("daemon.app.lanes.SUBPROCESSES", {**SUBPROCESSES, "poison": _raise(error)})
    monkeypatch.setattr(intention_rows, "store_internal_event", _raise(error))
    monkeypatch.setattr(approvals, "close_question", _raise(error))
    async with sickbed(tmp_path, error) as bed:
        for channel in ("DGATE", "DSPLIT", "DPOST", "DFIND", "DTIME"):
            key = await bed.say(channel, "poison")
        await Backlog(bed.store.database, bed.clock, soul=bed.settings.name, workspace=TEAM).enqueue(key, ("poison",))
        for row in (_INTENTION, _QUESTION):
            await bed.store.database.run(row, conversation=str(key), soul=bed.settings.name, workspace=TEAM)
        dead = "SELECT conversation FROM {} WHERE state = 'dead'"
        await bed.until(lambda: len(bed.office.notes()) == 5)
        unread, unsent = dict.fromkeys(("DGATE", "DSPLIT"), Note.UNREAD), dict.fromkeys(("DPOST", "DFIND"), Note.DEAD)
        assert bed.office.notes() == {**unread, **unsent, "DTIME": Note.NOT_FIRED}
        await bed.until(lambda: bed.states("SELECT state FROM approvals") == ["expired"])
        await bed.until(lambda: len(bed.states(dead.format("jobs"))) == 1)
        assert len(bed.states(dead.format("inbox"))) == len(bed.states(dead.format("outbox"))) == 2
        assert bed.states("SELECT state FROM intentions WHERE id = 'i'") == ["dead"]
        before = bed.ran
        await bed.say("DWELL", "still there?")
        await bed.until(lambda: any(post.body == "Echo: still there?" for post in bed.office.posted))
        await bed.until(lambda: bed.ran > before)
        failing = {"poison", "backup", "heartbeat", "channel", "conversations", f"scheduler of {bed.settings.name}"}
        failed = {str(event["loop"]) for event in bed.events.named("loop.failed")}
        foreseen = {"backup"} if bed.events.named("backup.failed") else set()  # a folder that can't be used
        assert failing <= failed | foreseen
        assert bed.office.listened == 3
        seen = set(bed.events.names)
        assert {"loop.failed", "outbox.dead", "inbox.dead", "job.dead"} <= seen
