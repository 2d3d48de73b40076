"""Text that a foreign server wrote, made harmless to show: nothing unseen in it, and no longer than was asked for."""

import unicodedata

_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_VARIATION_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_HANGUL_FILLERS = (0x115F, 0x1160, 0x3164, 0xFFA0)
_UNSEEN = frozenset(map(chr, (*_VARIATION_SELECTORS, *_HANGUL_FILLERS)))
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"))
_LOOK_AHEAD = 4  # so many times the limit is looked through for characters that can be seen


def clean(text: str, limit: int) -> str:
    """The text without unseen characters, at most `limit` characters long and a note where something is missing.

    Line breaks and tabs stay. Gone are controls, bidirectional and zero-width marks, tags, private and unassigned
    characters, and the variation selectors, all of which can carry words that a reader doesn't see.
    """
    window = text[: _LOOK_AHEAD * limit].replace("\r\n", "\n").translate(_LINE_ENDS)
    visible = "".join(filter(_is_seen, window)).strip()
    missing = len(text) - _LOOK_AHEAD * limit if len(text) > _LOOK_AHEAD * limit else 0
    missing += max(0, len(visible) - limit)
    return f"{visible[:limit]}\n… [{missing} more characters left out]" if missing else visible


def one_line(text: str, limit: int) -> str:
    """The same in a single line, cut without a note; for names, reasons and log lines."""
    return " ".join(clean(text[: _LOOK_AHEAD * limit], _LOOK_AHEAD * limit).split())[:limit].rstrip()


def _is_seen(character: str) -> bool:
    if character in "\n\t":
        return True
    return character not in _UNSEEN and unicodedata.category(character) not in _UNSEEN_CATEGORIES
