"""Looks up users and channels in Slack; caches keep the answers for ten minutes, or until an event says otherwise."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from daemon.channels.slack.api import SlackClient, Window
from daemon.channels.slack.event_reader import place_of
from daemon.channels.slack.history import read_pages
from daemon.channels.slack.message_text import label
from daemon.channels.slack.refusals import DEAD_TOKEN, TimedCache
from daemon.core.errors import ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import PersonRooms
from daemon.core.ports.services import Clock, Emit
from daemon.core.timetable import zone_of

_LISTS_A_MINUTE: Final = 15  # pages of users.list (Slack: tier 2)
_FEW: Final = 20  # users, and rooms in a minute, that are asked about one by one; of more, a list is read first
_AT_ONCE: Final = 8
_ROUNDS: Final = 5  # of looking up those who are forgotten while others are asked about
_LIST_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class SlackUser:
    """What is needed of a user (Slack: users.info); `teams` are all workspaces that the user belongs to.

    `language` is Slack's `locale`, the language in which the user reads Slack, and `zone` the IANA name of their time
    zone; empty if Slack didn't say. `home` is the workspace that the account belongs to, `enterprise` the
    Enterprise Grid organisation of that, empty for none. `admin`: they are an admin or owner of the workspace.
    """

    id: str
    name: str
    bot: bool
    bot_id: str
    deactivated: bool
    guest: bool
    stranger: bool
    teams: frozenset[str]
    language: str = ""
    zone: str = ""
    home: str = ""
    enterprise: str = ""
    admin: bool = False

    def is_colleague(self, enterprise: str) -> bool:
        """Whether this is a user of the same organisation; `enterprise` is ours, empty for none."""
        return bool(enterprise) and self.enterprise == enterprise and not self.stranger

    def is_outsider(self, team: str) -> bool:
        """Whether this is a guest, or a user or bot of another workspace than `team`, of our organisation or not."""
        return self.guest or self.stranger or team not in self.teams


_NOT_ASKED: Final = SlackUser("", "", False, "", False, False, False, frozenset())  # no user at all


@dataclass(frozen=True, slots=True)
class SlackRoom:
    """What decides who reads in a channel (Slack: conversations.info).

    `shared`: other organisations are in it, `org_shared`: other workspaces of our own one. `members` is how many users
    are, 0 if Slack doesn't say, `name` what it is called, empty for a DM, and `creator` the id of who made it.
    """

    id: str
    place: Place
    shared: bool
    members: int
    name: str = ""
    org_shared: bool = False
    creator: str = ""
    archived: bool = False

    @property
    def open_to_others(self) -> bool:
        return self.shared or self.org_shared


class Directory:
    """Looks up users and channels through one cache each; events keep the caches true (`learn`, `forget`)."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._users = TimedCache(self._fetch_user, clock)
        self._rooms = TimedCache(self._fetch_room, clock)
        self._list_slots = Window(clock, _LISTS_A_MINUTE)
        self._rooms_asked = Window(clock, _FEW)
        self._reading_rooms = asyncio.Lock()

    async def user(self, id_: str) -> SlackUser | None:
        """The user with this id; None if Slack refuses to say. Raises NotDelivered if Slack can't be asked now."""
        return await self._users.get(id_)

    async def room(self, channel: str, *, anew: bool = False) -> SlackRoom | None:
        """The channel; None if Slack refuses to say. With `anew` Slack is asked in any case. Raises NotDelivered.

        Where many are unknown within a minute, all rooms that the soul is in are read from a list instead.
        """
        if anew:
            self._rooms.forget(channel)
        elif self.known_room(channel) is None and not self._rooms_asked.take():
            async with self._reading_rooms:
                if self.known_room(channel) is None:
                    await self._read_rooms()
        return await self._rooms.get(channel)

    async def users(self, ids: Collection[str]) -> list[SlackUser | None]:
        """The users with these ids; None for each of whom Slack says nothing. Raises NotDelivered.

        Of many unknown ones the list of the workspace is read instead, as far as it fits in a few pages; those whom it
        doesn't hold are asked about as long as they are few.
        """
        if len(self._unknown(ids)) > _FEW:
            await self._read_list()
        for _ in range(_ROUNDS):
            if len(unknown := self._unknown(ids)) > _FEW:
                return [None]
            if not unknown:
                return [self._users.peek(id_, _NOT_ASKED) for id_ in ids]
            await self._look_up(unknown)
        raise NotDelivered("what is known of users was forgotten while it was asked for", retry_after=1.0)

    def learn(self, record: Mapping[str, Any]) -> bool:
        """Take notice of a user as an event describes them; Slack is asked again if their standing has changed.

        Most such events are about names and statuses only, and events may come late or twice. True if others who know
        the user should ask again too: their standing has changed, or it is unknown here and not that of a full member.
        """
        known = self._users.peek(str(record.get("id")), _NOT_ASKED)
        told = _user(record, known)
        if known is _NOT_ASKED:
            return told.guest or told.stranger or told.deactivated
        if known and replace(known, name=told.name, language=told.language, zone=told.zone) == told:
            self._users.put(told.id, told)
            return False
        self._users.forget(told.id)
        return True

    def forget_user(self, id_: str) -> None:
        """Ask Slack again about a user."""
        self._users.forget(id_)

    def known_user(self, id_: str) -> SlackUser | None:
        """The user as they are known; Slack is not asked."""
        found = self._users.peek(id_, None)
        return found if isinstance(found, SlackUser) else None

    def known_room(self, channel: str) -> SlackRoom | None:
        """The channel as it is known; Slack is not asked."""
        return self._rooms.peek(channel, None)

    def forget_room(self, channel: str) -> None:
        """Ask Slack again about a channel."""
        self._rooms.forget(channel)

    def forget_all(self) -> None:
        """Ask Slack again about everything."""
        self._users.forget_all()
        self._rooms.forget_all()

    def _unknown(self, ids: Collection[str]) -> list[str]:
        return [id_ for id_ in ids if self._users.peek(id_, _NOT_ASKED) is _NOT_ASKED]

    async def _look_up(self, ids: Collection[str]) -> None:
        """Ask about users, a few at once. Raises NotDelivered."""
        slots, failed = asyncio.Semaphore(_AT_ONCE), list[NotDelivered]()

        async def ask(id_: str) -> None:
            try:
                async with slots:
                    await self._users.get(id_)
            except NotDelivered as error:
                failed.append(error)

        async with asyncio.TaskGroup() as group:
            for id_ in ids:
                group.create_task(ask(id_))
        if failed:
            raise failed[0]

    async def _read_list(self) -> None:
        """Keep every user on the first pages of the workspace's list."""
        try:
            listed, _ = await read_pages(
                self._client,
                "users.list",
                "members",
                most=_LIST_PAGES,
                window=self._list_slots,
                include_locale=True,
            )
        except ChannelRefused:
            return
        for record in listed:
            if isinstance(id_ := record.get("id"), str):
                self._users.put(id_, _user(record))

    async def _read_rooms(self) -> None:
        """Keep every channel on the first pages of those that the soul is in, where nothing is known of it."""
        try:
            listed, _ = await read_pages(
                self._client,
                "users.conversations",
                "channels",
                most=_LIST_PAGES,
                types="public_channel,private_channel",
                exclude_archived=True,
            )
        except ChannelRefused:
            return
        for record in listed:
            if isinstance(id_ := record.get("id"), str) and self.known_room(id_) is None:
                self._rooms.put(id_, _room(record))

    async def _fetch_user(self, id_: str) -> SlackUser | None:
        answer = await self._ask("users.info", user=id_, include_locale=True)
        record = answer.get("user") if answer else None
        return _user(record) if isinstance(record, dict) and record.get("id") == id_ else None

    async def _fetch_room(self, channel: str) -> SlackRoom | None:
        answer = await self._ask("conversations.info", channel=channel, include_num_members=True)
        record = answer.get("channel") if answer else None
        return _room({**record, "id": channel}) if isinstance(record, dict) else None

    async def _ask(self, method: str, **arguments: object) -> Mapping[str, Any] | None:
        """Slack's answer, or None if it refuses; a dead token or a missing scope raises NotDelivered instead."""
        try:
            return await self._client.call(method, **arguments)
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN | {"missing_scope"}:
                raise NotDelivered(error.message, hint=error.hint, retry_after=60.0) from error
            return None


def _room(record: Mapping[str, Any]) -> SlackRoom:
    """A channel as Slack describes it."""
    count = record.get("num_members")
    return SlackRoom(
        str(record["id"]),
        place_of(record),
        shared=bool(record.get("is_ext_shared")),
        members=count if isinstance(count, int) else 0,
        name=label(str(record.get("name") or "")),
        org_shared=bool(record.get("is_org_shared")),
        creator=str(record.get("creator") or ""),
        archived=bool(record.get("is_archived")),
    )


def _user(record: Mapping[str, Any], known: SlackUser | None = None) -> SlackUser:
    """A user as Slack describes them; where it leaves the language out, it stays as it is known."""
    profile = record.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    grid = record.get("enterprise_user")
    others = grid.get("teams") if isinstance(grid, dict) else None
    teams = [record.get("team_id"), *(others if isinstance(others, list) else ())]
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
        language=str(record.get("locale") or (known.language if known else "")),
        home=home if isinstance(home := record.get("team_id"), str) else "",
        enterprise=str(grid.get("enterprise_id") or "") if isinstance(grid, dict) else "",
        admin=any(record.get(right) is True for right in ("is_admin", "is_owner", "is_primary_owner")),
        zone=zone if isinstance(zone := record.get("tz"), str) and zone_of(zone) else "",
    )


_CALLS_A_MINUTE: Final = 30  # of users.info (Slack: tier 4); replies need most of them
_MOST: Final = 200  # people at a look, those whose next time is soonest
_PAUSE: Final = 30.0
_USERS: Final = ("U", "W")  # what ids of users begin with


class Movers:
    """Moves what repeats to the clocks of where its person lives by now; `tell` tells the other daemons of a move."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        emit: Emit,
        team: Callable[[], str],
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._emit = emit
        self._team = team
        self._tell = tell
        self._slots = Window(clock, _CALLS_A_MINUTE)
        self._wanted = asyncio.Event()

    def look(self) -> None:
        """Have everybody looked up: events may have been missed."""
        self._wanted.set()

    async def run(self, store: PersonRooms) -> None:
        """Look people up whenever events may have been missed, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._look_up(store)
            except (NotDelivered, StoreError) as error:
                self._emit("slack.zones_unknown", reason=error.message, hint=error.hint)
                await self._clock.sleep(max(_PAUSE, getattr(error, "retry_after", None) or 0.0))
                self._wanted.set()

    async def _look_up(self, store: PersonRooms) -> None:
        """Ask about all, few in a minute. Raises NotDelivered, StoreError."""
        team = self._team()
        for person in await store.reminded(team, _MOST):
            if not person.startswith(_USERS):
                continue
            if self._directory.known_user(person) is None:
                await self._slots.wait_for_slot()
            user = await self._directory.user(person)
            if user is not None and user.zone and await store.moved(team, person, user.zone):
                self._emit("slack.moved", person=person)
                await self._tell(person)


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
        room = await self._directory.room(id_)
        return room.name if room and room.place is Place.PUBLIC_CHANNEL and not room.open_to_others else ""
