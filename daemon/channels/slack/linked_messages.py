"""Reads the messages whose addresses stand in a message, where its author and everybody who reads the answer may.

Of an address of Slack's that leads to something else, a canvas or a huddle, it says what that is, which it can't read.

Whose room it is, is asked before a word of it is read. Of what may not be read it tells no more than
of what isn't there.
"""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from yarl import URL

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.history import in_order, read_page
from daemon.channels.slack.people import Directory
from daemon.channels.slack.readers import RoomReaders
from daemon.channels.slack.text import label
from daemon.core.concurrency import time_limit
from daemon.core.errors import ChannelError, ChannelRefused, StoreError
from daemon.core.perception import Perception, Place, Readers
from daemon.core.ports.channel import LinkedMessages, ThreadMessage
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import Sentence

MOST_LINKS: Final = 4
"""Addresses in one message that are followed."""

_NAMED: Final = 12  # addresses of one message that are told of at all
_REPLIES: Final = 30  # messages of a thread that are read of one whose beginning is linked
_LONGEST: Final = 4_000  # characters of one message
_PATIENCE_S: Final = 4.0  # for one address; the reply waits
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


@dataclass(frozen=True, slots=True)
class MessageAddress:
    """An address of a message (Slack: chat.getPermalink); `thread` is the ts of its thread's first one, if given."""

    text: str
    host: str
    channel: str
    ts: str
    thread: str = ""


def addresses_in(text: str) -> tuple[MessageAddress, ...]:
    """The addresses of messages in a text, each message once: in the author's own words, then in what is quoted."""
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


class LinkReader:
    """Follows addresses of messages in our own workspace."""

    def __init__(
        self, client: SlackClient, directory: Directory, readers: RoomReaders, clock: Clock, emit: Emit
    ) -> None:
        self._client = client
        self._directory = directory
        self._readers = readers
        self._clock = clock
        self._emit = emit

    async def linked(self, perception: Perception, readers: Readers, own: EventReader) -> tuple[LinkedMessages, ...]:
        """See `Channel.linked`."""
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
        """What stands at an address. Never raises."""
        try:
            async with time_limit(self._clock, _PATIENCE_S):
                return await self._read(address, perception, readers, own)
        except ChannelRefused as error:
            why = _REFUSALS.get(error.code, _HIDDEN)
        except (ChannelError, StoreError, TimeoutError) as error:
            self._emit("slack.link_unread", channel=address.channel, reason=str(error))
            why = _LATE
        return LinkedMessages(address.text, refused=why)

    async def _read(
        self, address: MessageAddress, perception: Perception, readers: Readers, own: EventReader
    ) -> LinkedMessages:
        """What stands at an address. Raises ChannelError, StoreError."""
        room = await self._directory.room(address.channel)
        if room is None or not await self._readers.may_quote(room, perception, readers):
            return LinkedMessages(address.text, refused=_HIDDEN)
        where, here = perception.conversation, room.id == perception.conversation.channel
        alone = bool(address.thread) or (here and where.thread == address.ts)  # this thread is in the prompt already
        messages = [one async for one in self._messages(address, own, alone=alone)]
        if not messages:
            return LinkedMessages(address.text, refused=_GONE)
        private = room.id if room.place is not Place.PUBLIC_CHANNEL and not here else ""
        origin = f"#{label(room.name)}" if room.name and room.place is not Place.GROUP_DM else "this conversation"
        return LinkedMessages(address.text, tuple(messages), origin, private, channel=room.id)

    async def _messages(
        self, address: MessageAddress, own: EventReader, *, alone: bool
    ) -> AsyncIterator[ThreadMessage]:
        """The message, and those below it unless it is wanted `alone`; none if it was deleted. Raises ChannelError."""
        only = address.ts if alone else None
        page = await read_page(
            self._client,
            "conversations.replies",
            "messages",
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
        user = await self._directory.user(author) if author.startswith(_PERSON) else None
        profile = message.get("bot_profile")
        named = profile.get("name") if isinstance(profile, dict) else ""
        return (user.name if user else "") or label(str(message.get("username") or named or "")) or author


def _is_slack(host: str, own: EventReader) -> bool:
    """Whether a host is one of Slack's at all; any other site may have a path like that."""
    return _is_ours(host, own) or host.lower().endswith(_SLACK)


def _is_ours(host: str, own: EventReader) -> bool:
    """Whether a host is our own workspace's."""
    try:
        return host.lower() == URL(own.identity.url).authority.lower()
    except ValueError:
        return False
