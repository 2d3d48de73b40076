"""Who somebody is and what kind of room this is, as Slack's own records say; remembered for ten minutes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.channels.slack.api.cache import Remembered
from daemon.channels.slack.api.client import DEAD_TOKEN, SlackClient
from daemon.channels.slack.incoming.text import label
from daemon.core.errors import ChannelRefused, NotDelivered
from daemon.core.ports import Clock


@dataclass(frozen=True, slots=True)
class Person:
    """What the gate must know of somebody (Slack: users.info); `teams` are all workspaces they belong to."""

    id: str
    name: str
    bot: bool
    bot_id: str
    deactivated: bool
    guest: bool
    stranger: bool
    teams: frozenset[str]


class Directory:
    """Looks people and rooms up, through one cache each."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._people = Remembered(self._ask_person, clock)
        self._shared = Remembered(self._ask_shared, clock)

    async def person(self, user: str) -> Person | None:
        """Who this is; None when Slack doesn't know or won't tell. Raises NotDelivered when it can't be asked now."""
        return await self._people.get(user)

    async def shared(self, channel: str) -> bool | None:
        """Whether other organisations are in this channel; None when Slack won't tell. Raises NotDelivered."""
        return await self._shared.get(channel)

    async def _ask_person(self, user: str) -> Person | None:
        answer = await self._ask("users.info", user=user)
        record = answer.get("user") if answer else None
        return _person(record) if isinstance(record, dict) and record.get("id") == user else None

    async def _ask_shared(self, channel: str) -> bool | None:
        answer = await self._ask("conversations.info", channel=channel)
        record = answer.get("channel") if answer else None
        return bool(record.get("is_ext_shared")) if isinstance(record, dict) else None

    async def _ask(self, method: str, **arguments: str) -> Mapping[str, Any] | None:
        """One look-up; a token that died or lacks the scope is not an answer about anybody."""
        try:
            return await self._client.call(method, **arguments)
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN | {"missing_scope"}:
                raise NotDelivered(error.message, hint=error.hint, retry_after=60.0) from error
            return None


def _person(record: Mapping[str, Any]) -> Person:
    profile = record.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    grid = record.get("enterprise_user")
    teams = {record.get("team_id"), *(grid.get("teams") or () if isinstance(grid, dict) else ())}
    names = (profile.get("display_name"), profile.get("real_name"), record.get("real_name"), record.get("name"))
    return Person(
        id=str(record["id"]),
        name=next((shown for name in names if isinstance(name, str) and (shown := label(name))), ""),
        bot=bool(record.get("is_bot")) or record.get("id") == "USLACKBOT",
        bot_id=str(profile.get("bot_id") or ""),
        deactivated=bool(record.get("deleted")),
        guest=bool(record.get("is_restricted") or record.get("is_ultra_restricted")),
        stranger=bool(record.get("is_stranger")),
        teams=frozenset(team for team in teams if isinstance(team, str) and team),
    )
