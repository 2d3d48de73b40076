"""The gate: Slack ids and settings alone decide who is answered where, and who sets up a channel. Unknown: no (P42)."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.history import read_rooms
from daemon.channels.slack.people import Directory, SlackUser
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.config import Settings
from daemon.core.lru import Lru
from daemon.core.perception import Perception, Place
from daemon.core.ports.services import Clock, GateDecision
from daemon.core.room_ways import ManagedRoom
from daemon.core.sentences import Sentence
from daemon.core.value import Value

_TO_GUESTS: Final = Sentence("only_members")
_TO_UNLISTED: Final = Sentence("only_listed")
_IN_SHARED: Final = Sentence("not_in_shared")

_BOT_TURNS: Final = 3  # answered messages of bots in one conversation and minute (P35)
_BOT_MINUTE: Final = 60.0
_CONVERSATIONS: Final = 1000


class SlackGate:
    """The gate of one workspace. It raises NotDelivered while our own ids are unknown, as `reader` does."""

    def __init__(
        self, directory: Directory, settings: Settings, clock: Clock, reader: Callable[[], EventReader]
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._reader = reader
        self._bot_limit = _BotLimit(clock)

    async def admit(self, perception: Perception) -> GateDecision:
        """Decide as `Channel.admit` requires. A bot above its limit of messages is refused as `bot_loop`."""
        decision, user = await self._judge(perception.author, perception.conversation.channel, perception.place)
        is_bot = perception.author.startswith("B") if user is None else user.bot
        if decision.admitted and is_bot:
            conversation = str(perception.conversation)
            if not self._bot_limit.allows(conversation, perception.id):
                return GateDecision(admitted=False, name=decision.name, reason="bot_loop")
        return replace(decision, bot=is_bot)

    async def check_author(self, author: str, channel: str, place: Place) -> GateDecision:
        """Decide on a user or bot without counting a message, for thread context and new DMs. Raises NotDelivered."""
        return (await self._judge(author, channel, place))[0]

    async def _judge(self, author: str, channel: str, place: Place) -> tuple[GateDecision, SlackUser | None]:
        reader = self._reader()
        if author in (reader.identity.user, reader.identity.bot):
            return _no("self"), None
        # A bot without a user has only an id, which users.info doesn't know.
        user = None if author.startswith("B") else await self._directory.user(author)
        decision = self._of_user(user, reader.identity) if user else self._of_id(author)
        if decision.admitted and place is not Place.DM:
            decision = await self._of_room(decision, channel)
        outsider = user is None or user.is_outsider(reader.identity.team)
        zone, language = (user.zone, user.language) if user else ("", "")
        return replace(decision, outsider=outsider, zone=zone, language=language), user

    def _of_user(self, user: SlackUser, identity: SlackIdentity) -> GateDecision:
        settings = self._settings
        if user.deactivated:
            return _no("deactivated", user.name)
        if (user.stranger or identity.team not in user.teams) and (refusal := self._of_outsider(user, identity)):
            return refusal
        if user.bot:
            allowed = {user.id, user.bot_id} & set(settings.allow_bots)
            return GateDecision(admitted=True, name=user.name) if allowed else _no("bot", user.name)
        if user.guest and not settings.allow_guests:
            return _no("guest", user.name, _TO_GUESTS)
        if settings.members and user.id not in settings.members:
            return _no("not_listed", user.name, _TO_UNLISTED)
        return GateDecision(admitted=True, name=user.name)

    def _of_outsider(self, user: SlackUser, identity: SlackIdentity) -> GateDecision | None:
        if user.is_colleague(identity.enterprise):
            return None if self._settings.allow_organisation else _no("other_workspace", user.name, _TO_GUESTS)
        return None if self._settings.allow_strangers else _no("stranger", user.name)

    def _of_id(self, author: str) -> GateDecision:
        if not author.startswith("B"):
            return _no("unknown")
        return GateDecision(admitted=True, name=author) if author in self._settings.allow_bots else _no("bot")

    async def _of_room(self, decision: GateDecision, channel: str) -> GateDecision:
        room = await self._directory.room(channel)
        if self._settings.allow_shared_channels:
            return decision
        if room is None:
            return _no("unknown_channel", decision.name)
        return _no("shared_channel", decision.name, _IN_SHARED) if room.shared else decision


def _no(reason: str, name: str = "", say: str = "") -> GateDecision:
    return GateDecision(admitted=False, name=name, reason=reason, say=say)


class _BotLimit:
    """The count of bot messages per conversation and minute. The same perception counts once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns = Lru[str, dict[str, float]](_CONVERSATIONS)

    def allows(self, conversation: str, perception: str) -> bool:
        """Count the perception and return True if it may be answered."""
        now = self._clock.monotonic()
        turns = {id_: at for id_, at in self._turns.get(conversation, {}).items() if now - at < _BOT_MINUTE}
        allowed = perception in turns or len(turns) < _BOT_TURNS
        if allowed:
            turns.setdefault(perception, now)
        self._turns[conversation] = turns
        return allowed


_PAGES: Final = 5  # of users.conversations; channels on further pages are set up by the slash command


class Managers(Value):
    """The users who may set how the soul works in a channel: its creator, workspace admins, and the soul's `admins`.

    Slack's records decide. `has_member` checks that a user is in a channel, both given by id.
    """

    client: SlackClient
    directory: Directory
    gate: SlackGate
    has_member: Callable[[str, str], Awaitable[bool]]
    admins: Collection[str]

    async def may_manage(self, identity: SlackIdentity, person: str, channel: str) -> bool:
        """Return True if the person is a full member of the workspace and manages the channel, and both are in it.

        Cached records of both are refreshed. Raises NotDelivered.
        """
        self.directory.forget_user(person)
        user, room = await self.directory.user(person), await self.directory.room(channel, anew=True)
        if user is None or not _is_member(user, identity):
            return False
        if room is None or room.archived or room.place not in (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL):
            return False
        if not (self._manages_all(user) or room.creator == person):
            return False
        if not (await self.gate.check_author(person, channel, room.place)).admitted:
            return False
        return await self.has_member(channel, person) and await self.has_member(channel, identity.user)

    async def rooms_of(self, identity: SlackIdentity, person: str) -> tuple[ManagedRoom, ...]:
        """Return the channels that the person may manage as far as Slack's lists say, by name. `may_manage` decides.

        Channels that other organisations are in are left out. Raises ChannelError.
        """
        user = await self.directory.user(person)
        if user is None or not _is_member(user, identity):
            return ()
        ours = [one for one in await self._listed() if self._manages_all(user) or one["creator"] == person]
        theirs = {one["id"] for one in await self._listed(person)} if ours else set()
        found = [ManagedRoom(one["id"], one["name"]) for one in ours if one["id"] in theirs]
        return tuple(sorted(found, key=lambda room: (room.name, room.id)))

    async def _listed(self, person: str | None = None) -> list[dict[str, str]]:
        """Return the channels that a person is in and Slack lists to the app, or those that the soul is in."""
        listed = await read_rooms(self.client, most=_PAGES, user=person)
        return [room for one in listed if (room := _described(one))["id"] and not one.get("is_ext_shared")]

    def _manages_all(self, user: SlackUser) -> bool:
        return user.admin or user.id in self.admins


def _is_member(user: SlackUser, identity: SlackIdentity) -> bool:
    return not (user.bot or user.deactivated or user.is_outsider(identity.team))


def _described(room: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value := room.get(name), str) else "" for name in ("id", "name", "creator")}
