"""The local workspace, the daemons in it, and what a journey does with both."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar

from click.testing import CliRunner
from pydantic import SecretStr

from daemon.app import Doctor, with_alarms
from daemon.app.assembly import assemble, souls_of
from daemon.app.http_api import side_of
from daemon.app.lifecycle import Daemon
from daemon.channels.http.channel import HttpChannel
from daemon.channels.slack.appearance import Appearance
from daemon.channels.slack.channel import SlackChannel
from daemon.cli.commands import soul
from daemon.core.config import Settings
from daemon.core.ports.services import LLM, Prompt
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.core.telemetry.metrics import Metrics, fanout
from daemon.core.telemetry.redaction import RecentErrors
from daemon.local_slack.model import Json
from daemon.local_slack.server import WorkspaceServer
from daemon.memory.database.sqlite import sqlite3
from tests.fakes import TIMEOUT, Events, TurnableClock
from tests.given import shown
from tests.models import FakeModel, Flow
from tests.workspace_client import WorkspaceClient

T = TypeVar("T")
BOT_TOKEN, APP_TOKEN = f"xoxb-local-{'0' * 24}", f"xapp-1-A0SOUL-1-{'0' * 24}"
"""The same for all journeys: what hides them in texts is compiled once."""
_LONGEST_DELAY = 60.0  # seconds; the longest delay that a test asks of the workspace
_POSTING = ("chat.postMessage", "chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update")


class SlackDaemon:
    """One running daemon, until it is stopped, cancelled, or fails."""

    def __init__(
        self,
        settings: Settings,
        clock: TurnableClock,
        model: LLM,
        service: ServiceManager | None = None,
        watchdog_usec: int | None = None,
        *,
        doctor: Doctor = lambda _: (),
    ) -> None:
        self.events = Events()
        self._doctor = doctor
        self._service = service or ServiceManager()
        self._watchdog = Watchdog(self._service, watchdog_usec)
        self.built: Daemon | None = None
        self.http: HttpChannel | None = None
        self._settings, self._clock, self._model = settings, clock, model
        self._stop = asyncio.Event()
        self._connected = asyncio.Event()
        self._life = asyncio.create_task(self._live())

    async def _live(self) -> None:
        souls = souls_of(self._settings, self.events)

        def appearance(name: str) -> Appearance | None:
            soul = souls.hosted(name)
            return None if soul.name == souls.main else Appearance(soul.display_name, soul.icon)

        channel = SlackChannel(
            self._settings,
            self._clock,
            self.events,
            soul_for_channel=souls.for_channel,
            appearance_of=appearance if len(souls.names) > 1 else None,
            shown_name=lambda name: souls.hosted(name).display_name,
            words_of=lambda name, language: souls.hosted(name).words_in(language),
            suggested=lambda name, language: souls.hosted(name).suggestions_in(language),
        )
        async with AsyncExitStack() as stack:
            stack.push_async_callback(channel.close)
            identity = await channel.identify()
            troubles, http = RecentErrors(self._clock), self._door()
            self.built = await stack.enter_async_context(
                assemble(
                    self._settings,
                    channel,
                    self._clock,
                    fanout(self.events, troubles),
                    workspace=identity.team,
                    souls=souls,
                    llm_of=lambda _: self._model,
                    http=http,
                    troubles=troubles,
                    account=identity.user,
                )
            )
            if http:
                stack.push_async_callback(http.close)
                http.connect(side_of(self.built, souls, identity.team, standing_of=channel.standing_of))
            self.built = with_alarms(self.built, souls, self._doctor)
            await self.built.live(self._stop, self._service, self._watchdog, lambda _: self._connected.set())

    def _door(self) -> HttpChannel | None:
        """The HTTP API, where the settings give it a token; most journeys need none."""
        if self._settings.http_token is None:
            return None
        self.http = HttpChannel(self._settings, self._clock, self.events, Metrics())
        return self.http

    async def ready(self) -> Self:
        """Wait until it is connected and has caught up; raises the error that ends it before."""
        waiting = asyncio.create_task(self._caught_up())
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait((waiting, self._life), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            waiting.cancel()
            await self._life
        return self

    async def _caught_up(self) -> None:
        await self._connected.wait()
        await self.events.until("slack.caught_up")

    async def stop(self) -> None:
        """Stop it as SIGTERM does: the cycles under way are finished first."""
        self._stop.set()
        async with asyncio.timeout(TIMEOUT):
            await self._life

    async def cut(self) -> None:
        """Cancel it as a second SIGTERM does."""
        self._life.cancel()
        await asyncio.wait((self._life,))
        if not self._life.cancelled():
            self._life.result()

    @property
    def busy(self) -> bool:
        """Whether it has cycles or jobs under way."""
        return self.built is not None and bool(self.built.dispatcher.active)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._life.done()


class House:
    """The workspace and its daemons. Users go by name; a room is `dm` (with a user) or the name of a channel."""

    def __init__(
        self, workspace: WorkspaceServer, people: WorkspaceClient, clock: TurnableClock, settings: Settings
    ) -> None:
        self.workspace, self.people, self.clock, self.settings = workspace, people, clock, settings
        self.model = FakeModel()
        self.doctor: Doctor = lambda _: ()
        self.daemon: SlackDaemon | None = None
        self._daemons: list[SlackDaemon] = []
        self._made = 900_000  # above what the workspace counts

    # -- daemons ----------------------------------------------------------------------------------------------------

    async def start(self, model: LLM | None = None, **changes: Any) -> SlackDaemon:  # noqa: ANN401  # any setting
        """Start a daemon, with these settings changed; it is ready when its MCP server is connected, if it has one."""
        settings = self.settings.model_copy(update=changes)
        self.daemon = SlackDaemon(settings, self.clock, model or self.model, doctor=self.doctor)
        self._daemons.append(self.daemon)
        await self.daemon.ready()
        if changes.get("mcp_servers"):
            await self.events.until("tools.server_connected")
        return self.daemon

    async def start_under(self, address: str, watchdog_usec: int) -> SlackDaemon:
        """Start a daemon under a service manager that listens at an address."""
        self.daemon = SlackDaemon(self.settings, self.clock, self.model, ServiceManager(address), watchdog_usec)
        self._daemons.append(self.daemon)
        return await self.daemon.ready()

    async def stop(self) -> None:
        """Stop the newest daemon."""
        await self.running.stop()

    async def restart(self, **changes: Any) -> SlackDaemon:  # noqa: ANN401  # any setting
        """Stop the newest daemon and start another."""
        await self.stop()
        return await self.start(**changes)

    async def cut(self) -> None:
        """Cut the newest daemon off."""
        await self.running.cut()

    async def close(self) -> None:
        """End every daemon, and every answer that the workspace still delays."""
        self.clock.turn(_LONGEST_DELAY)
        for daemon in self._daemons:
            if not daemon.over:
                await daemon.cut()

    @property
    def running(self) -> SlackDaemon:
        """The newest daemon."""
        assert self.daemon is not None
        return self.daemon

    @property
    def built(self) -> Daemon:
        """The newest daemon's parts."""
        assert self.running.built is not None
        return self.running.built

    @property
    def events(self) -> Events:
        """The events of the newest daemon."""
        return self.running.events

    # -- people -----------------------------------------------------------------------------------------------------

    async def say(
        self, person: str, room: str, text: str, *, thread: str = "", files: Sequence[dict[str, Any]] = ()
    ) -> str:
        """Post a message of a user; gives its ts."""
        return str((await self.people.say(person, room, text, thread=thread, files=files))["ts"])

    async def guest(self, name: str = "Gus") -> None:
        """Let a guest join the channel `general`."""
        await self.people.add_person(name, standing="guest")
        await self.people.join(name, "general")
        await self.acknowledged()

    async def _named(self, name: str) -> str:
        rooms = (await self.people.state())["channels"]
        return str(next(one["id"] for one in rooms if name in (one["name"], one["id"])))

    def ts(self) -> str:
        """A ts for an event made by hand, later than all before."""
        self._made += 1
        return f"{self.clock.now_ms() // 1000}.{self._made:06d}"

    async def person(self, name: str) -> str:
        """The id of a user."""
        people = (await self.people.state())["people"]
        return str(next(one["id"] for one in people if name in (one["id"], one["display_name"])))

    # -- what the soul did --------------------------------------------------------------------------------------------

    async def replies(self, room: str, thread: str = "*") -> list[str]:
        """The finished replies of the soul in a room (by id or name), oldest first."""
        posts = await self.people.posts_by_bot(await self._named(room), thread=thread)
        return [said(post) for post in posts if post.get("streaming_state") != "in_progress"]

    async def reply(self, room: str, containing: str = "", *, count: int = 1) -> Json:
        """Wait until `count` replies of the soul are finished in a room; gives the last of them."""
        channel = await self._named(room)

        async def look() -> Json | None:
            posts = await self.people.posts_by_bot(channel)
            done = [one for one in posts if one.get("streaming_state") != "in_progress" and containing in said(one)]
            return done[count - 1] if len(done) >= count else None

        return await self.until(look)

    async def settled(self, room: str, containing: str = "", *, count: int = 1) -> Json:
        """Wait for a reply, and until nothing is under way; gives the reply."""
        post = await self.reply(room, containing, count=count)
        await self.idle()
        return post

    async def asking(self, person: str, room: str, text: str, *, thread: str = "") -> tuple[Flow, str]:
        """Post a message and wait until the model is asked; gives its answer to be let out, and the message's ts."""
        flow = self.flow()
        ts = await self.say(person, room, text, thread=thread)
        await flow.asked.wait()
        return flow, ts

    async def draft(self, room: str, containing: str = "") -> Json:
        """Wait until an unfinished reply of the soul shows these words; gives its message."""
        channel = await self._named(room)

        async def look() -> Json | None:
            posts = await self.people.posts_by_bot(channel)
            going_on = (one for one in posts if one.get("streaming_state") == "in_progress")
            return next((one for one in going_on if containing in one["text"]), None)

        return await self.until(look)

    async def answered(self, person: str, room: str, text: str, **more: Any) -> str:  # noqa: ANN401  # as `say`
        """Post a message and wait for the reply in its thread; gives the words of the reply."""
        return (await self._exchanged(person, room, text, **more))[1]

    async def heard(self, person: str, room: str, text: str, **more: Any) -> str:  # noqa: ANN401  # as `say`
        """Post a message and wait until it is answered; gives its ts."""
        return (await self._exchanged(person, room, text, **more))[0]

    async def _exchanged(
        self, person: str, room: str, text: str, *, thread: str = "", files: Sequence[dict[str, Any]] = ()
    ) -> tuple[str, str]:
        channel = await self.people.open_dm(person) if room == "dm" else await self._named(room)
        before = len(await self.people.posts_by_bot(channel))
        ts = await self.say(person, room, text, thread=thread, files=files)
        post = await self.reply(channel, count=before + 1)
        assert post["thread_ts"] == (thread or ts)
        await self.idle()  # a stream that ended shows a draft until the reply takes its place
        posts = await self.people.posts_by_bot(channel)
        return ts, next(said(one) for one in posts if one["ts"] == post["ts"])

    async def thinks(self, times: int) -> None:
        """Wait until the model was asked so many times."""

        async def asked() -> bool:
            return len(self.prompts) >= times

        await self.when(asked)

    async def until(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """Look after every change of the workspace until `look` finds something; gives it."""
        return await self.people.wait_for(look, TIMEOUT)

    async def idle(self) -> None:
        """Wait until no row is waiting, no job is due and no daemon is busy."""
        waiting = """
            SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
                 + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
                 + (SELECT count(*) FROM jobs WHERE state = 'running' OR (state = 'ready' AND not_before <= ?)) AS n
            """

        async def still() -> bool:
            return not (await self.one(waiting, self.clock.now_ms()))["n"] and not any(
                one.busy for one in self._alive()
            )

        await self.when(still)

    async def final_state(self, ts: str) -> str:
        """Wait until the row of a message is in a final state; gives the state."""
        ended = "SELECT state FROM inbox WHERE ts = ? AND state NOT IN ('new', 'claimed')"
        await self.row(ended, ts)
        return str((await self.one(ended, ts))["state"])

    async def claimed(self) -> bool:
        """Whether a message is claimed."""
        return bool(await self.rows("SELECT * FROM inbox WHERE state = 'claimed'"))

    async def when(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Query memory.db until a condition holds; a file has no events to wait on."""
        async with asyncio.timeout(TIMEOUT):
            while not await holds():  # noqa: ASYNC110  # as said
                await asyncio.sleep(0.01)

    async def row(self, sql: str, *values: object, count: int = 1) -> None:
        """Query memory.db until there is such a row, or so many of them."""

        async def there() -> bool:
            return len(await self.rows(sql, *values)) >= count

        await self.when(there)

    async def no_row(self, sql: str, *values: object) -> None:
        """Query memory.db until there is no such row."""

        async def gone() -> bool:
            return not await self.rows(sql, *values)

        await self.when(gone)

    def _alive(self) -> list[SlackDaemon]:
        return [one for one in self._daemons if not one.over]

    async def acknowledged(self) -> None:
        """Wait until Slack has the acknowledgement of everything that it could send."""

        async def look() -> bool:
            log = await self.people.deliveries()
            done = {one["event_id"] for one in log if one["acked_at"] is not None}
            sent = {one["event_id"] for one in log if one["type"] == "events_api" and one["socket"]}
            return sent <= done

        await self.until(look)

    async def noticed(self, done: Awaitable[T]) -> T:
        """Let something be done in Slack, and wait until the daemons have heard of it; gives what it gave."""
        given = await done
        await self.acknowledged()
        return given

    # -- looking ------------------------------------------------------------------------------------------------------

    async def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """Rows of memory.db, read beside the loop: the daemon in it may hold the lock that we wait for."""
        return await asyncio.to_thread(self._rows, sql, values)

    async def change(self, sql: str, *values: object) -> None:
        """Change memory.db as another program would, beside the loop as well."""

        def change() -> None:
            with closing(self._connection()) as connection:
                connection.execute(sql, values)

        await asyncio.to_thread(change)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Another program holds the write lock of memory.db."""
        with closing(await asyncio.to_thread(self._connection)) as other:
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    async def one(self, sql: str, *values: object) -> sqlite3.Row:
        """The first row of a query."""
        return (await self.rows(sql, *values))[0]

    async def path(self, channel: str = "D0ADA") -> list[str]:
        """The transitions of the conversations in a channel: `act: origin → target, decided_by`."""
        rows = await self.rows("SELECT * FROM transitions WHERE conversation LIKE ? ORDER BY seq", f"%/{channel}/%")
        return [f"{row['act']}: {row['origin']} → {row['target']}, {row['decided_by']}" for row in rows]

    async def process(self, channel: str = "D0ADA") -> str:
        """The mental process of the conversation in a channel."""
        return str((await self.one("SELECT process FROM conversations WHERE channel = ?", channel))["process"])

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[sqlite3.Row]:
        with closing(self._connection()) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(sql, values).fetchall()

    def _connection(self) -> sqlite3.Connection:
        path = self.settings.database_path
        return sqlite3.connect(path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False)

    async def command(self, *arguments: str, fails: bool = False, env: Mapping[str, str] = MappingProxyType({})) -> str:
        """The output of an admin command, run beside the daemon; it must succeed, or fail where that is said."""
        env = {"SOUL_HOME": str(self.settings.home), "SOUL_NAME": self.settings.name, **env}
        done = await asyncio.to_thread(CliRunner().invoke, soul, arguments, env=env, prog_name="soul")
        assert (done.exit_code != 0) is fails, done.output
        return done.output

    @property
    def prompts(self) -> list[Prompt]:
        """The prompts of the model, oldest first."""
        return self.model.prompts

    async def called(self, calls: int) -> None:
        """Wait until the model has been called so many times."""

        async def so_often() -> bool:
            return len(self.prompts) >= calls

        await self.when(so_often)

    def last_prompt(self) -> str:
        """All text of the newest prompt."""
        return shown(self.prompts[-1])

    def flow(self) -> Flow:
        """Let the test release the next reply piece by piece."""
        flow = Flow()
        self.model.flows.append(flow)
        return flow

    async def whispers(self, person: str) -> list[str]:
        """The texts that were shown to a user alone, oldest first."""
        user = await self.person(person)
        calls = await self.people.calls("chat.postEphemeral")
        return [str(call["args"]["text"]) for call in calls if call["args"]["user"] == user]

    async def posting_calls(self) -> list[Json]:
        """The Web API calls that put words into a channel, oldest first."""
        return [call for call in await self.people.calls() if call["method"] in _POSTING]


def said(post: Json) -> str:
    """The words of a message as a user reads them: its markdown blocks, else its text."""
    blocks = [block["text"] for block in post.get("blocks") or [] if block["type"] == "markdown"]
    return "".join(blocks) or str(post["text"])


def settings_for(workspace: WorkspaceServer, home: Path, **changes: object) -> Settings:
    """Settings that join a workspace. A clock turned by more than the lease in the middle of a reply ends it."""
    joined = {
        "slack_bot_token": SecretStr(workspace.bot_token),
        "slack_app_token": SecretStr(workspace.app_token),
        "slack_api_url": workspace.api_url,
        "home": home,
    }
    settings = _settings(**changes) if changes else _most_settings()
    return settings.model_copy(update=joined)


@cache
def _most_settings() -> Settings:
    return _settings()


def _settings(**changes: object) -> Settings:
    given: dict[str, object] = {
        "slack_sockets": 1,
        "lease": 60.0,
        "in_doubt": 0.1,
        "drain": 5.0,
        "tell_of_memory": False,  # by its own tests alone
        "embedder": "none",
        "consolidate": "off",  # by its own tests alone
        "learn_after": 0,
    }
    return Settings(_env_file=None, **(given | changes))  # type: ignore[arg-type]  # validated by pydantic
