"""Words of a text in any language, in one form for storing and searching, and its sentences with citations."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from daemon.core.packaged import packaged_table
from daemon.core.value import Value

LISTS: Final = packaged_table("core/words.toml")
"""Lists of words in many languages, separated by spaces."""

STOP_WORDS: Final = frozenset(word for words in LISTS["stop_words"].values() for word in words.split())
"""The stop words in the form of `words_of`."""

MOST_TERMS: Final = 12
"""Terms of one query, at most. Of a longer text the longest words are used: the rarest in every language."""

SHORTEST_STEM, LONGEST_STEM = 3, 5
"""The bounds of the number of characters by which a query finds other forms of a word."""

ALIKE: Final = 0.7
"""The lowest `likeness` of two forms of one word."""

_LONGEST_WORD: Final = 40  # characters; longer ones are hashes and addresses, of which the beginning is enough
_LONGEST_QUERY: Final = 6_000  # characters; the newest are at the end
_LOOKED_AT: Final = 4_000  # characters of a text whose words are looked up
_MOST_WORDS: Final = 400  # different ones of it
_ENDINGS: Final = ("ungen", "ing", "ies", "ied", "es", "ed", "en", "er", "em", "s", "e", "n", "y")
_VOWELS: Final = "aeiouyаеиоуыэюяёіїєαεηιουω"  # noqa: RUF001 - the letters of three alphabets are meant

_MARKS: Final = "".join(
    chr(code)
    for low, high in ((0x0900, 0x0E00), (0x1A00, 0x1AFF), (0xA800, 0xABFF))
    for code in range(low, high)
    if unicodedata.category(chr(code)) in ("Mn", "Mc")
)  # vowel signs of India's scripts, which belong to their words
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD: Final = re.compile(rf"(?P<run>[{_UNSPACED}]+)|(?:[^\W_{_UNSPACED}]|[{_MARKS}])+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_ACCENTS: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0640]+")
_IS_ACCENTED: Final = re.compile("[^\x00-\x7f]")
_KANA: Final = re.compile("[\u3040-\u309f]+")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_ARTICLE: Final = re.compile("^(?:وال|بال|كال|فال|ال|لل)(?=.{3})")  # of Arabic, written in one with its noun
_LETTERS: Final = str.maketrans(
    {"ı": "i", "ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "’": "'"}  # noqa: RUF001
)


class Term(NamedTuple):
    """A word to search for, in the form of `words_of`. Words that begin with its `stem`, if any, are its forms."""

    word: str
    stem: str = ""


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in their form for comparison: letters, digits and their marks alone.

    Scripts without spaces (Chinese, Japanese, Thai …), and Korean, are cut into pairs of neighbouring characters: two
    thirds of Chinese words have two. A query finds inflected forms by the beginning of a word.
    """
    found: list[str] = []
    for match in _WORD.finditer(folded(text)):
        if match["run"]:
            found += _pairs(match["run"])
        else:
            found.append(_ARTICLE.sub("", match[0])[:_LONGEST_WORD])
    return found


def holds_more(text: str, words: frozenset[str]) -> bool:
    """Return true if a text holds a word that is not among these."""
    first = text.split(maxsplit=1)[:1]
    if first and first[0].isascii() and first[0].isalpha() and first[0].lower()[:_LONGEST_WORD] not in words:
        return True  # the usual case, since hundreds of texts are looked at in each search
    return not words.issuperset(words_of(text))


def spans_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a text with their beginning and end in it."""
    for match in _WORD.finditer(text):
        words = words_of(match[0])
        for number, word in enumerate(words):
            start = match.start() + (min(number, len(match[0]) - 1) if match["run"] else 0)
            yield word, start, (start + len(word) if match["run"] else match.end())


def holds_whole(text: str, words: str) -> bool:
    """Return true if words occur in a text, ignoring case and width, and not as part of a longer word.

    In scripts without spaces every place is the end of a word.
    """
    where, wanted = (" ".join(unicodedata.normalize("NFKC", one).casefold().split()) for one in (text, words))
    place = where.find(wanted) if wanted else -1
    while place >= 0:
        end = place + len(wanted)
        joined = _belong_together(where[place - 1 : place], wanted[0]) or _belong_together(
            wanted[-1], where[end : end + 1]
        )
        if not joined:
            return True
        place = where.find(wanted, place + 1)
    return False


def folded(text: str) -> str:
    """Return a text without case, width and accents. A few characters become two."""
    if not _IS_ACCENTED.search(text):
        return text.lower()
    apart = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(_LETTERS)
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart))


def terms_of(*texts: str) -> tuple[Term, ...]:
    """Return the distinct terms of a query without stop words, the longest if there are too many.

    Any text is a query: its words hold no operator of any search language. Empty without a meaningful word.
    """
    words = dict.fromkeys(word for text in texts for word in words_of(text[-_LONGEST_QUERY:]) if _tells(word))
    pairs = "\n".join(word for word in words if len(word) > 1)
    words = {word: None for word in words if len(word) > 1 or word.isdigit() or word not in pairs}
    if any(not _KANA.fullmatch(word) for word in words):
        words = {word: None for word in words if not _KANA.fullmatch(word)}  # mostly particles and endings
    chosen = sorted(words, key=lambda word: -_weight(word))[:MOST_TERMS]
    return tuple(Term(word, _stem(word)) for word in words if word in chosen)


def likeness(term: Term, word: str) -> float:
    """Return the likelihood that a word is a form of a term's word, from 0 to 1."""
    if word == term.word:
        return 1.0
    if not term.stem or not word.startswith(term.stem):
        return 0.0
    longer, shorter = (word, term.word) if len(word) > len(term.word) else (term.word, word)
    if longer.startswith(shorter):
        if longer[len(shorter) :] in _ENDINGS:
            return 0.95
        return 0.7 if len(shorter) >= LONGEST_STEM else 0.4  # a compound, or another word
    same = next((place for place, (one, two) in enumerate(zip(longer, shorter, strict=False)) if one != two), 0)
    return min(0.8, (same / len(longer)) ** 2 * 1.5)


def words_heard(text: str) -> frozenset[str]:
    """Return the words of a text that count, in the form of `words_of`."""
    return frozenset(list(dict.fromkeys(words_of(text[:_LOOKED_AT])))[:_MOST_WORDS])


def keys_of_words(words: Iterable[str]) -> frozenset[str]:
    """Return the keys by which to look up terms that may be forms of these words: the words and their beginnings."""
    beginnings = range(SHORTEST_STEM, LONGEST_STEM + 1)
    return frozenset(key for word in words for key in (word, *(word[:length] for length in beginnings)))


def shares_words(text: str, words: Collection[str], keys: Collection[str]) -> bool:
    """Return true if a meaningful word of a text is a form of one of these words; `keys` come from `keys_of_words`.

    Very short words and bare numbers don't count.
    """
    terms = (term for term in terms_of(text) if _says_something(term.word) and (term.stem or term.word) in keys)
    return any(likeness(term, word) >= ALIKE for term in terms for word in words)


def _says_something(word: str) -> bool:
    return (len(word) >= SHORTEST_STEM or not word.isascii()) and not word.isdigit()


def _belong_together(one: str, next_: str) -> bool:
    if not (one and next_) or _IS_UNSPACED.match(one) or _IS_UNSPACED.match(next_):
        return False
    return all(unicodedata.category(each)[0] in "LNM" or each == "_" for each in (one, next_))


def _pairs(run: str) -> list[str]:
    """Return pairs of neighbours, and each Chinese character, which can be a word."""
    if len(run) == 1:
        return [run]
    return [*(run[place : place + 2] for place in range(len(run) - 1)), *_HAN.findall(run)]


def _tells(word: str) -> bool:
    """Return true for a word worth a search: no stop word, and no single letter that is no word by itself."""
    return word not in STOP_WORDS and (len(word) > 1 or word.isdigit() or bool(_HAN.fullmatch(word)))


def _weight(word: str) -> int:
    return len(word) if not re.match(f"[{_UNSPACED}]", word) else 6


def _stem(word: str) -> str:
    """Return the common beginning of a word's forms: three to five characters, without its ending."""
    if len(word) < SHORTEST_STEM or word[0].isdigit() or re.match(f"[{_UNSPACED}]", word):
        return ""
    stem = next(
        (word[: -len(end)] for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= SHORTEST_STEM), word
    )
    if len(stem) > SHORTEST_STEM and stem[-1] == stem[-2]:
        stem = stem[:-1]  # planning, stopped
    if stem[-1] in _VOWELS and len(stem) > SHORTEST_STEM:
        stem = stem[:-1]
    return stem[:LONGEST_STEM]


_MARK: Final = r"m?\d{1,3}"
_CITED: Final = rf"\[(?P<marks>{_MARK}(?:,[ ]?{_MARK})*)\](?![(:])"
_SEGMENT_MARKS: Final = re.compile(rf" ?{_CITED}")
_SOURCE_LINE: Final = re.compile(
    rf"\[(?P<mark>{_MARK})\] `(?P<source>[^`]*)`"
)  # as `mind.citations.listed` writes them
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_LEAD: Final = re.compile(r"^\s*(?:(?:[-*+•>]|#{1,6}|\d{1,3}[.)])\s+)*")
_CLOSING: Final = "[\"'”’»)\\]*_]*+"  # noqa: RUF001 - quotation marks
_TAIL: Final = rf"{_CLOSING}(?:\s*+\[{_MARK}(?:,[ ]?{_MARK})*+\])*+"
_STOPS: Final = "[.!?…؟]"
# Nothing is tried twice (++, *+), and no run of stops is tried from its middle: a line of dots costs its length alone.
_END: Final = re.compile(rf"(?:(?<!{_STOPS}){_STOPS}++{_TAIL}(?=\s)|[。！？｡।॥]++{_TAIL})")  # noqa: RUF001
_ABBREVIATED: Final = 8  # characters of an abbreviation and what comes before it, at most
_NO_END: Final = re.compile(
    r"(?:^|\W)(?:\w|\d{1,2}|dr|mr|mrs|ms|prof|st|vs|nr|bzw|ca|etc|z\.b|e\.g|i\.e|d\.h)\.$", re.IGNORECASE
)
_SAYS: Final = re.compile(r"\w")


class Segment(Value):
    """A sentence without its citation marks, and the marks: `m2`, `3`."""

    text: str
    marks: tuple[str, ...] = ()


def segments_of(text: str) -> tuple[Segment, ...]:
    """Return the sentences of a text in order. A block of code is one; a list of sources is left out.

    A sentence ends with its line, or with a final mark that is no part of a number or of a common abbreviation.
    """
    found: list[Segment] = []
    code: list[str] | None = None
    for line in text.splitlines():
        fence = bool(_FENCE.match(line))
        if code is not None:
            code.append(line)
            if fence:
                found.append(Segment("\n".join(code)))
                code = None
        elif fence:
            code = [line]
        elif not _SOURCE_LINE.fullmatch(line.strip()):
            found += _in_line(" ".join(_LEAD.sub("", line).split()))
    if code is not None:
        found.append(Segment("\n".join(code)))
    return tuple(one for one in found if _SAYS.search(one.text))


def sources_in(text: str) -> dict[str, str]:
    """Return the list of sources below a text, by mark."""
    lines = (_SOURCE_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line["mark"]: line["source"] for line in lines if line}


def _in_line(line: str) -> list[Segment]:
    parts, start = [], 0
    for end in _END.finditer(line):
        if _NO_END.search(line[start : end.start() + 1][-_ABBREVIATED:]):
            continue
        parts.append(line[start : end.end()])
        start = end.end()
    parts.append(line[start:])
    return [_segment(one) for one in parts if one.strip()]


def _segment(part: str) -> Segment:
    marks = dict.fromkeys(mark.strip() for found in _SEGMENT_MARKS.finditer(part) for mark in found["marks"].split(","))
    return Segment(_SEGMENT_MARKS.sub("", part).strip(), tuple(marks))
