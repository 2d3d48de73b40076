"""The user groups: their handles, and the groups that hold the soul, whose mention is a mention of the soul."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.payload import Payload
from daemon.core.concurrency import set_within
from daemon.core.errors import ChannelError
from daemon.core.ports.services import Clock, Emit

_EVERY_S: Final = 600.0  # seconds; another daemon on the same app may have received the event
GROUPS_CHANGE: Final = ("subteam_created", "subteam_updated", "subteam_members_changed")


class OwnGroups:
    """The user groups. `ids` hold the soul, `handles` are those of all groups by id; empty without the scope."""

    def __init__(self, client: SlackClient, clock: Clock, emit: Emit) -> None:
        self.ids = set[str]()
        self.handles = dict[str, str]()
        self._client = client
        self._clock = clock
        self._emit = emit
        self._changed = asyncio.Event()
        self._trouble = ""

    async def take_note(self, _: Payload) -> None:
        """Read the groups again, since an event reports a change."""
        self._changed.set()

    async def keep(self, user: str) -> None:
        """Read the groups again after changes and periodically, until cancelled."""
        while True:
            await set_within(self._changed, self._clock, _EVERY_S)
            self._changed.clear()
            await self.read(user)

    async def read(self, user: str) -> None:
        """Read which groups hold `user` (Slack: usergroups.list). Never raises: a failed read changes nothing."""
        try:
            answer = await self._client.call("usergroups.list", include_users=True)
        except ChannelError as error:
            if error.message != self._trouble:  # a missing scope is logged once
                self._trouble = error.message
                self._emit("slack.groups_unknown", reason=error.message, hint=error.hint)
            return
        self._trouble = ""
        listed = answer.get("usergroups")
        groups = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        self.handles.clear()
        self.handles.update((str(one.get("id")), str(one.get("handle") or "")) for one in groups)
        held = {str(one.get("id")) for one in groups if _holds(one, user)}
        if held != self.ids:
            self.ids.clear()
            self.ids.update(held)
            self._emit("slack.own_groups", groups=len(held))


def _holds(group: Mapping[str, Any], user: str) -> bool:
    users = group.get("users")
    return isinstance(users, list) and user in users and not group.get("date_delete")
