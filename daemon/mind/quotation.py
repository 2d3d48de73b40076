"""Quotations as proof: decides whether a user's own words prove a line that a model proposes to note."""

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from daemon.core.text import visible_line
from daemon.core.value import Value
from daemon.core.words import likeness, terms_of, words_of

FEWEST_WORDS: Final = 3
"""The fewest words of a quotation that is not a whole message."""


class SaidAs(StrEnum):
    """How words were meant, as the model that proposes a line says; only the first two and a claim are taken."""

    STATEMENT = "statement"
    WISH = "wish"
    CLAIM = "claim"
    JOKE = "joke"
    HYPOTHESIS = "hypothesis"
    QUOTATION = "quotation"
    ORDER = "order"


class Unproved(StrEnum):
    """The reason why a line is not noted, written to the ledger."""

    NOT_SAID = "the quotation is nowhere in their words"
    TOO_SHORT = "the quotation is too short"
    QUESTION = "it is a question"
    NOT_MEANT = "it was not meant as a statement"
    NUMBER = "a number of the line is not in the quotation"
    NAME = "a name of the line is not in the quotation"
    UNRELATED = "the line has nothing in common with the quotation"


class Evidence(Value):
    """The proof of a line: the index of the message, and the words quoted from it."""

    message: int
    quote: str


_TAKEN: Final = (SaidAs.STATEMENT, SaidAs.WISH, SaidAs.CLAIM)

_UNSAID: Final = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`"  # code
    r"|^[ \t]*(?:>|&gt;)[^\n]*"  # quoted lines
    r"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」|『[^』]*』|\"[^\"\n]*\""
    r"|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)‘[^’\n]*’(?!\w)",  # noqa: RUF001 - quotation marks
    re.DOTALL | re.MULTILINE,
)
_RIM: Final = " .!,;:\"'"
_GAP: Final = "\x00"  # replaces what the user did not say; no quotation contains it
_MENTION: Final = re.compile(r"<[@#!][^>]*>|(?<!\w)@[\w.-]+")
_SAME: Final = str.maketrans("‘’‚‛`´“”„‟«»‹›‐‑‒–—−", '\'\'\'\'\'\'""""""""------')  # noqa: RUF001 - quotation marks and dashes
_SENTENCE: Final = re.compile(r"(?:[^.!?。！？؟\n]|(?<=\d)\.(?=\d)|\.(?=\w))*[.!?。！？؟…]*")  # noqa: RUF001
_ASKS: Final = re.compile(r"[?？؟]")  # noqa: RUF001
_NUMBER: Final = re.compile(r"(?<!\w)\d+(?:[.,:/-]\d+)*")
_NAME: Final = re.compile(r"(?<![\w'])[^\W\d_a-z]\w*")


class _Levelled(NamedTuple):
    """A text normalized for comparing quotations, and the place in the original of each of its characters."""

    words: str
    origins: tuple[int, ...]


class _Said(NamedTuple):
    """The words of a quotation as written in the message, and the sentences around them."""

    words: str
    around: str


def proof(line: str, quote: str, said_as: SaidAs, messages: Sequence[str], names: Sequence[str]) -> Evidence | Unproved:
    """Return the words that prove a line, or why nothing does.

    A quotation must be verbatim in what that user wrote: outside their own quotations, code, files and questions. It
    must contain the numbers and names of the line. `messages` are what the user wrote, newest last. `names` are the
    user's own, which a line may say without proof.
    """
    found = _meant(quote, said_as, messages)
    if isinstance(found, Unproved):
        return found
    evidence, said = found
    return _fault(_MENTION.sub("", line), said.words, names) or evidence


def meant(quote: str, said_as: SaidAs, messages: Sequence[str]) -> Evidence | Unproved:
    """Return the words that a user wrote and meant, or why there are none."""
    found = _meant(quote, said_as, messages)
    return found if isinstance(found, Unproved) else found[0]


def own_words_from(quote: str, messages: Sequence[str], name: str) -> str:
    """Return the sentence of a user around a quotation, after its first mention of the session, or an empty string.

    Newer messages are searched first. A model chose where the quotation begins, so the words before it are kept.
    Otherwise *don't drop it* could become *drop it*.
    """
    wanted = _level(_composed(quote)).words.strip(f"{_RIM}?…")
    naming = re.compile(rf"(?<!\w)(?:{re.escape(_level(name).words)}|session|sitzung)(?!\w)[`*_'\",:]*")
    for message in map(_composed, reversed(messages)) if wanted else ():
        own = _level(message)
        if places := _places(wanted, own.words):
            first, end = _sentences_around(own.words, places[0], places[0] + len(wanted))
            named = naming.search(own.words, first, places[0])
            begin = named.end() if named else first
            stop = own.origins[end] if end < len(own.words) else len(message)
            return message[own.origins[begin] : stop].strip()
    return ""


def _sentences_around(text: str, start: int, end: int) -> tuple[int, int]:
    spans = [match.span() for match in _SENTENCE.finditer(text) if match.group()]
    holding = [(low, high) for low, high in spans if low < end and start < high]
    return (min(holding[0][0], start), max(holding[-1][1], end)) if holding else (start, end)


def same_particulars(line: str, other: str) -> bool:
    """Return whether two lines have the same numbers, and each says the names of the other."""
    numbers, others = ({word for number in _NUMBER.findall(one) for word in words_of(number)} for one in (line, other))
    named = all(set(_names(one, ())) <= set(words_of(two)) for one, two in ((line, other), (other, line)))
    return numbers == others and named


def _meant(quote: str, said_as: SaidAs, messages: Sequence[str]) -> tuple[Evidence, _Said] | Unproved:
    found = _found(_composed(quote), [_composed(one) for one in messages])
    if isinstance(found, Unproved):
        return found
    _, said = found
    if _ASKS.search(said.around):
        return Unproved.QUESTION
    return found if said_as in _TAKEN else Unproved.NOT_MEANT


def _found(quote: str, messages: Sequence[str]) -> tuple[Evidence, _Said] | Unproved:
    """Find the quotation, newest message first, and the words around it."""
    wanted = _level(quote).words.strip(_RIM)
    if not wanted:
        return Unproved.NOT_SAID
    short = len(words_of(wanted)) < FEWEST_WORDS
    for place in reversed(range(len(messages))):
        own = _level(_UNSAID.sub(lambda unsaid: _GAP * len(unsaid.group()), messages[place]))
        for start in _places(wanted, own.words):
            if short and wanted != own.words.strip(_RIM):
                return Unproved.TOO_SHORT
            end = start + len(wanted)
            original = messages[place][own.origins[start] : own.origins[end - 1] + 1]
            around = own.words[slice(*_sentences_around(own.words, start, end))]
            return Evidence(place, visible_line(original)), _Said(own.words[start:end], around)
    return Unproved.NOT_SAID


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _level(text: str) -> _Levelled:
    """Normalize a text for comparing quotations: NFKC, no case, one form of space, marks and mentions."""
    found: list[tuple[str, int]] = []
    mentions = {match.start(): match.end() for match in _MENTION.finditer(text)}
    skipped_to = 0
    for place, char in enumerate(text):
        if place < skipped_to:
            continue
        if place in mentions:
            found.append(("@", place))
            skipped_to = mentions[place]
        elif char.isspace():
            found += [(" ", place)] if found and found[-1][0] != " " else []
        else:
            plain = unicodedata.normalize("NFKC", char).translate(_SAME).casefold()
            found += [(one, place) for one in plain]
    return _Levelled("".join(one for one, _ in found), tuple(place for _, place in found))


def _places(wanted: str, text: str) -> list[int]:
    edge = r"(?<!\w)" if wanted[0].isalnum() and wanted[0].isascii() else ""
    end = r"(?!\w)" if wanted[-1].isalnum() and wanted[-1].isascii() else ""
    return [match.start() for match in re.finditer(edge + re.escape(wanted) + end, text)]


def _fault(line: str, quote: str, names: Sequence[str]) -> Unproved | None:
    said = set(words_of(quote))
    if {words for number in _NUMBER.findall(line) for words in words_of(number)} - said:
        return Unproved.NUMBER
    if any(not _is_said(name, said) for name in _names(line, names)):
        return Unproved.NAME
    terms = terms_of(line)
    if terms and not any(_is_said(term.word, said) for term in terms):
        return Unproved.UNRELATED
    return None


def _names(line: str, own: Sequence[str]) -> list[str]:
    known = {word for name in own for word in words_of(name)}
    found = [match for match in _NAME.finditer(line) if match.start() > 0]
    return [word for match in found for word in words_of(match.group()) if word not in known]


def _is_said(name: str, said: set[str]) -> bool:
    return name in said or any(likeness(term, word) > 0.5 for term in terms_of(name) for word in said)  # noqa: PLR2004
