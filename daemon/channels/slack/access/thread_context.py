"""Reads what users wrote in a thread before the soul joined it; the gate decides on each author (P42)."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.access.gate import SlackGate
from daemon.channels.slack.access.readers import RoomReaders
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.history import as_seconds, read_messages
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.text import readable
from daemon.core.errors import ChannelError
from daemon.core.perception import Modality, Perception
from daemon.core.ports import Emit, ThreadMessage

_PAGES: Final = 5
_LONGEST: Final = 4_000  # characters of one earlier message


class ThreadReader:
    """Reads threads; messages whose authors the gate refuses are left out, and outsiders among the authors noted."""

    def __init__(self, client: SlackClient, gate: SlackGate, readers: RoomReaders, emit: Emit) -> None:
        self._client = client
        self._gate = gate
        self._readers = readers
        self._emit = emit

    async def before(self, perception: Perception, reader: EventReader, limit: int) -> tuple[ThreadMessage, ...]:
        """The thread's first message and the newest ones before the perception, oldest first, `limit` at most.

        Empty if the thread can't be read. A perception that is no message of the thread comes after all of them.
        """
        conversation = perception.conversation
        until = perception.ts if perception.modality is Modality.WORDS else None
        if not conversation.thread or conversation.thread == perception.ts or limit <= 0:
            return ()
        try:
            thread, _ = await read_messages(
                self._client, conversation.channel, conversation.thread, most=_PAGES, latest=until
            )
            end = as_seconds(until) if until else math.inf
            earlier = [message for message in thread if 0 < as_seconds(message.get("ts")) < end]
            admitted = [read for message in earlier if (read := await self._admitted(perception, reader, message))]
        except ChannelError as error:
            self._emit("slack.not_overheard", channel=conversation.channel, reason=error.message)
            return ()
        return (*admitted[:1], *deque(admitted[1:], maxlen=limit - 1))

    async def _admitted(
        self, perception: Perception, reader: EventReader, message: Mapping[str, Any]
    ) -> ThreadMessage | None:
        """A message as the soul may read it; None if the gate refuses its author or it has no text."""
        author = str(message.get("user") or message.get("bot_id") or "")
        text = readable(str(message.get("text") or ""), reader.identity.user)[:_LONGEST]
        if not author or not text:
            return None
        if reader.is_own(message):
            return ThreadMessage(str(message["ts"]), author, "", text, own=True)
        where = perception.conversation
        decision = await self._gate.check_author(author, where.channel, perception.place)
        if decision.outsider:
            self._readers.outsider_spoke(where.channel, where.thread)
        return ThreadMessage(str(message["ts"]), author, decision.name or author, text) if decision.admitted else None
