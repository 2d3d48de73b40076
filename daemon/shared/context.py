"""Typed state that souls and people share, by the seed's names (003): `data`, `ready`, `update`, `set`, `awareness`.

The real one of Open Souls is a live document that merges changes; this one has versions: who writes has to have seen
the newest, and is asked again where another was faster.
"""

import random
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from daemon.core.contexts import ContextConflict, ContextRefused, ContextState, JSONObject, Writer, checked_key
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.memory.shared.store import ContextStore
from daemon.shared.awareness import Awareness
from daemon.shared.looks import Looks
from daemon.shared.news import StoreNews

READY_WITHIN_S: Final = 30.0
TRIED_FOR_S: Final = 5.0
_LONGEST_PAUSE_S: Final = 0.05

T = TypeVar("T", bound=BaseModel)


class ContextNotReady(StoreError):
    """A shared context could not be read in time."""


class SharedContexts:
    """Hands out the shared contexts of one memory.db to one writer; the assembly and commands make it."""

    def __init__(self, store: ContextStore, news: StoreNews, clock: Clock, writer: Writer) -> None:
        self.store = store
        self.news = news
        self.clock = clock
        self.writer = writer
        self.looks = Looks(news, self._look)
        self._present: dict[str, Awareness] = {}

    def use_shared_context(self, key: str, model: type[T]) -> "SharedContext[T]":
        """The context under a key, with data of this model."""
        return SharedContext(self, key, model)

    def awareness(self, key: str) -> Awareness:
        """Who is present at a key, where this writer is the member of its name."""
        if key not in self._present:
            store = self.store.awareness
            self._present[key] = Awareness(store, checked_key(key), self.writer.name, self.writer)
        return self._present[key]

    async def leave(self) -> None:
        """Be present nowhere any more, before a clean stop. Raises StoreError."""
        for one in self._present.values():
            await one.leave()

    async def _look(self, keys: Sequence[str]) -> dict[str, ContextState]:
        return {one.key: one for one in await self.store.these(keys)}

    async def pause(self) -> None:
        """Wait a random moment before the next attempt."""
        await self.clock.sleep(random.uniform(0.001, _LONGEST_PAUSE_S))  # noqa: S311 - jitter, not a secret


class RawContext:
    """One context without a model: its data as JSON objects, written in one writer's name."""

    def __init__(self, home: SharedContexts, key: str) -> None:
        self._home = home
        self._key = key

    async def read(self) -> ContextState:
        """The context as it is. Raises ContextRefused for what is no key, and StoreError."""
        return await self._home.store.get(self._key)

    async def write(self, data: JSONObject, seen: int | None = None) -> ContextState:
        """Write data made from version `seen`, None for any. Raises ContextConflict, ContextRefused and StoreError."""
        home = self._home
        return await home.store.write(self._key, data, seen, home.writer, home.news.tell)

    async def update(self, change: Callable[[JSONObject], JSONObject]) -> ContextState:
        """Write what `change` makes of the newest data; it is pure, and called again where another was faster.

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
        """The context now, and after each change that is noticed; of several at once the newest."""
        version = -1
        with self._home.looks.watch(checked_key(self._key)) as watch:
            while True:
                found = await watch.next()
                if found.version > version:
                    version = found.version
                    yield found


class SharedContext(Generic[T]):
    """One context as one writer sees it; `data` and `version` are those of the last look, after `ready`."""

    def __init__(self, home: SharedContexts, key: str, model: type[T]) -> None:
        self._home = home
        self._key = key
        self._raw = RawContext(home, key)
        self._model = model
        self._state: ContextState | None = None

    @property
    def data(self) -> T:
        """The data as last seen. Raises ContextNotReady before the first look, ContextRefused if it doesn't fit."""
        return self._fitting(self._seen.data)

    @property
    def version(self) -> int:
        """The version that was last seen; 0 before the first change. Raises ContextNotReady before the first look."""
        return self._seen.version

    @property
    def awareness(self) -> Awareness:
        """Who is present at this context now. Raises ContextRefused for what is no key."""
        return self._home.awareness(self._key)

    async def ready(self) -> None:
        """Look for the first time. Raises ContextNotReady after READY_WITHIN_S seconds, and ContextRefused."""
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
        """Write what `change` makes of the newest data; see `RawContext.update`."""

        def changed(data: JSONObject) -> JSONObject:
            return change(self._fitting(data)).model_dump(mode="json")

        return self._taken(await self._raw.update(changed))

    async def set(self, value: T) -> T:
        """Write a value, over what stands there. Raises ContextRefused and StoreError."""
        return self._taken(await self._raw.write(value.model_dump(mode="json")))

    async def changes(self) -> AsyncGenerator[T, None]:
        """The data now, and after each change that is noticed; of several at once the newest. Raises as `data` does."""
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
