"""Shared contexts for programs that come by a door: those that they may know, written in their owner's name."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from daemon.core.contexts import ContextConflict, ContextRefused, ContextState, JSONObject, Writer, checked_key
from daemon.core.members import Member
from daemon.core.perception import Audience
from daemon.core.sessions import KeyOwner
from daemon.memory.shared.awareness import HTTP
from daemon.shared.context import SharedContexts
from daemon.shared.looks import Looks, Watched

MOST_BY_KEY: Final = 100
"""The most contexts whose data is a writer's own until no key of theirs begins another."""


class ContextDoor:
    """Implements the door's `SharedState`; its programs belong to the audience of the `reader`.

    The admin writes as such; who comes with a key of their own writes as themselves, where the writers of a context let
    them, and what they write is for all of the workspace. Sessions of outsiders know none.
    """

    def __init__(self, contexts: SharedContexts, reader: Audience) -> None:
        self._contexts = contexts
        self._reader = reader
        self._looks = Looks(contexts.news, self._look)

    async def all(self, owner: KeyOwner) -> list[ContextState]:
        """See `SharedState.all`."""
        return [one for one in await self._contexts.store.all() if self._knows(owner, one)]

    async def get(self, owner: KeyOwner, key: str) -> ContextState | None:
        """See `SharedState.get`."""
        found = await self._contexts.store.get(key)
        return found if self._knows(owner, found) else None

    async def write(self, owner: KeyOwner, key: str, data: JSONObject, seen: int | None) -> ContextState:
        """See `SharedState.write`."""
        if owner.outsider:
            raise ContextRefused(f"{key} is for full members of the workspace", hint="ask one of them to write it")
        try:
            return await self._contexts.store.write(key, data, seen, self._writer(owner), self._contexts.news.tell)
        except ContextConflict as conflict:
            if conflict.found.audience != self._reader:  # narrowed since it was read
                raise ContextConflict(ContextState(key, conflict.found.version, {}, conflict.found.audience)) from None
            raise

    async def members(self, owner: KeyOwner, key: str) -> list[Member] | None:
        """See `SharedState.members`."""
        if await self.get(owner, key) is None:
            return None
        return await self._contexts.store.awareness.members(key, self._reader)

    async def renew(self, owner: KeyOwner, key: str, member: str, state: JSONObject) -> Member | None:
        """See `SharedState.renew`."""
        if await self.get(owner, key) is None:
            return None
        _require_own(owner, member)
        return await self._contexts.store.awareness.renew(key, member, state, self._writer(owner))

    async def leave(self, owner: KeyOwner, key: str, member: str) -> None:
        """See `SharedState.leave`."""
        _require_own(owner, member)
        await self._contexts.store.awareness.leave(key, member, HTTP)

    def watch(self, key: str) -> AbstractContextManager[Watched[ContextState | None]]:
        """See `SharedState.watch`."""
        return self._looks.watch(checked_key(key))

    async def _look(self, keys: Sequence[str]) -> dict[str, ContextState | None]:
        found = await self._contexts.store.these(keys)
        return {one.key: one if one.audience == self._reader else None for one in found}

    def _knows(self, owner: KeyOwner, found: ContextState) -> bool:
        return not owner.outsider and found.audience == self._reader

    def _writer(self, owner: KeyOwner) -> Writer:
        writer = Writer(owner.person, self._reader) if owner.person else self._contexts.writer
        return replace(writer, most=MOST_BY_KEY) if owner.key else writer


def _require_own(owner: KeyOwner, member: str) -> None:
    """Refuse a person's key that would be present, or leave, under a name of others. Raises ContextRefused."""
    if owner.person and member != owner.person and not member.startswith(f"{owner.person}:"):
        raise ContextRefused(
            f"with this key the name of a member is {owner.person}, or begins with {owner.person}:",
            hint=f"take the name {owner.person}:laptop, for instance",
        )
