"""Keeps the text of each streamed draft, and how Slack takes streams."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from daemon.core.lru import Lru
from daemon.core.ports.clock import Clock

_MOST_DRAFTS: Final = 500
_MOST_CHANNELS: Final = 1_000
_PAUSE_AFTER_REFUSAL: Final = 600.0  # seconds without a new stream after Slack refused one
_PAUSE_OF_CHUNKS: Final = 86_400.0  # seconds without chunks after Slack refused one


@dataclass(slots=True)
class _Draft:
    """A draft's exact text (None: unknown), whether its stream takes chunks, and the chunks that end it."""

    text: str | None = None
    in_chunks: bool = False
    closing: tuple[dict[str, Any], ...] = ()


class Drafts:
    """The drafts of all conversations."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._drafts = Lru[tuple[str, str], _Draft](_MOST_DRAFTS)
        self._paused = Lru[str, None](_MOST_CHANNELS, _PAUSE_AFTER_REFUSAL, clock.monotonic)
        self._chunks_paused_until = 0.0
        self._growing = 0

    @property
    def takes_chunks(self) -> bool:
        """Whether streams may use chunks, which cards need; False for a day after Slack refused one."""
        return self._clock.monotonic() >= self._chunks_paused_until

    def may_start(self, channel: str) -> bool:
        """Whether Slack takes streams in a channel."""
        return channel not in self._paused

    def pause_streams(self, channel: str) -> None:
        """Open no stream in a channel for ten minutes, since Slack takes none there."""
        self._paused[channel] = None

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Count a stream as one that grows, while the body runs."""
        self._growing += 1
        try:
            yield
        finally:
            self._growing -= 1

    def gap(self, least: float) -> float:
        """Seconds between two appends to one stream: all streams that grow share Slack's limit of appends."""
        return least * max(1, self._growing)

    def pause_chunks(self) -> None:
        """Use no chunks for a day, since Slack refused one: text goes as plain markdown, and cards are not shown."""
        self._chunks_paused_until = self._clock.monotonic() + _PAUSE_OF_CHUNKS

    def opened(self, channel: str, ts: str, text: str, *, in_chunks: bool) -> None:
        """Note a new stream with its first text; Slack requires the same form, chunks or markdown, until its end."""
        self._drafts[channel, ts] = _Draft(text, in_chunks)

    def set_text(self, channel: str, ts: str, text: str | None) -> None:
        """Note the exact text that a draft shows; None if it is unknown."""
        if draft := self._drafts.get((channel, ts)):
            draft.text = text

    def set_closing(self, channel: str, ts: str, closing: Sequence[dict[str, Any]]) -> None:
        """Note the chunks that end a stream, so that no card stays in progress."""
        if draft := self._drafts.get((channel, ts)):
            draft.closing = tuple(closing)

    def forget(self, channel: str, ts: str) -> None:
        """Drop a draft that is finished or gone."""
        self._drafts.pop((channel, ts), None)

    def text(self, channel: str, ts: str) -> str | None:
        """The exact text that a draft shows, or None if it is unknown."""
        draft = self._drafts.get((channel, ts))
        return draft.text if draft else None

    def forms(self, channel: str, ts: str, text: str) -> tuple[dict[str, Any], ...]:
        """The arguments that end a stream with more text; both forms where its own is unknown, as after a restart."""
        if (channel, ts) in self._drafts:
            return (self.ending(channel, ts, text),)
        return {"markdown_text": text or None}, {"chunks": text_chunks(text) or None}

    def ending(self, channel: str, ts: str, text: str) -> dict[str, Any]:
        """The arguments that end a draft's stream with its last text (Slack: chat.stopStream)."""
        draft = self._drafts.get((channel, ts)) or _Draft()
        if not draft.in_chunks:
            return {"markdown_text": text or None}
        return {"chunks": [*draft.closing, *text_chunks(text)] or None}


def text_chunks(text: str) -> list[dict[str, Any]]:
    """Text as chunks, none if it is empty."""
    return [{"type": "markdown_text", "text": text}] if text else []
