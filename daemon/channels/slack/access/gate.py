"""The one authorizer: may this person be heard here? By Slack's ids and the settings alone; unknown means no (P42)."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from daemon.channels.slack.access.people import Directory, Person
from daemon.channels.slack.api.identity import Identity
from daemon.core.config import Settings
from daemon.core.errors import NotDelivered
from daemon.core.perception import Perception, Place
from daemon.core.ports import Clock, GateDecision

_TO_GUESTS: Final = "I'm sorry, I only talk with full members of this workspace, so I can't help you here."
_TO_UNLISTED: Final = "I'm sorry, I may only talk with the people my admin has listed, and you aren't among them yet."
_IN_SHARED: Final = "I'm sorry, I don't talk in channels shared with other organisations; please write to me directly."

_BOT_TURNS: Final = 3  # answers to bots a minute in one conversation (P35)
_BOT_MINUTE: Final = 60.0
_CONVERSATIONS: Final = 1000


class SlackGate:
    """Implements `Gate`; while our own ids are unknown nobody is let in."""

    def __init__(
        self, directory: Directory, settings: Settings, clock: Clock, identity: Callable[[], Identity | None]
    ) -> None:
        self._directory = directory
        self._settings = settings
        self._identity = identity
        self._bot_turns = _BotTurns(clock)

    async def admit(self, perception: Perception) -> GateDecision:
        """Decide on one perception. Raises NotDelivered when Slack can't be asked just now."""
        admission, person = await self._judge(perception.author, perception.conversation.channel, perception.place)
        is_bot = perception.author.startswith("B") if person is None else person.bot
        if admission.admitted and is_bot:
            conversation = str(perception.conversation)
            if not self._bot_turns.take(conversation, perception.id):
                return GateDecision(admitted=False, name=admission.name, reason="bot_loop")
        return admission

    async def may_be_heard(self, source: str, channel: str, place: Place) -> GateDecision:
        """The same decision about what somebody said earlier, for thread context. Raises NotDelivered."""
        return (await self._judge(source, channel, place))[0]

    async def _judge(self, source: str, channel: str, place: Place) -> tuple[GateDecision, Person | None]:
        identity = self._identity()
        if identity is None:
            raise NotDelivered("who we are in Slack is not known yet", retry_after=1.0)
        if source in (identity.user, identity.bot):
            return _no("self"), None
        # A bot without a user is only an id: there is nobody to look up.
        person = None if source.startswith("B") else await self._directory.person(source)
        admission = self._of_person(person, identity) if person else self._of_id(source)
        if admission.admitted and place is not Place.DM:
            admission = await self._of_room(admission, channel)
        return admission, person

    def _of_person(self, person: Person, identity: Identity) -> GateDecision:
        settings = self._settings
        if person.deactivated:
            return _no("deactivated", person.name)
        if not settings.allow_strangers and (person.stranger or identity.team not in person.teams):
            return _no("stranger", person.name)
        if person.bot:
            allowed = {person.id, person.bot_id} & set(settings.allow_bots)
            return GateDecision(admitted=True, name=person.name) if allowed else _no("bot", person.name)
        if person.guest and not settings.allow_guests:
            return _no("guest", person.name, _TO_GUESTS)
        if settings.members and person.id not in settings.members:
            return _no("not_listed", person.name, _TO_UNLISTED)
        foreign = person.stranger or identity.team not in person.teams
        return GateDecision(admitted=True, name=person.name, outsider=person.guest or foreign)

    def _of_id(self, source: str) -> GateDecision:
        if not source.startswith("B"):
            return _no("unknown")
        return GateDecision(admitted=True, name=source) if source in self._settings.allow_bots else _no("bot")

    async def _of_room(self, admission: GateDecision, channel: str) -> GateDecision:
        """Where people of other organisations read along, everybody counts as an outsider; so it does in doubt."""
        shared = await self._directory.shared(channel)
        if self._settings.allow_shared_channels:
            return replace(admission, outsider=admission.outsider or shared is not False)
        if shared is None:
            return _no("unknown_channel", admission.name)
        return _no("shared_channel", admission.name, _IN_SHARED) if shared else admission


def _no(reason: str, name: str = "", say: str = "") -> GateDecision:
    return GateDecision(admitted=False, name=name, reason=reason, say=say)


class _BotTurns:
    """Counts turns given to bots, per conversation and minute; asking twice about one perception counts once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._turns: OrderedDict[str, dict[str, float]] = OrderedDict()

    def take(self, conversation: str, perception: str) -> bool:
        """Whether this perception may have a turn."""
        now = self._clock.monotonic()
        turns = {id_: at for id_, at in self._turns.get(conversation, {}).items() if now - at < _BOT_MINUTE}
        allowed = perception in turns or len(turns) < _BOT_TURNS
        if allowed:
            turns.setdefault(perception, now)
        self._turns[conversation] = turns
        self._turns.move_to_end(conversation)
        while len(self._turns) > _CONVERSATIONS:
            self._turns.popitem(last=False)
        return allowed
