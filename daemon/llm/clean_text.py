"""Cleans a model's text, so that it can be stored and sent: no lone surrogates, no NULs."""

from daemon.core.text import storable

_HIGH_SURROGATES = ("\ud800", "\udbff")


class PieceCleaner:
    """Cleans a text that arrives in pieces; joins surrogate pairs that a provider splits over two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return the text that is complete now; may be empty."""
        text = self._half + piece
        self._half = ""
        if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
            text, self._half = text[:-1], text[-1]
        return clean(text)

    def flush(self) -> str:
        """Return the rest after the last piece."""
        rest, self._half = self._half, ""
        return clean(rest)


def clean(text: str) -> str:
    """Text without NULs that UTF-8 can hold."""
    return storable(text.replace("\0", ""))
