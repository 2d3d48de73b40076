"""Text that can always be stored, sent and shown: no halves of characters, no NULs."""

from daemon.core.text import storable

_HIGH_SURROGATES = ("\ud800", "\udbff")


class PieceCleaner:
    """Cleans a text that arrives in pieces; a character cut in two by the provider's JSON escapes is joined again."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return what is certain by now; may be empty."""
        text = self._half + piece
        self._half = ""
        if text and _HIGH_SURROGATES[0] <= text[-1] <= _HIGH_SURROGATES[1]:
            text, self._half = text[:-1], text[-1]
        return clean(text)

    def flush(self) -> str:
        """Return what was held back, once no more will come."""
        rest, self._half = self._half, ""
        return clean(rest)


def clean(text: str) -> str:
    """Text without NULs that UTF-8 can hold."""
    return storable(text.replace("\0", ""))
