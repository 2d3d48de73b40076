"""The channels that no platform shows: where souls hear each other, and where each is alone; nothing leaves them."""

from daemon.core.channels import Channels
from daemon.core.errors import ChannelRefused
from daemon.core.lineage import INNER
from daemon.core.notes import FROM_PARAM, SOUL_CHANNEL
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Readers
from daemon.core.ports.channel import Channel
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import GateDecision
from daemon.core.sessions import DOOR
from daemon.core.text import Trusted


def channels_of(main: Channel, http: Channel | None = None) -> Channels:
    """All channels of a daemon whose people are reached by the `main` one, and its programs over `http`."""
    over_http = {http.name: http, DOOR: http} if http is not None else {}
    return Channels(main, {SOUL_CHANNEL: SoulChannel(), INNER: InnerChannel(), **over_http})


class SoulChannel(Channel):
    """For notes, which are put into the inbox with the commits that send them.

    The reply to one goes back with the commit that stores it (see `SaidToSoul`).
    """

    name = SOUL_CHANNEL

    async def admit(self, perception: Perception) -> GateDecision:
        """Only souls of this file and the admin send notes, and the person asked was admitted."""
        return GateDecision(admitted=True, name=str(perception.params.get(FROM_PARAM, "")))

    async def readers(self, perception: Perception) -> Readers:
        """Notes are sent from before members alone, to those who read them there."""
        return Readers(perception.audience, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """A note stays whole."""
        text = reply.strip()
        return (text,) if text else ()

    async def deliver(self, post: Post) -> str:
        """Replies here are notes, so that there are no posts."""
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        return FoundPost(post.key, finished=True)


class InnerChannel(Channel):
    """For what a soul thinks with no person there; its thoughts are for the whole workspace."""

    name = INNER

    async def admit(self, perception: Perception) -> GateDecision:
        """There is no person to ask about, and only the daemon puts anything there."""
        return GateDecision(admitted=True)

    async def readers(self, perception: Perception) -> Readers:
        """What is thought there may be known to the members of the workspace, no more."""
        everybody = Audience(AudienceKind.WORKSPACE, perception.conversation.workspace)
        return Readers(everybody, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """Nothing is said there."""
        return ()

    async def deliver(self, post: Post) -> str:
        """A post that should ever name this room is refused for good."""
        raise ChannelRefused("nothing leaves an inner room", code="inner_room", hint="nothing to do")

    async def find(self, post: Post) -> FoundPost | None:
        """Surely nothing was posted."""
        return None
