"""Whether a person can be asked in direct messages about what they wrote in a room, which they still have to see."""

from collections.abc import Sequence

from daemon.core.errors import ChannelError, NotDelivered
from daemon.core.perception import Place
from daemon.core.ports.channel import Channel, Room
from daemon.memory.records import Claim, InboxMessage


async def to_be_asked(channel: Channel, claim: Claim, unanswered: Sequence[InboxMessage]) -> tuple[InboxMessage, ...]:
    """Those of the messages whose authors can be asked in direct messages and still see the room.

    None where a reply is shown as begun: the line that the conversation gets takes its place. Raises NotDelivered.
    """
    if claim.draft is not None:
        return ()
    people = {one.perception.author for one in unanswered}
    place = {one.perception.author: one.perception.place for one in unanswered}
    where = claim.conversation.channel
    asked = {person for person in people if await _can_be_asked(channel, person, where, place[person])}
    return tuple(one for one in unanswered if one.perception.author in asked)


async def _can_be_asked(channel: Channel, person: str, where: str, place: Place) -> bool:
    try:
        own = await channel.find_room(person)
        return await sees_room(channel, person, own, where, place)
    except NotDelivered:
        raise
    except ChannelError:
        return False


async def sees_room(channel: Channel, person: str, own: Room, where: str, place: Place) -> bool:
    """Whether a person may see a room; `own` are their direct messages. Raises NotDelivered."""
    if place is Place.DM:
        return own.channel == where
    try:
        return (await channel.shared_room(person, where)).channel == where
    except NotDelivered:
        raise
    except ChannelError:
        return False
