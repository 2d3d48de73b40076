"""Links to Slack messages: permalinks, the messages behind links in a text, and the thread before a message."""

import math
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from yarl import URL

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader, files_in
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import as_seconds, in_order, read_messages, read_page
from daemon.channels.slack.message_text import label
from daemon.channels.slack.people import Directory
from daemon.channels.slack.readers import RoomReaders
from daemon.channels.slack.refusals import SlackIdentity, TimedCache
from daemon.channels.slack.rooms import KnownPlaces
from daemon.core.concurrency import time_limit
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, StoreError
from daemon.core.lru import Lru
from daemon.core.perception import ConversationKey, Modality, Perception, Place, Readers
from daemon.core.ports.arrivals import Arrival, Deletion, Edit
from daemon.core.ports.channel import LinkedMessages, ThreadMessage
from daemon.core.ports.services import Clock
from daemon.core.sentences import Sentence
from daemon.core.value import Value

_MESSAGE: Final = re.compile(r"(?P<channel>[A-Z][A-Z0-9]{1,23})/(?P<ts>[0-9]{1,12}\.[0-9]{6})")


class Permalinks:
    """The permalinks of messages (Slack: chat.getPermalink, which allows hundreds of requests a minute)."""

    def __init__(self, client: SlackClient, clock: Clock) -> None:
        self._client = client
        self._known = TimedCache(self._fetch, clock)

    async def of(self, channel: str, ts: str) -> str:
        """Return the permalink of a message, or an empty string if Slack knows none or can't be reached."""
        if _MESSAGE.fullmatch(f"{channel}/{ts}") is None:
            return ""
        try:
            return await self._known.get(f"{channel}/{ts}")
        except ChannelError:
            return ""

    async def _fetch(self, message: str) -> str:
        channel, _, ts = message.partition("/")
        answer = await self._client.call("chat.getPermalink", channel=channel, message_ts=ts)
        return str(answer.get("permalink") or "")


MOST_LINKS: Final = 4
"""The most URLs in one message that are followed."""

_NAMED: Final = 12  # URLs of one message that are mentioned at all
_REPLIES: Final = 30  # messages read of a thread whose root is linked
_LONGEST: Final = 4_000  # characters of one message
_PATIENCE_S: Final = 4.0  # seconds for one URL; the reply waits
_ADDRESS: Final = re.compile(
    r"https?://(?P<host>[A-Za-z0-9.:-]{1,120})/archives/(?P<channel>[CDG][A-Z0-9]{2,23})"
    r"/p(?P<seconds>[0-9]{10})(?P<micros>[0-9]{6})(?:\?(?P<query>[A-Za-z0-9_=&.%-]{0,200}))?(?![A-Za-z0-9/])"
)
_ELSE: Final = re.compile(
    r"https?://(?P<host>[A-Za-z0-9.:-]{1,120})/(?P<kind>docs|canvas|lists|files|huddle)/[A-Za-z0-9/_.-]{3,200}"
)
_KINDS: Final[Mapping[str, Sentence]] = {
    "docs": Sentence("link_canvas"),
    "canvas": Sentence("link_canvas"),
    "lists": Sentence("link_list"),
    "files": Sentence("link_file"),
    "huddle": Sentence("link_huddle"),
}
_THREAD: Final = re.compile(r"(?:^|&)thread_ts=(?P<ts>[0-9]{10}\.[0-9]{6})(?:&|$)")
_QUOTED: Final = "> "
_SLACK: Final = ".slack.com"
_TOMBSTONE: Final = "tombstone"
_PERSON: Final = ("U", "W")
_NOTHING: Final = "[it holds nothing that can be read as text]"
_HIDDEN, _GONE, _LATE = Sentence("link_hidden"), Sentence("link_gone"), Sentence("link_late")
_REFUSALS: Final[Mapping[str, Sentence]] = {
    "not_in_channel": Sentence("link_not_in"),
    "thread_not_found": _GONE,
    "message_not_found": _GONE,
}


class MessageAddress(Value):
    """The permalink of a message (Slack: chat.getPermalink). `thread` is the ts of the thread's root, if given."""

    text: str
    host: str
    channel: str
    ts: str
    thread: str = ""


def addresses_in(text: str) -> tuple[MessageAddress, ...]:
    """Return the permalinks in a text, each message once: first from the author's own words, then from quotes."""
    lines = text.splitlines()
    own = "\n".join(line for line in lines if not line.startswith(_QUOTED))
    quoted = "\n".join(line for line in lines if line.startswith(_QUOTED))
    found = [_address(one) for part in (own, quoted) for one in _ADDRESS.finditer(part)]
    return tuple({(one.channel, one.ts): one for one in reversed(found)}.values())[::-1]


def _address(found: re.Match[str]) -> MessageAddress:
    ts = f"{found['seconds']}.{found['micros']}"
    thread = _THREAD.search(found["query"] or "")
    root = thread["ts"] if thread else ""
    return MessageAddress(found[0].rstrip(".&"), found["host"], found["channel"], ts, "" if root == ts else root)


class LinkReader(Value):
    """The reader of linked messages of our own workspace."""

    client: SlackClient
    directory: Directory
    readers: RoomReaders

    async def linked(self, perception: Perception, readers: Readers, own: EventReader) -> tuple[LinkedMessages, ...]:
        found = list[LinkedMessages]()
        addresses = [one for one in addresses_in(perception.content) if _is_slack(one.host, own)]
        for number, address in enumerate(addresses[:_NAMED]):
            if not _is_ours(address.host, own):
                found.append(LinkedMessages(address.text, refused=Sentence("link_elsewhere")))
            elif number >= MOST_LINKS:
                found.append(LinkedMessages(address.text, refused=Sentence("link_one_too_many", most=MOST_LINKS)))
            else:
                found.append(await self._follow(address, perception, readers, own))
        others = {one[0]: one for one in _ELSE.finditer(perception.content) if _is_slack(one["host"], own)}
        found += [LinkedMessages(text, refused=_KINDS[one["kind"]]) for text, one in others.items()]
        return tuple(found[:_NAMED])

    async def _follow(
        self, address: MessageAddress, perception: Perception, readers: Readers, own: EventReader
    ) -> LinkedMessages:
        """Return the messages behind a link, or a refusal. Never raises."""
        try:
            async with time_limit(self.client.clock, _PATIENCE_S):
                return await self._read(address, perception, readers, own)
        except ChannelRefused as error:
            why = _REFUSALS.get(error.code, _HIDDEN)
        except (ChannelError, StoreError, TimeoutError) as error:
            self.client.emit("slack.link_unread", channel=address.channel, reason=str(error))
            why = _LATE
        return LinkedMessages(address.text, refused=why)

    async def _read(
        self, address: MessageAddress, perception: Perception, readers: Readers, own: EventReader
    ) -> LinkedMessages:
        """Return the messages behind a link, or a refusal. Raises ChannelError, StoreError."""
        room = await self.directory.room(address.channel)
        if room is None or not await self.readers.may_quote(room, perception, readers):
            return LinkedMessages(address.text, refused=_HIDDEN)
        where, here = perception.conversation, room.id == perception.conversation.channel
        alone = bool(address.thread) or (here and where.thread == address.ts)  # the prompt holds this thread already
        messages = [one async for one in self._messages(address, own, alone=alone)]
        if not messages:
            return LinkedMessages(address.text, refused=_GONE)
        private = room.id if room.place is not Place.PUBLIC_CHANNEL and not here else ""
        origin = f"#{label(room.name)}" if room.name and room.place is not Place.GROUP_DM else "this conversation"
        return LinkedMessages(address.text, tuple(messages), origin, private, channel=room.id)

    async def _messages(
        self, address: MessageAddress, own: EventReader, *, alone: bool
    ) -> AsyncIterator[ThreadMessage]:
        """Yield the message and, unless `alone`, those below it. Yields none if it was deleted. Raises ChannelError."""
        only = address.ts if alone else None
        page = await read_page(
            self.client,
            "conversations.replies",
            "messages",
            dict,
            channel=address.channel,
            ts=address.thread or address.ts,
            oldest=only,
            latest=only,
            inclusive=alone or None,
        )
        listed = in_order(page.items)[:_REPLIES]
        there = [one for one in listed if not alone or one.get("ts") == address.ts]
        if not any(one.get("ts") == address.ts and one.get("subtype") != _TOMBSTONE for one in there):
            return
        for one in there:
            if one.get("subtype") != _TOMBSTONE:
                yield await self._message(one, own)

    async def _message(self, message: Mapping[str, Any], own: EventReader) -> ThreadMessage:
        author = str(message.get("user") or message.get("bot_id") or "")
        text = own.shown_by(message)[:_LONGEST] or _NOTHING
        return ThreadMessage(
            str(message.get("ts")), author, await self._name(message, author), text, own=own.is_own(message)
        )

    async def _name(self, message: Mapping[str, Any], author: str) -> str:
        user = await self.directory.user(author) if author.startswith(_PERSON) else None
        profile = message.get("bot_profile")
        named = profile.get("name") if isinstance(profile, dict) else ""
        return (user.name if user else "") or label(str(message.get("username") or named or "")) or author


def _is_slack(host: str, own: EventReader) -> bool:
    return _is_ours(host, own) or host.lower().endswith(_SLACK)


def _is_ours(host: str, own: EventReader) -> bool:
    try:
        return host.lower() == URL(own.identity.url).authority.lower()
    except ValueError:
        return False


def own_reader(  # noqa: PLR0917  # the parts of a reader
    settings: Settings,
    identity: SlackIdentity,
    clock: Clock,
    own_groups: Collection[str],
    soul_for_channel: Callable[[str], str] | None,
    shown_name: Callable[[str], str],
) -> EventReader:
    """Return a reader with these settings. `own_groups` is a live collection of the user groups that hold the soul."""
    return EventReader(
        settings.name,
        identity,
        bots=frozenset(settings.allow_bots),
        members=frozenset(settings.members),
        places=KnownPlaces(clock),
        own_groups=own_groups,
        approvers=settings.approvers,
        colleagues=bool(identity.enterprise) and settings.allow_organisation,
        soul_for_channel=soul_for_channel,
        other_souls=settings.souls,
        shown_name=shown_name,
    )


T = TypeVar("T")

_PAGES: Final = 5
_KEPT: Final = 100  # threads
_MESSAGES: Final = 100  # messages of one thread; the gate may refuse some of them
_NEEDED_OF_PEOPLE: Final = ("ts", "user", "text", "subtype", "attachments", "files")
_NOT_SHOWN: Final = "[an app posted something here that you may not read]"
_NEEDED: Final = (*_NEEDED_OF_PEOPLE, "bot_id", "blocks")

_Earlier = tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class ThreadReader:
    """The reader of threads. Messages of refused authors are left out, and outsiders among the authors are recorded."""

    client: SlackClient
    gate: SlackGate
    readers: RoomReaders
    _changes: int = 0
    _kept: Lru[tuple[str, str], tuple[float, _Earlier]] = field(default_factory=lambda: Lru(_KEPT))

    async def before(self, perception: Perception, reader: EventReader, limit: int) -> tuple[ThreadMessage, ...]:
        """Return the thread's root and the newest messages before the perception, oldest first, at most `limit`.

        Empty if the thread can't be read. A perception that is no message of the thread comes after all of them.
        """
        conversation = perception.conversation
        until = perception.ts if perception.modality is Modality.WORDS else None
        if not conversation.thread or conversation.thread == perception.ts or limit <= 0:
            return ()
        try:
            earlier = await self._earlier(conversation, until)
            admitted = [read for message in earlier if (read := await self._admitted(perception, reader, message))]
        except ChannelError as error:
            self.client.emit("slack.not_overheard", channel=conversation.channel, reason=error.message)
            return ()
        hidden = [one for one in admitted if one.text == _NOT_SHOWN][1:]  # shown once
        return tuple(_first_and_newest([one for one in admitted if one not in hidden], limit))

    def note(self, arrival: Arrival) -> None:
        """Drop the cached thread if one of its messages was edited or deleted."""
        if isinstance(arrival, Edit | Deletion):
            self._changes += 1
            for (channel, thread), (_, earlier) in list(self._kept.items()):
                if channel == arrival.channel and arrival.ts in {thread, *(str(one.get("ts")) for one in earlier)}:
                    del self._kept[channel, thread]

    def forget(self) -> None:
        """Drop all cached threads: an edit or a deletion may have been missed."""
        self._changes += 1
        self._kept.clear()

    async def _earlier(self, conversation: ConversationKey, until: str | None) -> _Earlier:
        """Return the messages before a ts, oldest first, or all of them if it is None. Raises ChannelError."""
        key, end = (conversation.channel, conversation.thread), as_seconds(until) if until else math.inf
        if (kept := self._kept.get(key)) is not None and kept[0] == end:
            self._kept[key] = kept  # mark as most recently used
            return kept[1]
        changes = self._changes
        thread, _ = await read_messages(self.client, *key, most=_PAGES, latest=until)
        found = [_needed(one) for one in thread if 0 < as_seconds(one.get("ts")) < end]
        earlier = tuple(_first_and_newest(found, _MESSAGES))
        if until and changes == self._changes:  # else the thread may still change
            self._kept[key] = (end, earlier)
        return earlier

    async def _admitted(
        self, perception: Perception, reader: EventReader, message: Mapping[str, Any]
    ) -> ThreadMessage | None:
        """Return a message that the soul may read, with the names of its files.

        None if the message is empty or the gate refuses its author. A refused app's message becomes a placeholder.
        """
        author = str(message.get("user") or message.get("bot_id") or "")
        text = reader.shown_by(message)[:_LONGEST]
        if not author or not text:
            return None
        if reader.is_own(message):
            return ThreadMessage(str(message["ts"]), author, "", text, own=True)
        where = perception.conversation
        decision = await self.gate.check_author(author, where.channel, perception.place)
        if decision.outsider:
            self.readers.outsider_spoke(where.channel, where.thread)
        if decision.admitted:
            return ThreadMessage(str(message["ts"]), author, decision.name or author, text, files=files_in(message))
        return ThreadMessage(str(message["ts"]), author, author, _NOT_SHOWN) if message.get("bot_id") else None


def _needed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return only the needed fields: the blocks of a user's message repeat its text."""
    needed = _NEEDED if message.get("bot_id") else _NEEDED_OF_PEOPLE
    return {name: message[name] for name in needed if name in message}


def _first_and_newest(messages: Sequence[T], limit: int) -> Sequence[T]:
    return (*messages[:1], *messages[max(1, len(messages) - limit + 1) :])
