"""The users, channels and user groups of Slack, kept for ten minutes or until an event reports a change."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient, Window
from daemon.channels.slack.event_reader import place_of
from daemon.channels.slack.history import read_items, read_rooms
from daemon.channels.slack.message_text import label
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.refusals import DEAD_TOKEN, TimedCache
from daemon.core.concurrency import set_within
from daemon.core.errors import ChannelError, ChannelRefused, NotDelivered, StoreError
from daemon.core.perception import Place
from daemon.core.ports import PersonRooms
from daemon.core.ports.services import Clock, Emit
from daemon.core.timetable import zone_of
from daemon.core.value import Value

_LISTS_A_MINUTE: Final = 15  # pages of users.list (Slack: tier 2)
_FEW: Final = 20  # users, and channels in a minute, that are looked up singly; for more, a list is read first
_AT_ONCE: Final = 8
_ROUNDS: Final = 5  # rounds of lookups for users that are forgotten while others are looked up
_LIST_PAGES: Final = 10


class SlackUser(Value):
    """The needed fields of a user (Slack: users.info). `teams` are all workspaces that the user belongs to.

    `language` is Slack's `locale`, and `zone` the IANA name of the time zone, both empty if Slack names none. `home` is
    the workspace of the account, `enterprise` its Enterprise Grid organisation, or empty. `admin`: an admin or owner of
    the workspace.
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
        """Return True for a user of the same organisation. `enterprise` is ours, empty for none."""
        return bool(enterprise) and self.enterprise == enterprise and not self.stranger

    def is_outsider(self, team: str) -> bool:
        """Return True for a guest, and for a user or bot of another workspace than `team`."""
        return self.guest or self.stranger or team not in self.teams


_NOT_ASKED: Final = SlackUser("", "", False, "", False, False, False, frozenset())  # a placeholder for an unknown user


class SlackRoom(Value):
    """The fields that decide who reads in a channel (Slack: conversations.info).

    `shared`: other organisations are in it. `org_shared`: other workspaces of our organisation are in it. `members` is
    the number of users, 0 if unknown. `name` is empty for a DM. `creator` is a user id.
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
    """The users and channels, through one cache each. Events keep the caches correct (`learn`, `forget`)."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._users = TimedCache(self._fetch_user, clock)
        self._rooms = TimedCache(self._fetch_room, clock)
        self._list_slots = Window(clock, _LISTS_A_MINUTE)
        self._rooms_asked = Window(clock, _FEW)
        self._reading_rooms = asyncio.Lock()

    async def user(self, id_: str) -> SlackUser | None:
        """Return the user, or None if Slack refuses. Raises NotDelivered if Slack can't be reached now."""
        return await self._users.get(id_)

    async def room(self, channel: str, *, anew: bool = False) -> SlackRoom | None:
        """Return the channel, or None if Slack refuses. `anew` bypasses the cache. Raises NotDelivered.

        If many channels are unknown within a minute, all channels that the soul is in are read from a list instead.
        """
        if anew:
            self._rooms.forget(channel)
        elif self.known_room(channel) is None and not self._rooms_asked.take():
            async with self._reading_rooms:
                if self.known_room(channel) is None:
                    await self._read_rooms()
        return await self._rooms.get(channel)

    async def users(self, ids: Collection[str]) -> list[SlackUser | None]:
        """Return the users with these ids, None for each unknown to Slack. Raises NotDelivered.

        For many unknown users the workspace's list is read instead, up to a few pages. Users missing from it are looked
        up singly as long as they are few.
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
        """Update the cached user from an event, or drop the user if more than name, language and zone changed.

        Most such events are about names and statuses only, and events may come late or twice. Returns True if other
        daemons should drop the user too: the membership changed, or is unknown here and not full.
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
        self._users.forget(id_)

    def known_user(self, id_: str) -> SlackUser | None:
        return self._users.peek(id_, None)

    def known_room(self, channel: str) -> SlackRoom | None:
        return self._rooms.peek(channel, None)

    def forget_room(self, channel: str) -> None:
        self._rooms.forget(channel)

    def forget_all(self) -> None:
        self._users.forget_all()
        self._rooms.forget_all()

    def _unknown(self, ids: Collection[str]) -> list[str]:
        return [id_ for id_ in ids if self._users.peek(id_, _NOT_ASKED) is _NOT_ASKED]

    async def _look_up(self, ids: Collection[str]) -> None:
        """Look up users, a few at once. Raises NotDelivered."""
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
        """Cache every user on the first pages of the workspace's list."""
        try:
            listed, _ = await read_items(
                self._client,
                "users.list",
                "members",
                dict,
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
        """Cache every unknown channel on the first pages of those that the soul is in."""
        try:
            listed = await read_rooms(self._client, most=_LIST_PAGES)
        except ChannelRefused:
            return
        for record in listed:
            if isinstance(id_ := record.get("id"), str) and self.known_room(id_) is None:
                self._rooms.put(id_, _room(record))

    async def _fetch_user(self, id_: str) -> SlackUser | None:
        record = (await self._ask("users.info", user=id_, include_locale=True)).part("user")
        return _user(record.data) if record and record.text("id") == id_ else None

    async def _fetch_room(self, channel: str) -> SlackRoom | None:
        record = (await self._ask("conversations.info", channel=channel, include_num_members=True)).part("channel")
        return _room({**record.data, "id": channel}) if record else None

    async def _ask(self, method: str, **arguments: object) -> Payload:
        """Return Slack's answer, empty for a refusal. A dead token or a missing scope raises NotDelivered."""
        try:
            return Payload(await self._client.call(method, **arguments))
        except ChannelRefused as error:
            if error.code in DEAD_TOKEN | {"missing_scope"}:
                raise NotDelivered(error.message, hint=error.hint, retry_after=60.0) from error
            return Payload({})


def _room(record: Mapping[str, Any]) -> SlackRoom:
    return SlackRoom(
        str(record["id"]),
        place_of(record),
        shared=bool(record.get("is_ext_shared")),
        members=Payload(record).number("num_members"),
        name=label(str(record.get("name") or "")),
        org_shared=bool(record.get("is_org_shared")),
        creator=str(record.get("creator") or ""),
        archived=bool(record.get("is_archived")),
    )


def _user(record: Mapping[str, Any], known: SlackUser | None = None) -> SlackUser:
    """Return a user as Slack describes it. A missing language is taken from the `known` user."""
    user, rights = Payload.of(record), ("is_admin", "is_owner", "is_primary_owner")
    profile, grid, zone = user.part("profile"), user.part("enterprise_user"), user.text("tz")
    names = (profile.text("display_name"), profile.text("real_name"), user.text("real_name"), user.text("name"))
    teams = {team for team in (user.text("team_id"), *grid.listed("teams")) if isinstance(team, str) and team}
    return SlackUser(
        id=str(record["id"]),
        name=next((shown for name in names if (shown := label(name))), ""),
        bot=bool(record.get("is_bot")) or record["id"] == "USLACKBOT",
        bot_id=profile.text("bot_id"),
        deactivated=bool(record.get("deleted")),
        guest=bool(record.get("is_restricted") or record.get("is_ultra_restricted")),
        stranger=bool(record.get("is_stranger")),
        teams=frozenset(teams),
        language=user.text("locale") or (known.language if known else ""),
        home=user.text("team_id"),
        enterprise=grid.text("enterprise_id"),
        admin=any(record.get(right) is True for right in rights),
        zone=zone if zone_of(zone) else "",
    )


_CALLS_A_MINUTE: Final = 30  # of users.info (Slack: tier 4); replies need most of them
_MOST: Final = 200  # users in one pass, those whose next reminder is soonest
_PAUSE: Final = 30.0
_USERS: Final = ("U", "W")  # the prefixes of the ids of users


class TimezoneSync:
    """The follow-up of moves: reminders change to a user's new time zone, and `tell` notifies the other daemons."""

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
        """Request a lookup of all users with reminders: events may have been missed."""
        self._wanted.set()

    async def run(self, store: PersonRooms) -> None:
        """Look users up whenever events may have been missed, until cancelled."""
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
        """Look up all users with reminders, a few a minute. Raises NotDelivered, StoreError."""
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


_GROUP: Final = "S"
_PATIENCE_S: Final = 1.5  # seconds; a reply waits for the names


class Names:
    """The names from the directory's caches. `handles` is a live mapping of user groups' handles by id."""

    def __init__(self, directory: Directory, handles: Mapping[str, str]) -> None:
        self._directory, self._handles = directory, handles

    async def of(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names that Slack gives in time. Never raises."""
        found = {id_: self._handles.get(id_, "") for id_ in ids if id_.startswith(_GROUP)}

        async def ask(id_: str) -> None:
            try:
                found[id_] = await (self._person(id_) if id_.startswith(_USERS) else self._room(id_))
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


_EVERY_S: Final = 600.0  # seconds; another daemon on the same app may have received the event
GROUPS_CHANGE: Final = ("subteam_created", "subteam_updated", "subteam_members_changed")


class OwnGroups:
    """The user groups. `ids` hold the soul, `handles` are those of all groups by id; empty without the scope."""

    def __init__(self, client: SlackClient) -> None:
        self.ids = set[str]()
        self.handles = dict[str, str]()
        self._client = client
        self._changed = asyncio.Event()
        self._trouble = ""

    async def take_note(self, _: Payload) -> None:
        """Read the groups again, since an event reports a change."""
        self._changed.set()

    async def keep(self, user: str) -> None:
        """Read the groups again after changes and periodically, until cancelled."""
        while True:
            await set_within(self._changed, self._client.clock, _EVERY_S)
            self._changed.clear()
            await self.read(user)

    async def read(self, user: str) -> None:
        """Read which groups hold `user` (Slack: usergroups.list). Never raises: a failed read changes nothing."""
        try:
            answer = await self._client.call("usergroups.list", include_users=True)
        except ChannelError as error:
            if error.message != self._trouble:  # a missing scope is logged once
                self._trouble = error.message
                self._client.emit("slack.groups_unknown", reason=error.message, hint=error.hint)
            return
        self._trouble = ""
        groups = Payload(answer).parts("usergroups")
        self.handles.clear()
        self.handles.update((one.text("id"), one.text("handle")) for one in groups)
        holding = (one for one in groups if user in one.listed("users") and not one.data.get("date_delete"))
        held = {one.text("id") for one in holding}
        if held != self.ids:
            self.ids.clear()
            self.ids.update(held)
            self._client.emit("slack.own_groups", groups=len(held))
