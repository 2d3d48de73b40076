"""What is known of messages that are still being streamed, and whether another stream or append fits Slack's tiers."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.api.pacing import STREAM_TIERS, Window
from daemon.core.ports import Clock

_REMEMBERED: Final = 500
_REST_AFTER_REFUSAL: Final = 600.0  # seconds without a new stream once Slack said that it won't stream for us
_WORDS_ALONE: Final = 86_400.0  # a day without chunks once Slack refused one


@dataclass(slots=True)
class _Draft:
    """One message: its exact text (None: not sure), and whether its stream takes chunks and which ones end it."""

    text: str | None = None
    in_chunks: bool = False
    closing: tuple[dict[str, Any], ...] = ()


class Drafts:
    """Shared by all conversations: what each draft shows, and the room left in Slack's streaming tiers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._drafts: OrderedDict[tuple[str, str], _Draft] = OrderedDict()
        self._starts = Window(clock, STREAM_TIERS["chat.startStream"])
        self._appends = Window(clock, STREAM_TIERS["chat.appendStream"])
        self._resting_until = 0.0
        self._words_alone_until = 0.0

    @property
    def takes_chunks(self) -> bool:
        """Whether Slack takes streams in chunks, so that cards can be shown; refused once, not asked for a day."""
        return self._clock.monotonic() >= self._words_alone_until

    def may_start(self) -> bool:
        """Take a place for one chat.startStream, if there is room and Slack streams for us at all."""
        return self._clock.monotonic() >= self._resting_until and self._starts.take()

    def may_append(self) -> bool:
        """Take a place for one chat.appendStream, if there is room."""
        return self._appends.take()

    def refused(self) -> None:
        """Slack would not begin a stream; don't ask again for a while."""
        self._resting_until = self._clock.monotonic() + _REST_AFTER_REFUSAL

    def chunks_refused(self) -> None:
        """Slack takes no chunks here; words go as plain markdown for a long while, and cards are not tried."""
        self._words_alone_until = self._clock.monotonic() + _WORDS_ALONE

    def opened(self, channel: str, ts: str, text: str, *, in_chunks: bool) -> None:
        """A stream was begun with this text; in which of the two ways it was begun it has to go on."""
        self._drafts[channel, ts] = _Draft(text, in_chunks)
        while len(self._drafts) > _REMEMBERED:
            self._drafts.popitem(last=False)

    def shows(self, channel: str, ts: str, text: str | None) -> None:
        """A draft surely shows this text, no more and no less; None when that isn't known."""
        if draft := self._drafts.get((channel, ts)):
            draft.text = text

    def to_close(self, channel: str, ts: str, closing: Sequence[dict[str, Any]]) -> None:
        """What has to be sent with the end of a stream so that no card looks as if work went on."""
        if draft := self._drafts.get((channel, ts)):
            draft.closing = tuple(closing)

    def forget(self, channel: str, ts: str) -> None:
        """What the draft shows no longer matters."""
        self._drafts.pop((channel, ts), None)

    def text(self, channel: str, ts: str) -> str | None:
        """What the draft surely shows, or None when that isn't known."""
        draft = self._drafts.get((channel, ts))
        return draft.text if draft else None

    def ending(self, channel: str, ts: str, words: str) -> dict[str, Any]:
        """The arguments that end a draft's stream with some last words (Slack: chat.stopStream)."""
        draft = self._drafts.get((channel, ts)) or _Draft()
        if not draft.in_chunks:
            return {"markdown_text": words or None}
        return {"chunks": [*draft.closing, *spoken(words)] or None}


def spoken(words: str) -> list[dict[str, Any]]:
    """Words as chunks, none for no words."""
    return [{"type": "markdown_text", "text": words}] if words else []
