"""Daemons whose one channel is the HTTP API, and a client of theirs."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import aiohttp

from daemon.app.assembly import assemble, souls_of
from daemon.app.http_api import side_of
from daemon.app.lifecycle import Daemon
from daemon.channels.http.channel import HttpChannel
from daemon.core.config import Settings
from daemon.core.errors import NotDelivered
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.ports.channel import Room
from daemon.core.ports.services import GateDecision
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.core.telemetry.metrics import Metrics, fanout
from daemon.core.value import Value
from daemon.memory.database import Database
from tests.fakes import TIMEOUT, Events, TurnableClock
from tests.models import FakeModel

TOKEN = "a-token-for-these-tests"
T = TypeVar("T")
WORKSPACE = "T1"
EVERYBODY = Audience(AudienceKind.WORKSPACE, WORKSPACE)
MODES = {"": "# Minoan", "academic": "# The scholar"}


def settings_for(home: Path, **changes: object) -> Settings:
    """Settings with short leases and the HTTP API on a free port."""
    given: dict[str, object] = {
        "home": home,
        "http_port": 0,
        "http_token": TOKEN,
        "lease": 5.0,
        "in_doubt": 0.1,
        "drain": 5.0,
        "embedder": "none",
    }
    return Settings(_env_file=None, **(given | changes))  # type: ignore[arg-type]  # validated by pydantic


class HttpDaemon:
    """One running daemon with the HTTP API, until it is stopped or cancelled."""

    def __init__(self, settings: Settings, clock: TurnableClock, model: FakeModel, espeak: str) -> None:
        self.events, self.metrics = Events(), Metrics()
        self.built: Daemon | None = None
        self.queued: dict[str, tuple[str, ...]] = {}
        self.ails: tuple[str, ...] = ()
        self.people = {"UADA": "Ada Lovelace", "UBO": "Bo", "UGUEST": "Guest"}
        self.outsiders, self.gate_down = {"UGUEST"}, False
        self._settings, self._clock, self._model = settings, clock, model
        self._stop, self._ready = asyncio.Event(), asyncio.Event()
        emit = fanout(self.events, self.metrics)
        self.channel = HttpChannel(settings, clock, emit, self.metrics, espeak=espeak)
        self._emit = emit
        self._life = asyncio.create_task(self._live())

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.channel.close)
            souls = souls_of(self._settings, self._emit)
            self.built = await stack.enter_async_context(
                assemble(
                    self._settings,
                    self.channel,
                    self._clock,
                    self._emit,
                    workspace=WORKSPACE,
                    souls=souls,
                    llm_of=lambda _: self._model,
                    url=lambda: self.channel.url,
                )
            )
            side = side_of(self.built, souls, WORKSPACE, standing_of=self._standing_of, room_of=self._room_of)
            self.channel.connect(
                replace(side, personality=MODES.get, enqueue=self._enqueue, unready=self._unready, queues=self._queues)
            )
            service = ServiceManager()
            await self.built.live(self._stop, service, Watchdog(service, None), lambda _: self._ready.set())

    async def _enqueue(self, conversation: ConversationKey) -> tuple[str, ...] | None:
        return self.queued.get(conversation.thread)

    async def _unready(self) -> tuple[str, ...]:
        if self.ails == ("hangs",):
            await asyncio.Event().wait()
        return self.ails

    async def _standing_of(self, person: str) -> GateDecision:
        if self.gate_down:
            raise NotDelivered("Slack can't be asked")
        name = self.people.get(person, "")
        return GateDecision(admitted=bool(name), name=name, outsider=person in self.outsiders)

    async def _room_of(self, person: str) -> Room:
        return Room(f"D{person}", Place.DM, Audience(AudienceKind.DM, f"D{person}"))

    async def _queues(self) -> dict[str, int]:
        return {"inbox": 0}

    async def ready(self) -> Self:
        """Wait until the HTTP API is open; raises the error that ends the daemon before."""
        waiting = asyncio.create_task(self._ready.wait())
        async with asyncio.timeout(TIMEOUT):
            await asyncio.wait((waiting, self._life), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._life.done():
            await self._life
        return self

    async def stop(self) -> None:
        """Stop it as SIGTERM does."""
        self._stop.set()
        async with asyncio.timeout(TIMEOUT):
            await self._life

    def ask_to_stop(self) -> None:
        """Ask it to stop, without waiting for its end."""
        self._stop.set()

    async def cut(self) -> None:
        """Cancel it as a second SIGTERM does."""
        if not self._life.done():
            self._life.cancel()
            await asyncio.wait((self._life,))


class Said(Value):
    """One server-sent event."""

    name: str
    data: dict[str, Any]


@dataclass
class Stream:
    """A streamed answer as a client reads it."""

    response: aiohttp.ClientResponse
    comments: int = 0
    events: list[Said] = field(default_factory=list)

    async def next(self) -> Said:
        """The next event."""
        async with asyncio.timeout(TIMEOUT):
            return await anext(self._read())

    async def _read(self) -> AsyncGenerator[Said, None]:
        name = ""
        while line := (await self.response.content.readline()).decode():
            if line.startswith(":"):
                self.comments += 1
            elif line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                said = Said(name, json.loads(line.removeprefix("data: ")))
                self.events.append(said)
                yield said

    async def until(self, name: str) -> Said:
        """Read on to an event of this name."""
        while (said := await self.next()).name != f"soul:stream:{name}":
            pass
        return said

    async def comment(self) -> None:
        """Read on to a comment, which keeps the connection alive."""
        async with asyncio.timeout(TIMEOUT):
            while not (await self.response.content.readline()).startswith(b":"):
                pass

    @property
    def names(self) -> list[str]:
        """The names of the events so far, in order."""
        return [said.name.removeprefix("soul:stream:") for said in self.events]

    @property
    def draft(self) -> str:
        """The chunks so far."""
        return "".join(said.data["text"] for said in self.events if said.name == "soul:stream:chunk")


class HttpHome:
    """A home for daemons that run one after the other, and a client of the newest one."""

    def __init__(self, home: Path, client: aiohttp.ClientSession) -> None:
        self.home, self.client = home, client
        self.clock, self.model = TurnableClock(), FakeModel()
        self.espeak = str(home / "no-espeak-here")
        self.daemon: HttpDaemon | None = None

    async def start(self, **changes: object) -> HttpDaemon:
        """Start a daemon."""
        self.daemon = HttpDaemon(settings_for(self.home, **changes), self.clock, self.model, self.espeak)
        return await self.daemon.ready()

    @property
    def now(self) -> HttpDaemon:
        """The newest daemon."""
        assert self.daemon is not None
        return self.daemon

    @property
    def built(self) -> Daemon:
        """The parts of the newest daemon."""
        assert self.now.built is not None
        return self.now.built

    @property
    def database(self) -> Database:
        """The memory.db of the newest daemon."""
        return self.built.store.database

    @property
    def events(self) -> Events:
        """The events of the newest daemon."""
        return self.now.events

    def url(self, path: str) -> str:
        """The URL of a path."""
        return f"{self.now.channel.url}{path}"

    @asynccontextmanager
    async def stream(
        self, message: str, session: str = "s", message_id: str = "m", **more: str
    ) -> AsyncIterator[Stream]:
        """Post a message and read the answer as it is made."""
        body = {"message": message, "session": session, "message_id": message_id, **more}
        async with self.client.post(self.url("/api/soul/chat"), json=body, headers=bearer()) as response:
            assert response.status == 200, await response.text()
            yield Stream(response)

    async def say(self, message: str, session: str = "s", message_id: str = "m", **more: str) -> Said:
        """Post a message and read to the end; gives the last event."""
        async with self.stream(message, session, message_id, **more) as stream:
            while (said := await stream.next()).name not in {"soul:stream:done", "soul:stream:error"}:
                pass
            return said

    async def get(self, path: str, **headers: str) -> "Got":
        """Fetch something with the token."""
        return await self.ask("GET", path, headers=bearer() | headers)

    async def post(self, path: str, body: object = None, **headers: str) -> "Got":
        """Send JSON with the token."""
        return await self.ask("POST", path, headers=bearer() | headers, json=body)

    async def ask(self, method: str, path: str, **how: Any) -> "Got":  # noqa: ANN401  # any option of aiohttp
        """Send a request and read the whole answer."""
        async with self.client.request(method, self.url(path), **how) as response:
            return Got(response.status, dict(response.headers), await response.read())

    async def turning(self, awaited: Coroutine[object, object, T]) -> T:
        """Wait for a result while the clock is turned ahead."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(awaited)
            while not task.done():
                self.clock.turn(6)
                await asyncio.wait((task,), timeout=0.02)
        return task.result()

    async def answered(self, message_id: str, session: str = "s") -> "Got":
        """Ask for an answer until it is there; a row of memory.db has no events to wait on."""
        async with asyncio.timeout(TIMEOUT):
            while (got := await self.get(f"/api/soul/chat/{session}/{message_id}")).status == 202:  # noqa: ASYNC110  # as said
                await asyncio.sleep(0.01)
        return got

    def scripted(self, script: Callable[[str], str]) -> None:
        """Let the model answer by a function of the newest message."""

        async def answer(prompt: Any) -> str:  # noqa: ANN401  # a Prompt
            return script(prompt.messages[-1].text)

        self.model.default = answer


class Got(Value):
    """A whole HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401  # a JSON document
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the error in the body."""
        assert set(self.json["error"]) == {"code", "message", "hint"}
        return str(self.json["error"]["code"])


def bearer(token: str = TOKEN) -> dict[str, str]:
    """The header with the token."""
    return {"Authorization": f"Bearer {token}"}
