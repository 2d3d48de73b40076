"""Normalization of texts before phrases are compared."""

import re
import unicodedata
from typing import Final

_AT_THE_END: Final = " .!?…"
_COURTESY: Final = frozenset({"please", "bitte", "ok", "okay", "thanks", "danke"})
_CODES: Final = re.compile(r":[a-z0-9_+'-]{1,60}:(?::skin-tone-[2-6]:)?")
_JOINING: Final = "\u200d\ufe0f"  # within emoji
_QUOTES: Final = re.compile("[\"'`*_\u201c\u201d\u201e\u2018\u2019«»]")


def levelled(text: str) -> str:
    """Return a text as phrases are compared: no case, quote marks, commas, emoji or words of courtesy."""
    words = strictly_levelled(text).replace(",", " ").split()
    while len(words) > 1 and words[0] in _COURTESY:
        del words[0]
    while len(words) > 1 and words[-1] in _COURTESY:
        del words[-1]
    return " ".join(words).strip(_AT_THE_END)


def strictly_levelled(text: str) -> str:
    """Return a text as single words are compared: with courtesy and commas. Single words are ambiguous."""
    shown = "".join(" " if one in _JOINING or unicodedata.category(one) == "So" else one for one in text)
    return plain_words(shown).casefold()


def plain_words(text: str) -> str:
    """Return a text on one line, without quote marks and final punctuation."""
    return " ".join(_QUOTES.sub("", unicodedata.normalize("NFKC", text)).split()).strip(_AT_THE_END)


def without_codes(text: str) -> str:
    """Return a text without emoji codes as Slack writes them, such as `:pray:`."""
    return _CODES.sub(" ", text)
