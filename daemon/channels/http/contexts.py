"""Shared contexts over HTTP: read with the version as ETag, written against a known version, watched, with presence."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Annotated, Final

from aiohttp import web
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, RootModel

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import ErrorDetail, Refusal, ResponseModel, Scope
from daemon.channels.http.routes import Headers, Parameter, route
from daemon.channels.http.stream import BEAT, send_events, server_sent
from daemon.core.concurrency import alongside
from daemon.core.contexts import KEY, ContextConflict, ContextState
from daemon.core.errors import NotDelivered, StoreError
from daemon.core.ports.arrivals import NAME_PATTERN
from daemon.core.sessions import KeyOwner

_MOST_WATCHERS: Final = 256
_MOST_OF_A_KEY: Final = 16
_REST_S: Final = 5.0  # seconds after memory.db could not be read
_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')
_VERSION: Final = re.compile(r'"([0-9]{1,18})"')


class ContextData(RootModel[dict[str, JsonValue]]):
    """The data of a shared context: a JSON object of up to 16 KiB that fits the schema of its key."""

    model_config = ConfigDict(strict=True, frozen=True)


class ContextAnswer(ResponseModel):
    """A shared context as it is now."""

    key: str
    version: int = Field(description="Counts the changes of its data; 0 before the first.")
    data: dict[str, JsonValue]
    audience: Annotated[str, BeforeValidator(str)] = Field(description="Who may read it.")
    writers: tuple[str, ...] = Field(description="The souls that may write it; none: all. The admin always may.")
    author: str = Field(description="Who wrote this version: a soul's name or operator; empty before the first.")
    updated_ms: int = Field(description="When, in ms since 1970, UTC; 0 before the first change.")


class ContextList(RootModel[list[ContextAnswer]]):
    """All contexts, by key."""


class ContextConflictAnswer(ContextAnswer):
    """A shared context that was changed meanwhile, as it is now, and the error."""

    error: ErrorDetail


class MemberState(RootModel[dict[str, JsonValue]]):
    """The state that a member shows: a JSON object of up to 4 KiB."""

    model_config = ConfigDict(strict=True, frozen=True)


class MemberAnswer(ResponseModel):
    """The members that are present at a shared context."""

    member: str
    process: str = Field(description="The process that it goes with; `http`: its lease.")
    state: dict[str, JsonValue]
    seen_ms: int = Field(description="When it last said so, in ms since 1970, UTC.")


class MemberList(RootModel[list[MemberAnswer]]):
    """All who are present, by name."""


class StreamContext(ResponseModel):
    """A shared context as it is now; of several changes at once the newest."""

    key: str
    version: int
    data: dict[str, JsonValue]
    author: str
    at_ms: int


CONTEXT_EVENTS: Final[dict[str, type[BaseModel]]] = {"soul:context:changed": StreamContext}
"""The events of a watched shared context, by name."""


def _versions_seen(request: web.Request) -> frozenset[int] | None:
    """Return the versions in the header If-Match, or None for any. Raises Refusal."""
    given = ",".join(request.headers.getall("If-Match", [])).strip()
    if not given:
        hint = 'send If-Match: "N" with the version that you saw, or If-Match: * to replace any'
        raise Refusal(428, "no_version", "The header If-Match is missing.", hint)
    if given == "*":
        return None
    tags = [tag.strip() for tag in given.split(",")]
    if not all(_TAG.fullmatch(tag) for tag in tags):
        raise Refusal(422, "invalid", "The header If-Match holds no version.", 'send If-Match: "7" or If-Match: *')
    return frozenset(int(found[1]) for tag in tags if (found := _VERSION.fullmatch(tag)))


_Key = Annotated[
    str,
    Parameter(
        "path",
        "The key: up to 64 of a-z, 0-9, dot, hyphen and underscore, the first a letter or a digit.",
        KEY.pattern,
    ),
]
_Name = Annotated[
    str,
    Parameter(
        "path",
        "The name: up to 64 of letters, digits and `. _ : @ -`, the first a letter or a digit.",
        NAME_PATTERN,
    ),
]
_IfMatch = Annotated[
    frozenset[int] | None,
    Parameter(
        "header",
        'The version that you saw, in quotes: `"7"`; `*` replaces any.',
        r'\*|"[0-9]{1,18}"',
        required=True,
        name="If-Match",
        read=_versions_seen,
    ),
]
_BAD_KEY: Final = {404: "The context is not for all of the workspace.", 422: "That can't be a key."}


class ContextPages:
    """The handlers of shared contexts. All may raise Refusal, ContextRefused and StoreError."""

    def __init__(self, side: DaemonSide) -> None:
        self._contexts = side.contexts
        self._sessions = side.sessions
        self._clock = side.clock
        self._emit = side.emit
        self._watchers: set[_Watcher] = set()
        self._closing = False

    def close(self) -> None:
        """End all streams, since the daemon stops."""
        self._closing = True
        for watcher in self._watchers:
            watcher.woken.set()

    @route("GET", "/api/shared-context", {200: "The contexts."}, scope=Scope.KEYED)
    async def contexts(self, owner: KeyOwner) -> ContextList:
        """List the shared contexts.

        Those that all of the workspace may read, by key: what souls and people share (docs/SHARING.md). These routes
        take the key of a person's sessions, too.
        """
        return ContextList.model_validate(await self._contexts.all(owner))

    @route("GET", "/api/shared-context/{key}", {200: "The context."}, _BAD_KEY, scope=Scope.KEYED)
    async def context(self, owner: KeyOwner, key: _Key, headers: Headers) -> ContextAnswer:
        """Read a shared context.

        The header ETag holds the version in quotes. A key that was never written is version 0 with `{}`.
        """
        return _tagged(await self._known(owner, key), headers)

    @route(
        "PUT",
        "/api/shared-context/{key}",
        {200: "The context as it is now.", 412: "Another was faster, and nothing was written."},
        {
            404: "The context is not for all of the workspace.",
            422: "That can't be a key, or the data doesn't fit.",
            428: "The header If-Match is missing.",
        },
        scope=Scope.KEYED,
    )
    async def set_context(
        self, owner: KeyOwner, key: _Key, seen: _IfMatch, data: ContextData, headers: Headers
    ) -> ContextAnswer | ContextConflictAnswer:
        """Replace the data of a shared context.

        The body is the data. It is written only if the version in `If-Match` is still the newest. The same data as
        before is no new version. The author is `operator`, with a person's key that person.
        """
        found = await self._known(owner, key)
        if seen is not None and found.version not in seen:
            return _conflicting(ContextConflict(found), headers)
        try:
            version = None if seen is None else found.version
            return _tagged(await self._contexts.write(owner, key, data.root, version), headers)
        except ContextConflict as conflict:
            return _conflicting(conflict, headers)

    @route(
        "GET",
        "/api/shared-context/{key}/events",
        {200: "The changes as they happen."},
        _BAD_KEY | {429: "So many clients with this key watch contexts already."},
        scope=Scope.KEYED,
        events=CONTEXT_EVENTS,
    )
    async def watch_context(self, request: web.Request, owner: KeyOwner, key: _Key) -> web.StreamResponse:
        """Watch a shared context.

        Server-sent events: `soul:context:changed` now and at each change; of several at once the newest. Lines that
        begin with a colon are keep-alives. The stream ends when the daemon stops: ask again then.
        """
        await self._known(owner, key)
        if len(self._watchers) >= _MOST_WATCHERS:
            raise Refusal(503, "busy", "Too many clients watch contexts.", "try again", {"Retry-After": "5"})
        self._require_room(owner)
        watcher = _Watcher(owner.key)
        self._watchers.add(watcher)
        try:
            async with alongside(self._wake(key, watcher)):
                return await send_events(request, self._changes(request, owner, watcher), self._emit, context=key)
        finally:
            self._watchers.discard(watcher)

    @route("GET", "/api/shared-context/{key}/presence", {200: "The members."}, _BAD_KEY, scope=Scope.KEYED)
    async def members(self, owner: KeyOwner, key: _Key) -> MemberList:
        """List who is present at a shared context.

        Souls, processes and programs, by name. At the key `souls` each soul shows what it does: `idle`, `thinking`,
        `speaking` or `solving`, and in which conversations that all of the workspace may read.
        """
        found = await self._contexts.members(owner, key)
        if found is None:
            raise _unknown()
        return MemberList.model_validate(found)

    @route(
        "PUT",
        "/api/shared-context/{key}/presence/{member}",
        {200: "The member as others see it."},
        {
            404: "The context is not for all of the workspace.",
            409: "A process is present under this name.",
            422: "That can't be a key or a name, or the state is too large.",
        },
        scope=Scope.KEYED,
    )
    async def be_present(self, owner: KeyOwner, key: _Key, member: _Name, state: MemberState) -> MemberAnswer:
        """Be present at a shared context.

        The body is the state that others see. It lasts for fifteen seconds: send it again before. With a key the name
        is the Slack id of its person, or begins with it and a colon.
        """
        found = await self._contexts.renew(owner, key, member, state.root)
        if found is None:
            raise _unknown()
        return MemberAnswer.model_validate(found)

    @route(
        "DELETE",
        "/api/shared-context/{key}/presence/{member}",
        {204: "It is not present over HTTP."},
        {422: "That can't be a key or a name."},
        scope=Scope.KEYED,
    )
    async def leave(self, owner: KeyOwner, key: _Key, member: _Name) -> None:
        """Stop being present at a shared context.

        What is not present over HTTP is left alone.
        """
        await self._contexts.leave(owner, key, member)

    def _require_room(self, owner: KeyOwner) -> None:
        if owner.key and sum(one.owner == owner.key for one in self._watchers) >= _MOST_OF_A_KEY:
            hint = "end one of them; one watcher of a context sees each change"
            raise Refusal(429, "too_many", f"{_MOST_OF_A_KEY} clients with this key watch contexts already.", hint)

    async def _wake(self, key: str, watcher: "_Watcher") -> None:
        with self._contexts.watch(key) as watched:
            while True:
                try:
                    watcher.found = await watched.next()
                except StoreError as error:
                    self._emit("store.failed", reason=error.message, hint=error.hint)
                    await self._clock.sleep(_REST_S)
                watcher.woken.set()

    async def _changes(self, request: web.Request, owner: KeyOwner, watcher: "_Watcher") -> AsyncGenerator[bytes, None]:
        version, wrote, asked = -1, self._clock.monotonic(), self._clock.monotonic()
        await watcher.woken.wait()
        while not self._closing:
            if request.transport is None or request.transport.is_closing():
                raise ConnectionResetError("the client has left")
            if self._clock.monotonic() - asked >= BEAT:
                found, asked = await self._still(owner), self._clock.monotonic()
                if found is None or found.outsider:  # the key was revoked, or its owner lost access
                    return
                owner = found
            watcher.woken.clear()
            piece = b""
            if watcher.found is not None and watcher.found.version > version:
                version = watcher.found.version
                piece = server_sent("soul:context:changed", _change(watcher.found))
            elif self._clock.monotonic() - wrote >= BEAT:
                piece = b": nothing has changed\n\n"
            if piece:
                wrote = self._clock.monotonic()
                yield piece
            await watcher.woken.wait()

    async def _still(self, owner: KeyOwner) -> KeyOwner | None:
        try:
            return await self._sessions.still(owner)
        except (NotDelivered, StoreError):
            return owner

    async def _known(self, owner: KeyOwner, key: str) -> ContextState:
        found = await self._contexts.get(owner, key)
        if found is None:
            raise _unknown()
        return found


@dataclass(eq=False, slots=True)
class _Watcher:
    """A client that watches, with its key's id. `woken` is set after each look, with the result in `found`."""

    owner: str
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    found: ContextState | None = None


def _unknown() -> Refusal:
    hint = "the admin sees it with `soul context get`"
    return Refusal(404, "unknown_context", "There is no context of this key for all of the workspace.", hint)


def _change(found: ContextState) -> StreamContext:
    return StreamContext(
        key=found.key, version=found.version, data=dict(found.data), author=found.author, at_ms=found.updated_ms
    )


def _tagged(found: ContextState, headers: Headers) -> ContextAnswer:
    headers["ETag"] = f'"{found.version}"'
    return ContextAnswer.model_validate(found)


def _conflicting(conflict: ContextConflict, headers: Headers) -> ContextConflictAnswer:
    error = ErrorDetail(code="changed", message=f"{conflict.message}.", hint=conflict.hint)
    return ContextConflictAnswer(**_tagged(conflict.found, headers).model_dump(), error=error)
