"""The names of people, user groups and channels for prompts; those of private channels stay private."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from daemon.channels.slack.people import Directory
from daemon.core.errors import NotDelivered
from daemon.core.perception import Place

_PERSON: Final = ("U", "W")
_GROUP: Final = "S"
_PATIENCE_S: Final = 1.5  # a reply waits for them


class Names:
    """Looks names up through the directory's caches; `handles` are those of user groups, by id, as they change."""

    def __init__(self, directory: Directory, handles: Mapping[str, str]) -> None:
        self._directory, self._handles = directory, handles

    async def of(self, ids: Collection[str]) -> Mapping[str, str]:
        """The names that Slack says within a moment. Never raises."""
        found = {id_: self._handles.get(id_, "") for id_ in ids if id_.startswith(_GROUP)}

        async def ask(id_: str) -> None:
            try:
                found[id_] = await (self._person(id_) if id_.startswith(_PERSON) else self._room(id_))
            except NotDelivered:
                return

        try:
            async with asyncio.timeout(_PATIENCE_S), asyncio.TaskGroup() as group:
                for id_ in set(ids) - found.keys():
                    group.create_task(ask(id_))
        except TimeoutError:
            pass
        return {id_: name for id_, name in found.items() if name}

    async def _person(self, id_: str) -> str:
        user = await self._directory.user(id_)
        return user.name if user else ""

    async def _room(self, id_: str) -> str:
        """The name of a public channel of this workspace alone."""
        room = await self._directory.room(id_)
        return room.name if room and room.place is Place.PUBLIC_CHANNEL and not room.open_to_others else ""
