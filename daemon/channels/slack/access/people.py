"""Looks up users and channels in Slack; a cache keeps the answers for ten minutes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.channels.slack.api.cache import TimedCache
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.refusals import DEAD_TOKEN
from daemon.channels.slack.incoming.text import label
from daemon.core.errors import ChannelRefused, NotDelivered
from daemon.core.ports import Clock


@dataclass(frozen=True, slots=True)
class SlackUser:
    """What the gate needs of a user (Slack: users.info); `teams` are all workspaces that the user belongs to."""

    id: str
    name: str
    bot: bool
    bot_id: str
    deactivated: bool
    guest: bool
    stranger: bool
    teams: frozenset[str]


class Directory:
    """Looks up users and channels through one cache each."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._users = TimedCache(self._fetch_user, clock)
        self._shared = TimedCache(self._fetch_shared, clock)

    async def user(self, id_: str) -> SlackUser | None:
        """The user with this id; None if Slack refuses to say. Raises NotDelivered if Slack can't be asked now."""
        return await self._users.get(id_)

    async def shared(self, channel: str) -> bool | None:
        """Whether other organisations are in this channel; None if Slack refuses to say. Raises NotDelivered."""
        return await self._shared.get(channel)

    async def _fetch_user(self, id_: str) -> SlackUser | None:
        answer = await self._ask("users.info", user=id_)
        record = answer.get("user") if answer else None
        return _user(record) if isinstance(record, dict) and record.get("id") == id_ else None

    async def _fetch_shared(self, channel: str) -> bool | None:
        answer = await self._ask("conversations.info", channel=channel)
        record = answer.get("channel") if answer else None
        return bool(record.get("is_ext_shared")) if isinstance(record, dict) else None

    async def _ask(self, method: str, **arguments: str) -> Mapping[str, Any] | None:
        """Slack's answer, or None if it refuses; a dead token or a missing scope raises NotDelivered instead."""
        try:
            return await self._client.call(method, **arguments)
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN | {"missing_scope"}:
                raise NotDelivered(error.message, hint=error.hint, retry_after=60.0) from error
            return None


def _user(record: Mapping[str, Any]) -> SlackUser:
    profile = record.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    grid = record.get("enterprise_user")
    teams = {record.get("team_id"), *(grid.get("teams") or () if isinstance(grid, dict) else ())}
    names = (profile.get("display_name"), profile.get("real_name"), record.get("real_name"), record.get("name"))
    return SlackUser(
        id=str(record["id"]),
        name=next((shown for name in names if isinstance(name, str) and (shown := label(name))), ""),
        bot=bool(record.get("is_bot")) or record.get("id") == "USLACKBOT",
        bot_id=str(profile.get("bot_id") or ""),
        deactivated=bool(record.get("deleted")),
        guest=bool(record.get("is_restricted") or record.get("is_ultra_restricted")),
        stranger=bool(record.get("is_stranger")),
        teams=frozenset(team for team in teams if isinstance(team, str) and team),
    )
