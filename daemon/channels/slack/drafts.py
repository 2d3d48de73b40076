"""What is known of messages that are still being streamed, and whether another stream or append fits Slack's tiers."""

from collections import OrderedDict
from typing import Final

from daemon.channels.slack.pacing import STREAM_TIERS, Window
from daemon.ports import Clock

_REMEMBERED: Final = 500
_REST_AFTER_REFUSAL: Final = 600.0  # seconds without a new stream once Slack said that it won't stream for us


class Drafts:
    """Shared by all conversations: the exact text each draft shows, and the room left in Slack's streaming tiers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._texts: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._starts = Window(clock, STREAM_TIERS["chat.startStream"])
        self._appends = Window(clock, STREAM_TIERS["chat.appendStream"])
        self._resting_until = 0.0

    def may_start(self) -> bool:
        """Take a place for one chat.startStream, if there is room and Slack streams for us at all."""
        return self._clock.monotonic() >= self._resting_until and self._starts.take()

    def may_append(self) -> bool:
        """Take a place for one chat.appendStream, if there is room."""
        return self._appends.take()

    def refused(self) -> None:
        """Slack would not begin a stream; don't ask again for a while."""
        self._resting_until = self._clock.monotonic() + _REST_AFTER_REFUSAL

    def remember(self, channel: str, ts: str, text: str) -> None:
        """A draft surely shows this text, no more and no less."""
        self._texts[channel, ts] = text
        self._texts.move_to_end((channel, ts))
        while len(self._texts) > _REMEMBERED:
            self._texts.popitem(last=False)

    def forget(self, channel: str, ts: str) -> None:
        """What the draft shows is no longer known, or no longer matters."""
        self._texts.pop((channel, ts), None)

    def text(self, channel: str, ts: str) -> str | None:
        """What the draft surely shows, or None when that isn't known."""
        return self._texts.get((channel, ts))
