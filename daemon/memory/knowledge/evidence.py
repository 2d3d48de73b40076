"""Whether a quotation stands in the words that it is taken from."""

import unicodedata

from daemon.core.text import visible_line


def stands_in(quote: str, words: str) -> bool:
    """Whether a quotation stands in a text; case, white space and forms of characters do not matter."""
    wanted = _levelled(quote)
    return bool(wanted) and wanted in _levelled(words)


def _levelled(text: str) -> str:
    return visible_line(unicodedata.normalize("NFKC", visible_line(text))).casefold()
