"""The lines of a server's output, within bounds: an endless line costs neither time nor memory."""

from daemon.core.ports.services import Clock

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of the longest message of a server."""
MOST_PARTS = 100_000
"""Commas and opening brackets of a message. Parsing more would block the event loop."""
MOST_MESSAGES = 30_000
"""Messages, and lines that are none, that a server may send in a minute without an answer."""
MOST_BYTES = 2 * LONGEST_LINE
"""Bytes that a server may send in a minute without an answer. One answer fits."""

_MINUTE = 60.0
_MARKS = (b",", b"[", b"{")


class OverlongMessage(Exception):
    """A server sent a message that is not read. The text says why."""


class Flow:
    """The count of a server's data per minute. An expected answer starts a new count."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = self._bytes = self._messages = 0.0

    def answered(self) -> None:
        self._bytes = self._messages = 0.0
        self._until = self._clock.monotonic() + _MINUTE

    def add(self, *, size: int = 0, messages: int = 0) -> None:
        """Count bytes and messages. Raises OverlongMessage."""
        if self._clock.monotonic() >= self._until:
            self.answered()
        self._bytes += size
        self._messages += messages
        if self._bytes > MOST_BYTES:
            raise OverlongMessage(f"it sent more than {MOST_BYTES >> 20} MiB and no answer")
        if self._messages > MOST_MESSAGES:
            raise OverlongMessage(f"it sent more than {MOST_MESSAGES} messages and no answer")


class LineBuffer:
    """The buffer of the begun line. Each byte is scanned once and copied at most twice."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that a chunk completes, without their ends. Raises OverlongMessage."""
        first, *others = chunk.split(b"\n")
        self._begun += first
        if len(self._begun) > LONGEST_LINE:
            raise OverlongMessage(f"it sent a message of more than {LONGEST_LINE >> 20} MiB")
        if not others:
            return []
        lines = [bytes(self._begun), *others[:-1]]
        self._begun = bytearray(others[-1])
        return lines


def check_parts(line: bytes) -> None:
    """Refuse a message whose many parts would take seconds to read. Raises OverlongMessage."""
    if len(line) > MOST_PARTS and sum(map(line.count, _MARKS)) > MOST_PARTS:
        raise OverlongMessage(f"it sent a message of more than {MOST_PARTS} parts")
