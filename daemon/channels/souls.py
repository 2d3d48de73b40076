"""The channels without a platform: the notes between souls, and the inner channel of each. No post leaves them."""

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
    """Return all channels of a daemon: `main` for users, `http` for programs."""
    over_http = {http.name: http, DOOR: http} if http is not None else {}
    return Channels(main, {SOUL_CHANNEL: SoulChannel(), INNER: InnerChannel(), **over_http})


class SoulChannel(Channel):
    """The channel for notes, which are put into the inbox with the commits that send them.

    The reply to a note goes back with the commit that stores it (see `SaidToSoul`).
    """

    name = SOUL_CHANNEL

    async def admit(self, perception: Perception) -> GateDecision:
        """Admit the note: only souls of this file and the admin send notes, and the person asked was admitted."""
        return GateDecision(admitted=True, name=str(perception.params.get(FROM_PARAM, "")))

    async def readers(self, perception: Perception) -> Readers:
        """Return the readers of the note: notes come from conversations of members alone."""
        return Readers(perception.audience, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        text = reply.strip()
        return (text,) if text else ()

    async def deliver(self, post: Post) -> str:
        """Return the key. Replies here are notes, and there are no posts."""
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        return FoundPost(post.key, finished=True)


class InnerChannel(Channel):
    """The channel for a soul's thoughts without a user. Its thoughts are for the whole workspace."""

    name = INNER

    async def admit(self, perception: Perception) -> GateDecision:
        """Admit the thought, which only the daemon can put there."""
        return GateDecision(admitted=True)

    async def readers(self, perception: Perception) -> Readers:
        """Return all members of the workspace, who may know a soul's thoughts here."""
        everybody = Audience(AudienceKind.WORKSPACE, perception.conversation.workspace)
        return Readers(everybody, members_only=True)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        return ()

    async def deliver(self, post: Post) -> str:
        """Refuse the post for good."""
        raise ChannelRefused("nothing leaves an inner room", code="inner_room", hint="nothing to do")

    async def find(self, post: Post) -> FoundPost | None:
        return None
