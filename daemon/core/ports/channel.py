"""The channel port: how users reach the soul, and how its replies reach them."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from daemon.core.errors import ChannelRefused, FileRefused
from daemon.core.lineage import author_id, message_id
from daemon.core.perception import Audience, ConversationKey, Perception, Place, Readers
from daemon.core.ports import Intake
from daemon.core.ports.library import AttachedReply, FoundPost, Post
from daemon.core.ports.services import DraftLog, GateDecision, SharedFile, Speech, UnseenSpeech
from daemon.core.room_ways import ManagedRoom
from daemon.core.sentences import Sentence, Words
from daemon.core.settings_place import HomePage
from daemon.core.text import Trusted
from daemon.core.value import Value


class ThreadMessage(Value):
    """An earlier message of a thread, from before the soul joined it. `own` marks the soul's own messages.

    `files` are those that another user sent with it.
    """

    ts: str
    author: str
    name: str
    text: str
    own: bool = False
    files: tuple[SharedFile, ...] = ()

    def ids(self, workspace: str, channel: str) -> tuple[str, ...]:
        """Return the ids by which a thought that saw the message is followed: the message's and its author's."""
        return message_id(workspace, channel, self.ts), "" if self.own else author_id(workspace, self.author)


class LinkedMessages(Value):
    """The messages at an address in a message: the linked one, with its thread, oldest first, if it begins one.

    `origin` names the room for those who may read it. `private_room` is its id if its words are for its members alone.
    `refused` says why nothing is shown, a sentence of `core/sentences.py`. Then all else is hidden, even whether there
    is such a room. `channel` is the room's id, by which a thought that saw the messages is followed.
    """

    address: str
    messages: tuple[ThreadMessage, ...] = ()
    origin: str = ""
    private_room: str = ""
    refused: str = ""
    channel: str = ""


class Room(Value):
    """A room to write to, and its audience."""

    channel: str
    place: Place
    audience: Audience


class Offers(Value):
    """The features of a channel besides words.

    `files`: it opens files that users send. `command` is the slash command. `nods`: it shows a reaction at a message.
    `unasked`: it shows users what is said later, unasked.
    """

    files: bool = False
    command: str = ""
    nods: bool = False
    unasked: bool = False


class Channel(ABC):
    """The way for users to reach the soul, and for its replies to reach them.

    The defaults fit a channel whose messages other code puts into the inbox: it shows words alone, whole replies, and
    no ephemeral messages.
    """

    name: str

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Pass on every arrival until cancelled. Set `ready` once connected. Raises ConfigError for bad tokens."""
        ready.set()
        await asyncio.Event().wait()

    def healthy(self) -> bool:
        """Return true if the channel is connected and receives events. False ends nothing."""
        return True

    async def close(self) -> None:
        """End every open request; those fail like requests whose answer is lost. A later call reconnects."""
        return

    @abstractmethod
    async def admit(self, perception: Perception) -> GateDecision:
        """Decide whether the author may talk to the soul, by platform ids and settings only. Unknown users are refused.

        Called on every path before the soul thinks or speaks. Raises NotDelivered when the platform is unreachable.
        """

    @abstractmethod
    async def readers(self, perception: Perception) -> Readers:
        """Return the readers of a reply to a perception whose stored audience is `perception.audience`.

        Never raises for the platform's failures: readers whose membership can't be proven now don't count as members.
        An answer wider than the stored audience was asked for again.
        """

    def trouble(self) -> str:
        """Return what keeps the channel from working until an admin acts, as an unfinished sentence; else empty."""
        return ""

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[Callable[[str], None]]:
        """Show that the soul works on a reply. Cleared on every exit.

        The callback changes the status behind the soul's name, such as `is weighing it…`. An empty text means that
        there will be no reply.
        """
        return nullcontext(lambda _: None)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """Begin to show a reply while it is generated. Links go to trusted hosts alone; None: to all.

        `grows`: show words before the reply is whole. None: as the settings say.
        """
        return UnseenSpeech()

    @abstractmethod
    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """Cut a reply into messages that the conversation's channel accepts, in order.

        Hostile markup is inert, and so are links to hosts that are not trusted.
        """

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """Return a reply without the parts that read better as files, and those files, if files can be sent.

        `key` is the reply's own. `words` say what replaces those parts.
        """
        return reply, ()

    def reply_to(self, perception: Perception) -> str:
        """Return the thread in which to answer a perception; empty for the timeline."""
        return ""

    async def find_room(self, contact: str) -> Room:
        """Return the room of a person or a channel, by id. Raises NotDelivered or ChannelRefused."""
        raise ChannelRefused(f"no person can be written to in {self.name}", code="no_room")

    async def shared_room(self, person: str, name: str) -> Room:
        """Return the channel, by name or id, that a full member shares with the soul.

        Raises NotDelivered, and ChannelRefused with a code. `guest`: the person is one. `not_there`: the person is in
        no such channel. `not_in_channel`: the soul isn't. `is_archived`, or a code of the platform.
        """
        raise ChannelRefused("there are no channels here", code="not_there")

    @abstractmethod
    async def deliver(self, post: Post) -> str:
        """Make a post visible and return the platform's id for it.

        Posting, or finishing a draft, is attempted once. Raises NotDelivered (surely not sent; AccessLost: an admin has
        to act), DeliveryUncertain (look it up first) or ChannelRefused (refused in any form: a channel tries smaller
        and plainer forms itself). A refused draft or revision is then posted as a new message.
        """

    @abstractmethod
    async def find(self, post: Post) -> FoundPost | None:
        """Look a post up by its key in the platform's history. None means surely absent.

        With `post.draft_lost`, an unfinished message of ours in that thread, newer than `newer_than_ts` and without a
        key, counts as its draft. Raises DeliveryUncertain when the history is unreadable, HistoryClosed when the
        platform refuses for good to show it.
        """

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """Show an ephemeral message in a conversation's room or a thread. Return false if that surely failed."""
        return False

    def offers(self, conversation: ConversationKey) -> Offers:
        """Return the features of the conversation's channel."""
        return Offers()

    def waits_for(self, command: str) -> bool:
        """Return true if a slash command, by its event, can still be answered where it was typed."""
        return False

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """Show an answer to the user alone, where the command was typed. Return false if that surely failed."""
        return False

    async def show_in_channel(self, post: Post) -> None:
        """Show a reply of a thread, the message that `post` revises, in its channel too. Raises ChannelError."""
        raise ChannelRefused("there are no channels here", code="not_there")

    async def show_home(self, person: str, page: HomePage) -> None:
        """Show a person their home page, if the channel has one. Raises ChannelError."""
        return

    async def managed_rooms(self, person: str) -> tuple[ManagedRoom, ...]:
        """Return the channels of the soul that a person may manage, by name. Raises ChannelError.

        For display only: the right is checked again for every change.
        """
        return ()

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """Give a thread of DMs a title, if the channel shows titles. Raises ChannelError."""
        return

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        """Return whether an account, by id, is in a conversation's room; true if unknown. Raises NotDelivered."""
        return True

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        """Return the address of a message. Empty if it has none, or if it can't be asked for now."""
        return ""

    async def language_of(self, person: str) -> str:
        """Return the tag of a user's language, such as `de-DE`. Empty if unknown, or if it can't be asked for now."""
        return ""

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the known names of people and of public channels, by platform id.

        Never raises, and returns within two seconds.
        """
        return {}

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """Return up to `limit` earlier messages of the perception's thread, oldest first. Empty outside threads."""
        return ()

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        """Return what people said in the perception's channel after a ts, oldest first; the newest of very many.

        Threads are included, the soul's own messages are not. Raises NotDelivered, ChannelRefused.
        """
        return ()

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        """Return the messages at the platform's addresses in a perception, in order.

        Shown is only what the author and all `readers` of the answer may read. Never raises, and returns within
        seconds.
        """
        return ()

    async def described(self, conversation: ConversationKey, file: SharedFile) -> SharedFile:
        """Return the platform's description of a file in a message of the conversation: some messages hold only its id.

        Raises FileRefused, and NotDelivered where a later try may succeed.
        """
        return file

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        """Return the bytes of a file in a message of the conversation, at most MOST_FILE_BYTES.

        Raises FileRefused, and NotDelivered where a later try may succeed.
        """
        raise FileRefused(Sentence("file_gone"))
