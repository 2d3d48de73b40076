"""Cuts what a server writes into lines, within bounds: a line that never ends costs neither time nor memory."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of the longest message of a server."""
MOST_PARTS = 100_000
"""Commas and opening brackets of a message; reading more of them would hold the event loop."""

_MARKS = (b",", b"[", b"{")


class OverlongMessage(Exception):
    """A server sent a message that is not read; the text says why."""


class LineBuffer:
    """Holds the begun line; each byte is looked at once and copied at most twice."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that a chunk completes, without their ends. Raises OverlongMessage."""
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
