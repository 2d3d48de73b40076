"""Who may say how the soul works in a channel: who made it, admins of the workspace, and the soul's own admins."""

from collections.abc import Collection
from dataclasses import dataclass

from daemon.channels.slack.access.gate import SlackGate
from daemon.channels.slack.access.people import Directory
from daemon.channels.slack.access.readers import RoomReaders
from daemon.channels.slack.api.identity import SlackIdentity
from daemon.core.perception import Place


@dataclass(frozen=True, slots=True)
class Managers:
    """Asks Slack's records; `admins` are the ids of the soul's own."""

    directory: Directory
    gate: SlackGate
    readers: RoomReaders
    admins: Collection[str]

    async def may_manage(self, identity: SlackIdentity, person: str, channel: str) -> bool:
        """Whether they may now: as a full member of the workspace who is in the channel, where the soul is too.

        What was known of both is asked for anew. Raises NotDelivered.
        """
        self.directory.forget_user(person)
        user, room = await self.directory.user(person), await self.directory.room(channel, anew=True)
        if user is None or user.bot or user.deactivated or user.is_outsider(identity.team):
            return False
        if room is None or room.archived or room.place not in (Place.PUBLIC_CHANNEL, Place.PRIVATE_CHANNEL):
            return False
        if not (user.admin or person in self.admins or room.creator == person):
            return False
        if not (await self.gate.check_author(person, channel, room.place)).admitted:
            return False
        has_member = self.readers.has_member
        return await has_member(channel, person) and await has_member(channel, identity.user)
