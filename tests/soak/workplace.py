"""A workspace with many people, the daemons in it, and one clock on which weeks pass in minutes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from daemon.core.errors import ModelUnavailable, StoreBusy, StoreFull
from daemon.core.ports.services import Completion, Prompt
from daemon.core.systemd import ExitCode, exit_code
from daemon.local_slack.faults import MethodFault
from daemon.local_slack.model import ChannelKind, Standing, WorkspaceChannel, WorkspaceUser
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.memory.database import Transaction, schema
from daemon.memory.database.sqlite import sqlite3
from tests.fakes import Events, TurnableClock
from tests.journeys.house import SlackDaemon, settings_for
from tests.models import FakeModel

_TICK = 0.005  # seconds of the machine between two looks
_ROUNDS = 12_000  # looks, a minute or more; a start or an end that takes longer has failed
_STEP = 600.0  # seconds by which an idle workspace's time moves at once
_STARTS = 5
_EVENTS_KEPT = 200
_FOR_EVER = 100_000
_WAITING = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
         + (SELECT count(*) FROM jobs WHERE state = 'running' OR (state = 'ready' AND not_before <= ?))
    """


class RecentEvents(Events):
    """Events of which the newest are kept: weeks of them would look like a leak."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Record one event."""
        super().__call__(event, **fields)
        if len(self.emitted) > 2 * _EVENTS_KEPT:
            del self.emitted[:-_EVENTS_KEPT]


class FailingModel(FakeModel):
    """A model that echoes, keeps no prompts, and fails while it is `down`."""

    down = False

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
        self.prompts.clear()
        if self.down:
            raise ModelUnavailable("overloaded")
        async for piece in super().stream(prompt):
            yield piece


class MovableClock(TurnableClock):
    """A turnable clock whose time of day alone an admin can change."""

    def __init__(self) -> None:
        super().__init__()
        self.behind = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return super().now_ms() - int(self.behind * 1000)


def _has_begun(daemon: SlackDaemon) -> bool:
    return daemon._connected.is_set() or daemon.over


class Workplace:
    """The people, their rooms, the daemon that runs, and what can be done to them."""

    def __init__(self, server: WorkspaceServer, clock: MovableClock, home: Path, people: int) -> None:
        self.server, self.workspace, self.clock = server, server.workspace, clock
        self.settings = settings_for(server, home)
        self.model = FailingModel()
        self.daemon: SlackDaemon | None = None
        self.dead_daemons: list[str] = []
        self.people = [self._person(number) for number in range(people)]
        self.bot = self._person(people, Standing.BOT)
        self.dms = [self.workspace.open_dm(person.id) for person in self.people]
        self.rooms = [self._room(number) for number in range(max(2, people // 10))]

    def _person(self, number: int, standing: Standing = Standing.MEMBER) -> WorkspaceUser:
        name, bot = f"person-{number}", f"B0P{number}" if standing is Standing.BOT else ""
        one = WorkspaceUser(f"U0P{number}", name, name, name, standing, self.server.team.id, bot)
        self.workspace.add_person(one)
        return one

    def _room(self, number: int) -> WorkspaceChannel:
        members = (*(one.id for one in self.people[number::2][:30]), self.bot.id, self.server.bot_user.id)
        kind = ChannelKind.PUBLIC if number % 2 else ChannelKind.PRIVATE
        room = WorkspaceChannel(f"C0R{number}", f"room-{number}", kind, members, self.clock.now_ms() // 1000)
        self.workspace.add_channel(room)
        return room

    # -- time ---------------------------------------------------------------------------------------------------------

    async def rest(self, seconds: float) -> None:
        """Let time pass in steps; what falls due meanwhile is finished before the next step."""
        while seconds > 0:
            self.clock.turn(min(seconds, _STEP))
            seconds -= _STEP
            await asyncio.sleep(_TICK)
            for _ in range(100):
                if not self.busy:
                    break
                await asyncio.sleep(_TICK)
            self._look_after()

    async def settled(self, asked: set[str], patience: float) -> None:
        """Let time pass until all these messages have ended and no row waits, at most so many seconds.

        Messages that have ended are taken out of `asked`.
        """
        until, busy = self.clock.monotonic() + patience, 0
        while self.clock.monotonic() < until:
            self._look_after()
            if not self.busy and await asyncio.to_thread(self._all_ended, asked):
                return
            busy = busy + 1 if self.busy else 0
            if not busy or busy > 40:
                self.clock.turn(1.0 if busy else 3.0)
            await asyncio.sleep(_TICK)

    @property
    def busy(self) -> bool:
        """Whether the daemon has cycles or jobs under way."""
        return self.daemon is not None and not self.daemon.over and self.daemon.busy

    def _all_ended(self, asked: set[str]) -> bool:
        with self.store() as connection:
            for ts in [*asked]:
                row = connection.execute("SELECT state FROM inbox WHERE ts = ?", (ts,)).fetchone()
                if row is not None and row[0] not in ("new", "claimed"):
                    asked.discard(ts)
            return not asked and not connection.execute(_WAITING, (self.clock.now_ms(),)).fetchone()[0]

    def _look_after(self) -> None:
        if self.daemon is not None and self.daemon.over:
            error = None if self.daemon._life.cancelled() else self.daemon._life.exception()
            self.dead_daemons.append(repr(error))
            self.daemon = None

    @contextmanager
    def store(self) -> Iterator[sqlite3.Connection]:
        """A connection to memory.db, as another program has one."""
        with closing(sqlite3.connect(self.settings.database_path, timeout=60.0, isolation_level=None)) as connection:
            yield connection

    # -- daemons ------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start a daemon and wait until it is connected; it catches up with the rooms while time passes.

        One that can't start for now is started again, as a service manager does: the one before may still be ending.
        """
        for _ in range(_STARTS):
            daemon = SlackDaemon(self.settings, self.clock, self.model)
            daemon.events = RecentEvents()
            await self._until(partial(_has_begun, daemon))
            if not daemon.over or exit_code(daemon._life.exception()) is not ExitCode.TEMPORARY:
                break
        if daemon.over:
            await daemon._life
        self.daemon = daemon

    async def stop(self) -> None:
        """Stop the daemon as a service manager does."""
        daemon, self.daemon = self.daemon, None
        if daemon is not None and not daemon.over:
            stopping = asyncio.create_task(daemon.stop())
            await self._until(stopping.done)
            await stopping

    async def restart(self) -> None:
        """Stop it and start the next one."""
        await self.stop()
        await self.start()

    async def crash(self) -> None:
        """The same after a crash."""
        await self.cut()
        await self.start()

    async def kept_running(self) -> None:
        """Start a daemon where none runs, as a service manager does."""
        self._look_after()
        if self.daemon is None:
            await self.start()

    async def cut(self) -> None:
        """Cancel the daemon, as a crash ends it."""
        daemon, self.daemon = self.daemon, None
        if daemon is not None:
            await daemon.cut()

    async def hand_over(self) -> None:
        """Start a second daemon on the same file, and stop the first one then."""
        first = self.daemon
        await self.start()
        second, self.daemon = self.daemon, first
        await self.stop()
        self.daemon = second

    async def outdate(self) -> None:
        """A newer program migrates the file, which ends the daemon; then the admin goes back."""
        daemon = self.daemon
        assert daemon is not None
        self._set_schema(schema.SCHEMA + 1)
        await self._until(lambda: daemon.over)
        self.daemon = None
        if exit_code(daemon._life.exception()) is not ExitCode.CONFIGURATION:
            self.dead_daemons.append(f"outdated: {daemon._life.exception()!r}")
        self._set_schema(schema.SCHEMA)
        await self.start()

    def _set_schema(self, number: int) -> None:
        with self.store() as connection:
            connection.execute(f"PRAGMA user_version = {number}")

    async def _until(self, holds: Callable[[], bool]) -> None:
        for _ in range(_ROUNDS):
            if holds():
                return
            self.clock.turn(1.0)
            await asyncio.sleep(_TICK)
        raise TimeoutError("a daemon did not start or end")

    # -- troubles -----------------------------------------------------------------------------------------------------

    def slack_fails(self, answer: str, *, reset: bool) -> None:
        """From now on every call of the Web API is refused; with `reset` the sockets are gone too."""
        status = 503 if reset else 200
        self.workspace.faults.add(MethodFault("*", status=status, body={"ok": False, "error": answer}), _FOR_EVER)
        if reset:
            self.workspace.faults.counts["refuse_handshakes"] = _FOR_EVER
            for socket in [*self.workspace.sockets.open]:
                socket.reset()

    def slack_limits(self, times: int) -> None:
        """The next calls of the Web API are refused for five seconds."""
        body = {"ok": False, "error": "ratelimited"}
        self.workspace.faults.add(MethodFault("*", status=429, headers={"Retry-After": "5"}, body=body), times)

    def slack_works(self) -> None:
        """All calls are carried out again."""
        self.workspace.faults.clear()

    async def disk(self, *, full: bool) -> None:
        """Let memory.db grow no more, or again."""
        if self.daemon is None or self.daemon.over or self.daemon.built is None:
            return

        async def unit(transaction: Transaction) -> None:
            count = (await transaction.rows("PRAGMA page_count"))[0][0] if full else 1_000_000_000
            await transaction.rows(f"PRAGMA max_page_count = {count}")

        while True:
            with suppress(StoreFull, StoreBusy):  # it may share a transaction with what does not fit, or wait too long
                await self.daemon.built.store.database.write(unit)
                return


@asynccontextmanager
async def workplace(home: Path, people: int) -> AsyncIterator[Workplace]:
    """A workspace with so many people, and its first daemon."""
    clock = MovableClock()
    async with serve_workspace(clock=clock) as server:
        built = Workplace(server, clock, home, people)
        try:
            await built.start()
            yield built
        finally:
            built.slack_works()
            clock.turn(60.0)
            await built.cut()
