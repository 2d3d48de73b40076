"""Makes a foreign server's text harmless to show: without invisible characters, and with a limited length."""

import unicodedata

_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_VARIATION_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_HANGUL_FILLERS = (0x115F, 0x1160, 0x3164, 0xFFA0)
_INVISIBLE = frozenset(map(chr, (*_VARIATION_SELECTORS, *_HANGUL_FILLERS)))
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"))
_LOOK_AHEAD = 4  # times the limit: how far a text is searched for visible characters


def clean(text: str, limit: int) -> str:
    """At most `limit` visible characters of a text; a note gives the number of characters left out.

    Line breaks and tabs stay. Removed are controls, bidirectional and zero-width marks, tags, private and unassigned
    characters, and variation selectors, all of which can carry text that a reader doesn't see.
    """
    window = text[: _LOOK_AHEAD * limit].replace("\r\n", "\n").translate(_LINE_ENDS)
    visible = "".join(filter(_is_visible, window)).strip()
    missing = len(text) - _LOOK_AHEAD * limit if len(text) > _LOOK_AHEAD * limit else 0
    missing += max(0, len(visible) - limit)
    return f"{visible[:limit]}\n… [{missing} more characters left out]" if missing else visible


def short_line(text: str, limit: int) -> str:
    """The same on one line, cut without a note; for names, reasons and log lines."""
    return " ".join(clean(text[: _LOOK_AHEAD * limit], _LOOK_AHEAD * limit).split())[:limit].rstrip()


def _is_visible(character: str) -> bool:
    if character in "\n\t":
        return True
    return character not in _INVISIBLE and unicodedata.category(character) not in _INVISIBLE_CATEGORIES
