"""Where a soul hears other souls: a conversation of memory.db that no platform shows, so that nothing leaves it."""

from daemon.channels.bare import FedChannel
from daemon.channels.inner import InnerChannel
from daemon.channels.several import SeveralChannels
from daemon.core.errors import ChannelRefused
from daemon.core.links import Trusted
from daemon.core.notes import FROM_PARAM, SOUL_CHANNEL
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import Channel, Room
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.posts import FoundPost, Post


def with_souls(channel: Channel) -> Channel:
    """A channel, and beside it those that no platform shows: where souls hear each other, and where each is alone."""
    return SeveralChannels(channel, SoulChannel(), InnerChannel())


class SoulChannel(FedChannel):
    """Implements `Channel` for notes, which are put into the inbox with the commits that send them.

    The reply to one goes back with the commit that stores it (see `SaidToSoul`).
    """

    name = SOUL_CHANNEL

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; only souls of this file and the admin send notes, and the person asked was admitted."""
        return GateDecision(admitted=True, name=str(perception.params.get(FROM_PARAM, "")))

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`; notes are sent from before members alone, to those who read them there."""
        return Readers(perception.audience, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`; a note stays whole."""
        text = reply.strip()
        return (text,) if text else ()

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; people have no rooms here."""
        raise ChannelRefused("no person can be written to among souls", code="no_room", hint="use a Slack id")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; replies here are notes, so that there are no posts."""
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        return FoundPost(post.key, finished=True)
