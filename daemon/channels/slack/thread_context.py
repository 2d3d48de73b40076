"""Reads what users wrote in a thread before the soul joined it; the gate decides on each author (P42).

A thread is read from Slack once and kept, since those messages don't change: an edit or a deletion drops it, and so
does a gap in which such an event may have been lost.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader, files_in
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import as_seconds, read_messages
from daemon.channels.slack.readers import RoomReaders
from daemon.core.errors import ChannelError
from daemon.core.lru import Lru
from daemon.core.perception import ConversationKey, Modality, Perception
from daemon.core.ports.arrivals import Arrival, Deletion, Edit
from daemon.core.ports.channel import ThreadMessage
from daemon.core.ports.telemetry import Emit

T = TypeVar("T")

_PAGES: Final = 5
_LONGEST: Final = 4_000  # characters of one earlier message
_KEPT: Final = 100  # threads
_MESSAGES: Final = 100  # of one thread; the gate may refuse some of them
_NEEDED_OF_PEOPLE: Final = ("ts", "user", "text", "subtype", "attachments", "files")
_NOT_SHOWN: Final = "[an app posted something here that you may not read]"
_NEEDED: Final = (*_NEEDED_OF_PEOPLE, "bot_id", "blocks")

_Earlier = tuple[Mapping[str, Any], ...]


class ThreadReader:
    """Reads threads; messages whose authors the gate refuses are left out, and outsiders among the authors noted."""

    def __init__(self, client: SlackClient, gate: SlackGate, readers: RoomReaders, emit: Emit) -> None:
        self._client = client
        self._gate = gate
        self._readers = readers
        self._emit = emit
        self._changes = 0
        self._kept = Lru[tuple[str, str], tuple[float, _Earlier]](_KEPT)

    async def before(self, perception: Perception, reader: EventReader, limit: int) -> tuple[ThreadMessage, ...]:
        """The thread's first message and the newest ones before the perception, oldest first, `limit` at most.

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
            self._emit("slack.not_overheard", channel=conversation.channel, reason=error.message)
            return ()
        hidden = [one for one in admitted if one.text == _NOT_SHOWN][1:]  # it is said once
        return tuple(_first_and_newest([one for one in admitted if one not in hidden], limit))

    def note(self, arrival: Arrival) -> None:
        """Drop what is kept of a thread if a message in it was edited or deleted."""
        if isinstance(arrival, Edit | Deletion):
            self._changes += 1
            for (channel, thread), (_, earlier) in list(self._kept.items()):
                if channel == arrival.channel and arrival.ts in {thread, *(str(one.get("ts")) for one in earlier)}:
                    del self._kept[channel, thread]

    def forget(self) -> None:
        """Drop all that is kept: an edit or a deletion may have been missed."""
        self._changes += 1
        self._kept.clear()

    async def _earlier(self, conversation: ConversationKey, until: str | None) -> _Earlier:
        """The messages before a ts, oldest first; all of them if it is None. Raises ChannelError."""
        key, end = (conversation.channel, conversation.thread), as_seconds(until) if until else math.inf
        if (kept := self._kept.get(key)) is not None and kept[0] == end:
            self._kept[key] = kept  # used last
            return kept[1]
        changes = self._changes
        thread, _ = await read_messages(self._client, *key, most=_PAGES, latest=until)
        found = [_needed(one) for one in thread if 0 < as_seconds(one.get("ts")) < end]
        earlier = tuple(_first_and_newest(found, _MESSAGES))
        if until and changes == self._changes:  # else the next reply finds more, or less
            self._kept[key] = (end, earlier)
        return earlier

    async def _admitted(
        self, perception: Perception, reader: EventReader, message: Mapping[str, Any]
    ) -> ThreadMessage | None:
        """A message as the soul may read it, with the names of its files.

        None if it holds nothing or the gate refuses its author; of an app that is refused, it says that it is there.
        """
        author = str(message.get("user") or message.get("bot_id") or "")
        text = reader.shown_by(message)[:_LONGEST]
        if not author or not text:
            return None
        if reader.is_own(message):
            return ThreadMessage(str(message["ts"]), author, "", text, own=True)
        where = perception.conversation
        decision = await self._gate.check_author(author, where.channel, perception.place)
        if decision.outsider:
            self._readers.outsider_spoke(where.channel, where.thread)
        if decision.admitted:
            return ThreadMessage(str(message["ts"]), author, decision.name or author, text, files=files_in(message))
        return ThreadMessage(str(message["ts"]), author, author, _NOT_SHOWN) if message.get("bot_id") else None


def _needed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a message that are needed, so that little is kept: blocks of people say their text again."""
    needed = _NEEDED if message.get("bot_id") else _NEEDED_OF_PEOPLE
    return {name: message[name] for name in needed if name in message}


def _first_and_newest(messages: Sequence[T], limit: int) -> Sequence[T]:
    """The first message and the newest of the others, `limit` at most."""
    return (*messages[:1], *messages[max(1, len(messages) - limit + 1) :])
