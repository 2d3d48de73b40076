"""What was said in a thread before the soul was asked in, through the same gate as what is said to it (P42)."""

import math
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.access.gate import SlackGate
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.history import messages, moment
from daemon.channels.slack.incoming.event_reader import Reader
from daemon.channels.slack.incoming.text import readable
from daemon.core.errors import ChannelError
from daemon.core.perception import Modality, Perception
from daemon.core.ports import Emit, ThreadMessage

_PAGES: Final = 5
_LONGEST: Final = 4_000  # characters of one earlier message


class Overhearing:
    """Reads threads; words of people who may not be heard are left out."""

    def __init__(self, client: SlackClient, gate: SlackGate, emit: Emit) -> None:
        self._client = client
        self._gate = gate
        self._emit = emit

    async def before(self, perception: Perception, reader: Reader, limit: int) -> tuple[ThreadMessage, ...]:
        """The thread's first message and the newest before the perception, oldest first; empty if it can't be read.

        What isn't a message of the thread itself comes after all that stands there.
        """
        conversation = perception.conversation
        until = perception.ts if perception.modality is Modality.WORDS else None
        if not conversation.thread or conversation.thread == perception.ts or limit <= 0:
            return ()
        try:
            said, _ = await messages(self._client, conversation.channel, conversation.thread, most=_PAGES, latest=until)
            end = moment(until) if until else math.inf
            earlier = [message for message in said if 0 < moment(message.get("ts")) < end]
            heard = [line for message in earlier if (line := await self._line(perception, reader, message))]
        except ChannelError as error:
            self._emit("slack.not_overheard", channel=conversation.channel, reason=error.message)
            return ()
        return (*heard[:1], *deque(heard[1:], maxlen=limit - 1))

    async def _line(self, perception: Perception, reader: Reader, message: Mapping[str, Any]) -> ThreadMessage | None:
        author = str(message.get("user") or message.get("bot_id") or "")
        text = readable(str(message.get("text") or ""), reader.identity.user)[:_LONGEST]
        if not author or not text:
            return None
        if reader.is_own(message):
            return ThreadMessage(str(message["ts"]), author, "", text, own=True)
        admission = await self._gate.may_be_heard(author, perception.conversation.channel, perception.place)
        return ThreadMessage(str(message["ts"]), author, admission.name or author, text) if admission.admitted else None
