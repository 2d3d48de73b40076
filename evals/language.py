"""In which language is a text? Its script decides where the script is telling, else its most common short words.

No library is used: those that are accurate weigh a hundred megabytes, and the question here is never "which of 176
languages", but "the one that was asked for, or another of a dozen".
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final


class Language(StrEnum):
    """A language that is recognised, by its ISO 639-1 code."""

    ENGLISH = "en"
    GERMAN = "de"
    FRENCH = "fr"
    SPANISH = "es"
    PORTUGUESE = "pt"
    ITALIAN = "it"
    DUTCH = "nl"
    POLISH = "pl"
    TURKISH = "tr"
    GREEK = "el"
    RUSSIAN = "ru"
    UKRAINIAN = "uk"
    ARABIC = "ar"
    PERSIAN = "fa"
    HEBREW = "he"
    HINDI = "hi"
    JAPANESE = "ja"
    KOREAN = "ko"
    CHINESE = "zh"


_SCRIPTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "LATIN": "latin",
        "GREEK": "greek",
        "CYRILLIC": "cyrillic",
        "ARABIC": "arabic",
        "HEBREW": "hebrew",
        "DEVANAGARI": "devanagari",
        "HIRAGANA": "kana",
        "KATAKANA": "kana",
        "HANGUL": "hangul",
        "CJK": "han",
    }
)
_BY_SCRIPT: Final = MappingProxyType(
    {
        "greek": Language.GREEK,
        "cyrillic": Language.RUSSIAN,
        "arabic": Language.ARABIC,
        "hebrew": Language.HEBREW,
        "devanagari": Language.HINDI,
        "hangul": Language.KOREAN,
        "han": Language.CHINESE,
    }
)
_KANA_SHARE: Final = 0.1  # of the letters of a Japanese text; a Chinese one has none
_UKRAINIAN, _PERSIAN = frozenset("іїєґІЇЄҐ"), frozenset("پچژگ")
_TABLE: Final = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))
_WORDS: Final = MappingProxyType({Language(code): frozenset(words.split()) for code, words in _TABLE["words"].items()})
_LETTERS: Final = MappingProxyType(
    {letter: Language(code) for code, letters in _TABLE["letters"].items() for letter in letters}
)
_LEFT_OUT: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|<[^>\n]*>|@\w+", re.DOTALL)
_QUOTED: Final = re.compile(
    r"\u201c[^\u201c\u201d]*\u201d|\u201e[^\u201c\u201e]*\u201c|\xab[^\xab\xbb]*\xbb|\u300c[^\u300d]*\u300d"
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_LEAST: Final = 0.12  # of the words of a Latin text, so that a list of names has no language


def language_of(text: str) -> Language | None:
    """The language of a text; None where it does not show. Code, addresses and mentions don't count.

    Nor does what it quotes, unless it is nothing but a quotation.
    """
    whole = unicodedata.normalize("NFC", _LEFT_OUT.sub(" ", text))
    return _language_of(_QUOTED.sub(" ", whole)) or _language_of(whole)


def _language_of(text: str) -> Language | None:
    scripts = Counter(script for letter in text if letter.isalpha() and (script := _script(letter)))
    if not scripts:
        return None
    if scripts["kana"] > _KANA_SHARE * sum(scripts.values()):
        return Language.JAPANESE
    script, _ = scripts.most_common(1)[0]
    if script == "latin":
        return _by_words(text)
    if script == "cyrillic" and _UKRAINIAN & set(text):
        return Language.UKRAINIAN
    if script == "arabic" and _PERSIAN & set(text):
        return Language.PERSIAN
    return _BY_SCRIPT[script]


def _script(letter: str) -> str:
    return _SCRIPTS.get(unicodedata.name(letter, "").partition(" ")[0], "")


def _by_words(text: str) -> Language | None:
    words = _WORD.findall(text.casefold().replace("\u2019", "'"))
    known = Counter({language: sum(word in common for word in words) for language, common in _WORDS.items()})
    known.update(_LETTERS[letter] for letter in set(text.casefold()) & _LETTERS.keys())
    (first, most), (_, second) = known.most_common(2)
    return first if most > second and most >= max(min(2, len(words) // 2), 1, _LEAST * len(words)) else None
