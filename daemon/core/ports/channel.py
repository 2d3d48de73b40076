"""A channel: how users reach the soul, and how its replies reach them."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """An earlier message of a thread, from before the soul joined it; `own` marks the soul's own messages.

    `files` are those that another user sent with it.
    """

    ts: str
    author: str
    name: str
    text: str
    own: bool = False
    files: tuple[SharedFile, ...] = ()

    def ids(self, workspace: str, channel: str) -> tuple[str, ...]:
        """The ids by which a thought that saw it is followed: the message's, and that of who wrote it."""
        return message_id(workspace, channel, self.ts), "" if self.own else author_id(workspace, self.author)


@dataclass(frozen=True, slots=True)
class LinkedMessages:
    """What stands at an address that a message holds: the message there, oldest first with its thread if it begins one.

    `origin` names its room for those who may read it. `private_room` is the id of that room where its words are for its
    members alone, empty otherwise. `refused` says why nothing is shown, a sentence of `core/sentences.py`; then nothing
    else is told, not even whether there is such a room. `channel` is the room's id: a thought that saw the messages is
    followed by it.
    """

    address: str
    messages: tuple[ThreadMessage, ...] = ()
    origin: str = ""
    private_room: str = ""
    refused: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """A place to write to, and its audience."""

    channel: str
    place: Place
    audience: Audience


@dataclass(frozen=True, slots=True)
class Offers:
    """What a channel has for people beside words.

    Whether it opens `files` that they send, the slash `command`, whether it `nods`: shows a reaction at a message,
    and whether it shows them what is said `unasked`, later.
    """

    files: bool = False
    command: str = ""
    nods: bool = False
    unasked: bool = False


class Channel(ABC):
    """One way for users to reach the soul, and for its replies to reach them.

    The defaults are those of a channel whose messages others put into the inbox: it shows words alone, an answer once
    it is whole, and nothing to one user alone.
    """

    name: str

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Pass on every arrival until cancelled; set `ready` once connected. Raises ConfigError for bad tokens."""
        ready.set()
        await asyncio.Event().wait()

    def healthy(self) -> bool:
        """Whether it is connected and receives events; shown in the status and counted, never a reason to end."""
        return True

    async def close(self) -> None:
        """End every open request; those fail as requests fail whose answer is lost. A later call opens anew."""
        return

    @abstractmethod
    async def admit(self, perception: Perception) -> GateDecision:
        """Whether the author may talk to the soul, by platform ids and settings only; an unknown user is refused.

        Asked on every path before the soul thinks or speaks. Raises NotDelivered when the platform is unreachable.
        """

    @abstractmethod
    async def readers(self, perception: Perception) -> Readers:
        """Who reads a reply to a perception whose stored audience is `perception.audience`.

        Never raises for the platform's failures: what can't be proven now counts as readers who aren't all members.
        An answer wider than the stored audience was asked for anew.
        """

    def trouble(self) -> str:
        """What keeps it from working until an admin mends it, as a sentence without its end; empty for nothing."""
        return ""

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[Callable[[str], None]]:
        """Show that the soul is working on a reply; cleared on every exit.

        The callback changes what is shown: words to stand behind the soul's name, such as `is weighing it…`; none
        say that no answer is going to stand.
        """
        return nullcontext(lambda _: None)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """Begin to show a reply to a perception as it is generated; it links to trusted hosts alone, None: to all.

        `grows`: whether its words are shown before it is whole, None: as the settings say.
        """
        return UnseenSpeech()

    @abstractmethod
    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """Cut a reply into messages that the conversation's channel takes whole, in order.

        Hostile markup is inert, and so are links to hosts that are not trusted.
        """

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """A reply without those parts that read better as files, and those files; all of it where none can be sent.

        `key` is the reply's own, `words` say what stands in their place.
        """
        return reply, ()

    def reply_to(self, perception: Perception) -> str:
        """The thread to answer a perception in; empty for the timeline."""
        return ""

    async def find_room(self, contact: str) -> Room:
        """Where a person or a channel, by its id, can be written to. Raises NotDelivered or ChannelRefused."""
        raise ChannelRefused(f"no person can be written to in {self.name}", code="no_room")

    async def shared_room(self, person: str, name: str) -> Room:
        """The channel of a name or an id that a full member is in together with the soul.

        Raises NotDelivered, and ChannelRefused: by its code the person is a `guest`, there is none of that name that
        they are in (`not_there`), the soul is not in it (`not_in_channel`), it `is_archived`, or what a platform says.
        """
        raise ChannelRefused("there are no channels here", code="not_there")

    @abstractmethod
    async def deliver(self, post: Post) -> str:
        """Make a post visible and return the platform's id for it.

        Posting, or finishing a draft, is attempted once. Raises NotDelivered (surely not sent; AccessLost where an
        admin has to act first), DeliveryUncertain (look it up first) or ChannelRefused (will never be accepted in any
        form: a channel tries smaller and plainer forms itself). A refused draft or revision is then posted anew.
        """

    @abstractmethod
    async def find(self, post: Post) -> FoundPost | None:
        """Look a post up by its key in the platform's history; None means surely absent.

        With `post.draft_lost`, an unfinished message of ours in that thread, newer than `newer_than_ts` and without a
        key, counts as its draft. Raises DeliveryUncertain when the history is unreadable, HistoryClosed when the
        platform refuses for good to show it.
        """

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """Show a text to one user alone, in a conversation's room or a thread of it; False if that surely failed."""
        return False

    def offers(self, conversation: ConversationKey) -> Offers:
        """What the conversation's channel has for people beside words."""
        return Offers()

    def waits_for(self, command: str) -> bool:
        """Whether a slash command, by its event, still can be answered where it was typed."""
        return False

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """Show an answer where the command was typed, to its user alone; False if that surely failed."""
        return False

    async def show_in_channel(self, post: Post) -> None:
        """Show a reply in a thread, the message that `post` revises, in its channel too. Raises ChannelError."""
        raise ChannelRefused("there are no channels here", code="not_there")

    async def show_home(self, person: str, page: HomePage) -> None:
        """Show a person their home page; nothing where the channel has none. Raises ChannelError."""
        return

    async def managed_rooms(self, person: str) -> tuple[ManagedRoom, ...]:
        """The channels in which the soul is and that a person may manage, by name. Raises ChannelError.

        They are for showing: whoever sets something is asked about anew.
        """
        return ()

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """Give a thread of direct messages a title; nothing where the channel shows none. Raises ChannelError."""
        return

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        """Whether an account, by its id, is in a conversation's room; true if it can't be told. Raises NotDelivered."""
        return True

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        """The address of a message of a conversation; empty where it has none, or it can't be asked for now."""
        return ""

    async def language_of(self, person: str) -> str:
        """The tag of a user's language, such as `de-DE`; empty if it isn't known or can't be asked for now."""
        return ""

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """The names of people and of channels that everybody may know of, by platform id, as far as they are known.

        Never raises, and answers within two seconds.
        """
        return {}

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """Up to `limit` messages of the perception's thread from before it, oldest first; empty outside threads."""
        return ()

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        """What people said in the perception's channel and its threads after a ts, oldest first, of much the newest.

        What the soul said is left out. Raises NotDelivered, ChannelRefused.
        """
        return ()

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        """What stands at the platform's addresses of messages in a perception, in order; none where it holds none.

        Shown is what its author may read and everybody who reads the answer, its `readers`, too. Never raises, and
        answers within some seconds.
        """
        return ()

    async def described(self, conversation: ConversationKey, file: SharedFile) -> SharedFile:
        """A file that a message of the conversation shows, as the platform describes it: some name its id alone.

        Raises FileRefused, and NotDelivered where it may be had later.
        """
        return file

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        """The bytes of a file that a message of the conversation shows, at most MOST_FILE_BYTES.

        Raises FileRefused, and NotDelivered where it may be had later.
        """
        raise FileRefused(Sentence("file_gone"))
