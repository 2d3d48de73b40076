"""Shared contexts: typed state of souls and people (seed 003), awareness of members, and events of rooms."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from daemon.core.contexts import (
    ADMIN,
    OPERATOR,
    ContextConflict,
    ContextRefused,
    ContextState,
    JSONObject,
    Writer,
    checked_key,
)
from daemon.core.errors import DaemonError, StoreError
from daemon.core.files import kept_secret
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.arrivals import Member, checked_member
from daemon.core.ports.services import Clock, Emit, SystemClock
from daemon.core.sensing import SECRET_FILE, EventSource, PushedReading, secret_of
from daemon.memory.database import Database, open_database
from daemon.memory.queues.source_events import NewEvent, SourceEvents
from daemon.memory.senses.pushed import PushedReadings
from daemon.memory.shared.contexts import workspace_of_file
from daemon.memory.shared.store import AwarenessStore, ContextStore
from daemon.shared.news import Looks, StoreNews, open_news


class Awareness:
    """The presence of one member at one key. All who may read the context see its state while this process lives."""

    def __init__(self, store: AwarenessStore, key: str, member: str, writer: Writer) -> None:
        self._store = store
        self._key = key
        self._member = member
        self._writer = writer
        self._local: JSONObject = {}
        self._written: JSONObject | None = None
        self._writing = asyncio.Lock()

    @property
    def local_state(self) -> JSONObject:
        return self._local

    async def set_local_state(self, state: JSONObject) -> None:
        """Show this state to others. An equal state costs nothing. At most 4 KiB of JSON.

        Raises ContextRefused, MemberTaken where another process has this name here, and StoreError.
        """
        self._local = dict(state)
        async with self._writing:
            if (newest := self._local) == self._written:
                return
            try:
                await self._store.set(self._key, self._member, self._store.process, newest, writer=self._writer)
            except DaemonError:
                if self._local is newest:
                    self._local = self._written or {}
                raise
            self._written = newest

    async def set_local_state_field(self, field: str, value: object) -> None:
        """Change one field of the shown state. Raises as `set_local_state` does."""
        await self.set_local_state({**self._local, field: value})

    async def get_states(self) -> dict[str, JSONObject]:
        """Return the states of all present members, by member. Dead processes have none. Raises StoreError."""
        return {one.member: one.state for one in await self.members()}

    async def members(self) -> list[Member]:
        """Return all present members, by name. Raises StoreError."""
        return await self._store.members(self._key, self._writer.audience)

    async def leave(self) -> None:
        """End the presence. Raises StoreError."""
        async with self._writing:
            if self._written is None:
                return
            await self._store.leave(self._key, self._member, self._store.process)
            self._local, self._written = {}, None


READY_WITHIN_S: Final = 30.0
TRIED_FOR_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 0.05

T = TypeVar("T", bound=BaseModel)


class ContextNotReady(StoreError):
    """Raised when a shared context could not be read in time."""


class SharedContexts:
    """The shared contexts of one memory.db for one writer. The assembly and commands make it."""

    def __init__(self, store: ContextStore, news: StoreNews, clock: Clock, writer: Writer) -> None:
        self.store = store
        self.news = news
        self.clock = clock
        self.writer = writer
        self.looks = Looks(news, self._look)
        self._present: dict[str, Awareness] = {}

    def use_shared_context(self, key: str, model: type[T]) -> "SharedContext[T]":
        """Return the context of a key, with data of this model."""
        return SharedContext(self, key, model)

    def awareness(self, key: str) -> Awareness:
        """Return the presence at a key, with this writer as the member of its name."""
        if key not in self._present:
            store = self.store.awareness
            self._present[key] = Awareness(store, checked_key(key), self.writer.name, self.writer)
        return self._present[key]

    async def leave(self) -> None:
        """End all presence before a clean stop. Raises StoreError."""
        for one in self._present.values():
            await one.leave()

    async def _look(self, keys: Sequence[str]) -> dict[str, ContextState]:
        return {one.key: one for one in await self.store.these(keys)}

    async def pause(self) -> None:
        await self.clock.sleep(random.uniform(0.001, _LONGEST_PAUSE_S))  # noqa: S311 - jitter, not a secret


class RawContext:
    """A context without a model: its data as JSON objects, written in one writer's name."""

    def __init__(self, home: SharedContexts, key: str) -> None:
        self._home = home
        self._key = key

    async def read(self) -> ContextState:
        """Return the current context. Raises ContextRefused for an invalid key, and StoreError."""
        return await self._home.store.get(self._key)

    async def write(self, data: JSONObject, seen: int | None = None) -> ContextState:
        """Write data made from version `seen`, None for any. Raises ContextConflict, ContextRefused and StoreError."""
        home = self._home
        return await home.store.write(self._key, data, seen, home.writer, home.news.tell)

    async def update(self, change: Callable[[JSONObject], JSONObject]) -> ContextState:
        """Write the output of the pure `change` for the newest data, again if another writer was faster.

        Raises ContextConflict when others were faster for TRIED_FOR_S seconds, ContextRefused and StoreError.
        """
        deadline = self._home.clock.monotonic() + TRIED_FOR_S
        while True:
            found = await self.read()
            try:
                return await self.write(change(found.data), found.version)
            except ContextConflict:
                if self._home.clock.monotonic() >= deadline:
                    raise
                await self._home.pause()

    async def changes(self) -> AsyncGenerator[ContextState, None]:
        """Yield the context now, and after each noticed change; of several at once the newest."""
        version = -1
        with self._home.looks.watch(checked_key(self._key)) as watch:
            while True:
                found = await watch.next()
                if found.version > version:
                    version = found.version
                    yield found


class SharedContext(Generic[T]):
    """The context as one writer sees it. `data` and `version` are those of the last read, after `ready`."""

    def __init__(self, home: SharedContexts, key: str, model: type[T]) -> None:
        self._home = home
        self._key = key
        self._raw = RawContext(home, key)
        self._model = model
        self._state: ContextState | None = None

    @property
    def data(self) -> T:
        return self._fitting(self._seen.data)

    @property
    def version(self) -> int:
        return self._seen.version

    @property
    def awareness(self) -> Awareness:
        return self._home.awareness(self._key)

    async def ready(self) -> None:
        """Read for the first time. Raises ContextNotReady after READY_WITHIN_S seconds, and ContextRefused."""
        deadline = self._home.clock.monotonic() + READY_WITHIN_S
        while True:
            try:
                self._state = await self._raw.read()
            except StoreError as error:
                if self._home.clock.monotonic() >= deadline:
                    raise ContextNotReady(
                        f"the shared context {self._key} could not be read: {error.message}", hint=error.hint
                    ) from error
                await self._home.pause()
            else:
                return

    async def update(self, change: Callable[[T], T]) -> T:
        """Write the output of `change` for the newest data; see `RawContext.update`."""

        def changed(data: JSONObject) -> JSONObject:
            return change(self._fitting(data)).model_dump(mode="json")

        return self._taken(await self._raw.update(changed))

    async def set(self, value: T) -> T:
        """Overwrite the value. Raises ContextRefused and StoreError."""
        return self._taken(await self._raw.write(value.model_dump(mode="json")))

    async def changes(self) -> AsyncGenerator[T, None]:
        """Yield the data now, and after each noticed change; of several at once the newest. Raises as `data` does."""
        async for state in self._raw.changes():
            yield self._taken(state)

    @property
    def _seen(self) -> ContextState:
        if self._state is None:
            raise ContextNotReady(f"the shared context {self._key} has not been read yet", hint="await ready() first")
        return self._state

    def _taken(self, state: ContextState) -> T:
        self._state = state
        return self._fitting(state.data)

    def _fitting(self, data: JSONObject) -> T:
        try:
            return self._model.model_validate(dict(data))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "the data"
            raise ContextRefused(
                f"{self._key}: {field}: {first['msg']}", hint=f"it does not fit {self._model.__name__}"
            ) from error


@asynccontextmanager
async def open_shared_contexts(path: Path, name: str = OPERATOR) -> AsyncIterator[SharedContexts]:
    """Open the contexts of a memory.db for a writer: the admin, or a program that knows what the whole workspace may.

    The program can show its presence under its name until the block ends. Raises StoreError for a file that no daemon
    has used, and ContextRefused for an invalid name.
    """
    async with open_database(path, SystemClock(), create=False) as database, contexts_of(database, name) as contexts:
        yield contexts


@asynccontextmanager
async def contexts_of(database: Database, name: str = OPERATOR) -> AsyncIterator[SharedContexts]:
    """Open the contexts of an open memory.db: see `open_shared_contexts`."""
    clock = SystemClock()
    async with open_news(database, clock) as news:
        workspace = await database.read(workspace_of_file)
        if not workspace:
            raise StoreError("memory.db knows no workspace yet", hint="start the daemon once with `soul run`")
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        writer = ADMIN if name == OPERATOR else Writer(checked_member(name), everybody)
        contexts = SharedContexts(ContextStore(database, clock, workspace), news, clock, writer)
        try:
            yield contexts
        finally:
            await contexts.leave()


@dataclass(eq=False)
class RoomEvents:
    """The event sources with their secrets, and the intake of their events.

    `home` holds the file from which secrets are derived. `wake` makes the souls look for news.
    """

    events: SourceEvents
    home: Path
    emit: Emit
    wake: Callable[[], None]

    async def source(self, name: str) -> EventSource | None:
        """Return the source of this name that is in force. Raises StoreError."""
        return await self.events.source(name)

    async def secret(self, source: EventSource) -> str:
        """Return the secret of a source. Raises ConfigError where the file can't be read."""
        master = await asyncio.to_thread(kept_secret, self.home / SECRET_FILE, self.emit)
        return secret_of(master, source.id)

    async def take(self, source: EventSource, id_: str, words: str) -> bool:
        """Store an event once. Return false if it came before.

        Raises TooManyEvents, OtherEvent, SourceEnded and StoreError.
        """
        fresh = await self.events.take(NewEvent(source, id_, words))
        self.emit("events.taken", source=source.name, fresh=fresh)
        if fresh and source.wakes:
            self.wake()
        return fresh


async def push_reading(
    readings: PushedReadings, emit: Emit, wake: Callable[[], None], reading: PushedReading
) -> tuple[str, ...]:
    """Store a reading once, and `wake` the souls. Return the ids of the conversations that perceive it.

    Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
    """
    found, fresh = await readings.push(reading)
    emit("readings.taken", sense=reading.sense, conversations=len(found), fresh=fresh)
    if fresh:
        wake()
    return found
