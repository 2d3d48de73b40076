"""The channel of inner rooms: conversations of memory.db that no platform shows, and out of which nothing goes."""

from daemon.channels.bare import FedChannel
from daemon.core.errors import ChannelRefused
from daemon.core.inner_room import INNER
from daemon.core.links import Trusted
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Readers
from daemon.core.ports.channel import Room
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.posts import FoundPost, Post


class InnerChannel(FedChannel):
    """Implements `Channel` for what a soul thinks with nobody there; its thoughts are for the whole workspace."""

    name = INNER

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; there is no person to ask about, and only the daemon puts anything there."""
        return GateDecision(admitted=True)

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`; what is thought there may be known to the members of the workspace, no more."""
        everybody = Audience(AudienceKind.WORKSPACE, perception.conversation.workspace)
        return Readers(everybody, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`; nothing is said there."""
        return ()

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; people have no rooms there."""
        raise ChannelRefused("no person can be written to in an inner room", code="no_room", hint="use a Slack id")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; a post that should ever name this room is refused for good."""
        raise ChannelRefused("nothing leaves an inner room", code="inner_room", hint="nothing to do")

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; surely nothing was posted."""
        return None
