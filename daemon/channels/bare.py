"""What a channel has that shows no messages of others, no addresses, no files, and nothing to one user alone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from daemon.core.errors import ChannelRefused, FileRefused
from daemon.core.home import HomePage
from daemon.core.links import Trusted
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import LinkedMessages, Offers, Room, ThreadMessage
from daemon.core.ports.files import SharedFile
from daemon.core.ports.intake import Intake
from daemon.core.ports.posts import AttachedReply, Post
from daemon.core.ports.speech import DraftLog, Speech, Task
from daemon.core.room_ways import ManagedRoom
from daemon.core.sentences import Sentence, Words


class BareChannel:
    """The part of the `Channel` port for which there is nothing here."""

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """See `Channel.attach`; all is text."""
        return reply, ()

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """See `Channel.whisper`; those who read here read everything."""
        return False

    def offers(self, conversation: ConversationKey) -> Offers:
        """See `Channel.offers`; there are words alone."""
        return Offers()

    def waits_for(self, command: str) -> bool:
        """See `Channel.waits_for`; there are no commands."""
        return False

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """See `Channel.answer_command`."""
        return False

    async def shared_room(self, person: str, name: str) -> Room:
        """See `Channel.shared_room`; there are no channels."""
        raise ChannelRefused("there are no channels here", code="not_there")

    async def show_in_channel(self, post: Post) -> None:
        """See `Channel.show_in_channel`; there are no channels."""
        raise ChannelRefused("there are no channels here", code="not_there")

    async def show_home(self, person: str, page: HomePage) -> None:
        """See `Channel.show_home`; there is no home."""

    async def managed_rooms(self, person: str) -> tuple[ManagedRoom, ...]:
        """See `Channel.managed_rooms`; there are no channels."""
        return ()

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """See `Channel.name_session`; no thread has a title."""

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        """See `Channel.has_member`; there are no rooms to be in."""
        return True

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        """See `Channel.permalink`; a message has no address."""
        return ""

    async def language_of(self, person: str) -> str:
        """See `Channel.language_of`; it is not known."""
        return ""

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """See `Channel.names_of`; nobody is mentioned by an id."""
        return {}

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`; all that was said is stored already."""
        return ()

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        """See `Channel.said_since`; there are no channels."""
        return ()

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        """See `Channel.linked`; no address leads to a message."""
        return ()

    async def described(self, conversation: ConversationKey, file: SharedFile) -> SharedFile:
        """See `Channel.described`; a message says all of its files."""
        return file

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        """See `Channel.fetch`; no message shows a file."""
        raise FileRefused(Sentence("file_gone"))


class FedChannel(BareChannel):
    """A bare channel whose messages others put into the inbox; an answer is shown once it is whole, in no thread."""

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`."""
        ready.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        """See `Channel.close`; there is nothing of its own to close."""

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return True

    def trouble(self) -> str:
        """See `Channel.trouble`."""
        return ""

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[Callable[[str], None]]:
        """See `Channel.thinking`."""
        yield lambda _: None

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """See `Channel.speak`."""
        return UnseenSpeech()

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`."""
        return ""


class UnseenSpeech:
    """Implements `Speech` where nothing is shown before it is whole."""

    shown = ""

    async def say(self, text: str) -> None:
        """See `Speech.say`."""

    async def show(self, task: Task) -> None:
        """See `Speech.show`."""

    async def settle(self) -> None:
        """See `Speech.settle`."""
