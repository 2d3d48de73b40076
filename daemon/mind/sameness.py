"""Which facts say the same: by plain rules, and which pairs a model may be asked about."""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from daemon.core.words import terms_of
from daemon.memory.consolidation.merging import Line
from daemon.memory.knowledge.records.kinds import Trust
from daemon.mind.quotation import same_particulars

_RIM: Final = " .!;,"
_AKIN: Final = 0.6  # of the telling words of the shorter line
_RANK: Final = (Trust.OWN, Trust.DOCUMENT, Trust.CLAIM, Trust.INFERRED, Trust.NOTED)
_MOST_PAIRS: Final = 20  # that one call is asked about


class Pair(NamedTuple):
    """Two facts of one person, in the order in which they are merged."""

    stays: Line
    goes: Line


def same_pairs(lines: Sequence[Line]) -> list[Pair]:
    """The pairs that plainly say the same, one of them new; each line goes at most once."""
    found: list[Pair] = []
    gone: set[str] = set()
    for one, other in _pairs(lines):
        if one.id not in gone and other.id not in gone and _level(one.text) == _level(other.text):
            pair = _in_order(one, other)
            gone.add(pair.goes.id)
            found.append(pair)
    return found


def alike_pairs(lines: Sequence[Line]) -> list[Pair]:
    """The pairs that may say the same, one of them new: same numbers and names, and words in common."""
    found = [_in_order(one, other) for one, other in _pairs(lines) if _may_be_the_same(one, other)]
    return found[:_MOST_PAIRS]


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    return ((one, other) for one, other in combinations(lines, 2) if one.is_new or other.is_new)


def _in_order(one: Line, other: Line) -> Pair:
    """The better proved stays, of two equal ones the older: it says since when."""
    stays, goes = sorted((one, other), key=lambda line: (_RANK.index(line.trust), line.seq))
    return Pair(stays, goes)


def _may_be_the_same(one: Line, other: Line) -> bool:
    words, others = ({term.word for term in terms_of(line.text)} for line in (one, other))
    fewest = min(len(words), len(others))
    return fewest > 0 and len(words & others) >= _AKIN * fewest and same_particulars(one.text, other.text)


def _level(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_RIM)
