"""Where a soul hears other souls: a conversation of memory.db that no platform shows, so that nothing leaves it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from daemon.channels.bare import BareChannel, UnseenSpeech
from daemon.channels.several import SeveralChannels
from daemon.core.errors import ChannelRefused
from daemon.core.links import Trusted
from daemon.core.notes import FROM_PARAM, SOUL_CHANNEL
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import Channel, Room
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.intake import Intake
from daemon.core.ports.posts import FoundPost, Post
from daemon.core.ports.speech import DraftLog, Speech


def with_souls(channel: Channel) -> Channel:
    """A channel, and beside it the one in which souls hear each other."""
    return SeveralChannels(channel, SoulChannel())


class SoulChannel(BareChannel):
    """Implements `Channel` for notes; the reply to one goes back with the commit that stores it (see `SaidToSoul`)."""

    name = SOUL_CHANNEL

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; notes are put into the inbox with the commits that send them."""
        ready.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """See `Channel.close`; there are no requests."""

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return True

    def trouble(self) -> str:
        """See `Channel.trouble`."""
        return ""

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; only souls of this file and the admin send notes, and the person asked was admitted."""
        return GateDecision(admitted=True, name=str(perception.params.get(FROM_PARAM, "")))

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`; notes are sent from before members alone, to those who read them there."""
        return Readers(perception.audience, members_only=True)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[Callable[[str], None]]:
        """See `Channel.thinking`."""
        yield lambda _: None

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """See `Channel.speak`; nothing is shown before it is stored."""
        return UnseenSpeech()

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`; a note stays whole."""
        text = reply.strip()
        return (text,) if text else ()

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`."""
        return ""

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; people have no rooms here."""
        raise ChannelRefused("no person can be written to among souls", code="no_room", hint="use a Slack id")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; replies here are notes, so that there are no posts."""
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        return FoundPost(post.key, finished=True)
