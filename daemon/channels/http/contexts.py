"""Shared contexts over HTTP: read with the version as ETag, written against a known version, watched, with presence."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import OWNER, Refusal, read_body
from daemon.channels.http.schemas import (
    ContextAnswer,
    ContextConflictAnswer,
    ContextData,
    ContextList,
    ErrorDetail,
    MemberAnswer,
    MemberList,
    MemberState,
    StreamContext,
)
from daemon.channels.http.stream import BEAT, send_events, server_sent
from daemon.core.concurrency import alongside
from daemon.core.contexts import ContextConflict, ContextState
from daemon.core.errors import NotDelivered, StoreError
from daemon.core.ports.arrivals import Member, MemberTaken
from daemon.core.ports.services import Clock, Emit
from daemon.core.sessions import KeyOwner

_MOST_WATCHERS: Final = 256
_MOST_OF_A_KEY: Final = 16
_REST_S: Final = 5.0  # seconds after memory.db could not be read
_TAG: Final = re.compile(r'(?:W/)?"[^"]*"')
_VERSION: Final = re.compile(r'"([0-9]{1,18})"')


class ContextPages:
    """The handlers of shared contexts. All may raise Refusal, ContextRefused and StoreError."""

    def __init__(self, side: DaemonSide, clock: Clock, emit: Emit) -> None:
        self._contexts = side.contexts
        self._sessions = side.sessions
        self._clock = clock
        self._emit = emit
        self._watchers: set[_Watcher] = set()
        self._closing = False

    def close(self) -> None:
        """End all streams, since the daemon stops."""
        self._closing = True
        for watcher in self._watchers:
            watcher.woken.set()

    async def all(self, request: web.Request) -> web.Response:
        found = ContextList([_answer(one) for one in await self._contexts.all(request[OWNER])])
        return web.json_response(body=found.model_dump_json().encode())

    async def get(self, request: web.Request) -> web.Response:
        return _shown(await self._known(request[OWNER], request.match_info["key"]))

    async def put(self, request: web.Request) -> web.Response:
        key, seen = request.match_info["key"], _versions_seen(request)
        data = (await read_body(request, ContextData)).root
        found = await self._known(request[OWNER], key)
        if seen is not None and found.version not in seen:
            return _conflict(ContextConflict(found))
        try:
            written = await self._contexts.write(request[OWNER], key, data, None if seen is None else found.version)
        except ContextConflict as conflict:
            return _conflict(conflict)
        return _shown(written)

    async def members(self, request: web.Request) -> web.Response:
        found = await self._contexts.members(request[OWNER], request.match_info["key"])
        if found is None:
            raise _unknown()
        return web.json_response(body=MemberList([_member(one) for one in found]).model_dump_json().encode())

    async def renew(self, request: web.Request) -> web.Response:
        state, where = (await read_body(request, MemberState)).root, request.match_info
        try:
            member = await self._contexts.renew(request[OWNER], where["key"], where["member"], state)
        except MemberTaken as taken:
            raise Refusal(409, "taken", f"{taken.message}.", taken.hint) from taken
        if member is None:
            raise _unknown()
        return web.json_response(body=_member(member).model_dump_json().encode())

    async def leave(self, request: web.Request) -> web.Response:
        await self._contexts.leave(request[OWNER], request.match_info["key"], request.match_info["member"])
        return web.Response(status=204)

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Stream a context now and at each change, until the client leaves or the daemon stops."""
        key = request.match_info["key"]
        await self._known(request[OWNER], key)
        if len(self._watchers) >= _MOST_WATCHERS:
            raise Refusal(503, "busy", "Too many clients watch contexts.", "try again", {"Retry-After": "5"})
        self._require_room(request[OWNER])
        watcher = _Watcher(request[OWNER].key)
        self._watchers.add(watcher)
        try:
            async with alongside(self._wake(key, watcher)):
                return await send_events(request, self._changes(request, watcher), self._emit, context=key)
        finally:
            self._watchers.discard(watcher)

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

    async def _changes(self, request: web.Request, watcher: "_Watcher") -> AsyncGenerator[bytes, None]:
        version, wrote, asked = -1, self._clock.monotonic(), self._clock.monotonic()
        owner: KeyOwner = request[OWNER]
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


def _member(one: Member) -> MemberAnswer:
    return MemberAnswer(member=one.member, process=one.process, state=dict(one.state), seen_ms=one.seen_ms)


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


def shown_context(found: ContextState) -> dict[str, object]:
    """Return a context as JSON values, in the form of the routes."""
    return _answer(found).model_dump(mode="json")


def _answer(found: ContextState) -> ContextAnswer:
    return ContextAnswer(
        key=found.key,
        version=found.version,
        data=dict(found.data),
        audience=str(found.audience),
        writers=found.writers,
        author=found.author,
        updated_ms=found.updated_ms,
    )


def _change(found: ContextState) -> StreamContext:
    return StreamContext(
        key=found.key, version=found.version, data=dict(found.data), author=found.author, at_ms=found.updated_ms
    )


def _shown(found: ContextState) -> web.Response:
    return web.json_response(body=_answer(found).model_dump_json().encode(), headers=_tag(found))


def _conflict(conflict: ContextConflict) -> web.Response:
    error = ErrorDetail(code="changed", message=f"{conflict.message}.", hint=conflict.hint)
    answer = ContextConflictAnswer(**_answer(conflict.found).model_dump(), error=error)
    return web.json_response(body=answer.model_dump_json().encode(), status=412, headers=_tag(conflict.found))


def _tag(found: ContextState) -> dict[str, str]:
    return {"ETag": f'"{found.version}"'}
