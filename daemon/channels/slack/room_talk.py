"""Reads what was said in a channel since a time, for those who read there: its messages, and those of its threads."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.client import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.gate import SlackGate
from daemon.channels.slack.history import as_seconds, read_messages
from daemon.core.perception import Perception, Place
from daemon.core.ports.channel import ThreadMessage

_PAGES: Final = 3
_THREADS: Final = 5  # of the period, those with the most replies
_LONGEST: Final = 600  # characters of one message
_MOST: Final = 120  # messages, the newest
_SAID: Final = frozenset({"", "thread_broadcast", "me_message", "bot_message", "file_share"})


class RoomTalk:
    """Reads channels that the soul is in; messages whose authors the gate refuses are left out, and the soul's own."""

    def __init__(self, client: SlackClient, gate: SlackGate) -> None:
        self._client = client
        self._gate = gate

    async def since(self, perception: Perception, ts: str, reader: EventReader) -> tuple[ThreadMessage, ...]:
        """What was said in a channel after a ts, oldest first; of much the newest. Raises ChannelError."""
        channel, place = perception.conversation.channel, perception.place
        listed, _ = await read_messages(self._client, channel, "", most=_PAGES, oldest=ts)
        threads = sorted((one for one in listed if one.get("reply_count")), key=_replies, reverse=True)[:_THREADS]
        for root in threads:
            replies, _ = await read_messages(self._client, channel, str(root["ts"]), most=1, oldest=ts)
            listed += [one for one in replies if one.get("ts") != root.get("ts")]
        found = {str(one["ts"]): one for one in listed if as_seconds(one.get("ts")) > as_seconds(ts)}
        newest = sorted(found.values(), key=lambda one: as_seconds(one["ts"]))[-_MOST:]
        said = [await self._admitted(one, channel, place, reader) for one in newest]
        return tuple(one for one in said if one is not None)

    async def _admitted(
        self, message: Mapping[str, Any], channel: str, place: Place, reader: EventReader
    ) -> ThreadMessage | None:
        author = str(message.get("user") or message.get("bot_id") or "")
        text = reader.text_of(message)[:_LONGEST]
        if not author or not text or reader.is_own(message) or str(message.get("subtype") or "") not in _SAID:
            return None
        decision = await self._gate.check_author(author, channel, place)
        return ThreadMessage(str(message["ts"]), author, decision.name or author, text) if decision.admitted else None


def _replies(message: Mapping[str, Any]) -> int:
    count = message.get("reply_count")
    return count if isinstance(count, int) else 0
