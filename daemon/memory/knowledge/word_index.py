"""A full-text index (FTS5) over the words of rows, in which each entry begins with the code of who may find it.

So the audience stands in every term of a MATCH: a search walks lists of rows that its readers may find, and visits no
other row. (As a column beside the words it takes three times as long: the list of all rows of an audience is walked
again for each word.) Words are those of `core.words`, so that every language is searched in the same way. Rows are
ranked by BM25 (Robertson and Zaragoza 2009) as counted among the rows that may be found: FTS5's own `bm25()` counts
every row of the table and visits each of them.

Every database has its own full-text search, so only this module speaks FTS5. SQLite forbids virtual tables in triggers
where the schema isn't trusted: a row is indexed in the unit that writes it. The table beside the index keeps what was
indexed, because FTS5 can take out only what it is told exactly.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from daemon.core.words import SHORTEST_STEM, Term, likeness, words_of
from daemon.memory.database import Transaction
from daemon.memory.reader_codes import entries

EACH: Final = 48
"""Newest rows that are looked at for one word; of a word in more rows the older ones need a second word in common."""

CANDIDATES: Final = 24
"""Rows whose words are compared in full."""

_PAIRS_OF: Final = 3  # of so many frequent words, rows that hold two are looked for
_RARE: Final = 1_000.0  # a word in one row weighs as much as one in a thousandth of so many
_LENGTH: Final = 0.12  # by how much a row of twice the words needs more in common
_PAGES: Final = 64  # that are merged in one unit
_CHANGED: Final = 2  # rows that a merge changes at least when there was something to do
_WEAKER: Final = 0.6  # what a beginning in common counts before the words are compared


@dataclass(frozen=True, slots=True)
class Hits:
    """The rows found by `seq` with a first guess of how well they fit, and what each term weighs."""

    guesses: Mapping[int, float]
    weights: Mapping[Term, float]

    def best(self) -> list[int]:
        """The rows worth comparing in full, best guess first, the newer first where equal."""
        return sorted(self.guesses, key=lambda seq: (-self.guesses[seq], -seq))[:CANDIDATES]

    def fit(self, words: Collection[str]) -> float:
        """How well a row with these words fits: comparable among all rows of one query, whatever their index."""
        best: dict[Term, float] = {}
        for word, term in _alike(words, self.weights):
            best[term] = max(best.get(term, 0.0), likeness(term, word))
        score = sum(alike * self.weights[term] for term, alike in best.items())
        return score / (1 + _LENGTH * math.log2(1 + len(words) / 16))


class WordIndex:
    """One index: `NAME_index` and, beside it, `NAME_words`; the name is a literal of this package."""

    def __init__(self, name: str) -> None:
        self._name, self._index, self._words = name, f"{name}_index", f"{name}_words"

    async def put(self, transaction: Transaction, rows: Sequence[tuple[int, Sequence[str], str]]) -> None:
        """Index rows that aren't indexed yet: seq, codes of one length, text.

        The index comes last and all at once: between other statements FTS5 would write a segment for each row.
        """
        kept = [(seq, " ".join(readers), " ".join(dict.fromkeys(words_of(text)))) for seq, readers, text in rows]
        for seq, codes, words in kept:
            await transaction.insert(self._words, seq=seq, readers=codes, words=words)
        for seq, codes, words in kept:
            await transaction.insert(self._index, rowid=seq, entries=entries(codes, words))

    async def remove(self, transaction: Transaction, seq: int) -> None:
        """Take a row out of the index; one that isn't there is none."""
        kept = await transaction.one(f"DELETE FROM {self._words} WHERE seq = :seq RETURNING readers, words", seq=seq)  # noqa: S608
        if kept is not None:
            await transaction.run(
                f"INSERT INTO {self._index} ({self._index}, rowid, entries) VALUES ('delete', :seq, :entries)",  # noqa: S608
                seq=seq,
                entries=entries(kept["readers"], kept["words"]),
            )
            await transaction.insert(
                "erased_words",
                "ON CONFLICT (name) DO UPDATE SET rows_gone = erased_words.rows_gone + 1",
                name=self._name,
                rows_gone=1,
            )

    async def find(self, transaction: Transaction, readers: Collection[str], terms: Sequence[Term]) -> Hits:
        """The rows that hold a term and one of the codes."""
        if not readers or not terms:
            return Hits({}, {})
        found = await self._newest(transaction, readers, {term: (term,) for term in terms})
        weights = _weights(found)
        frequent = [term for term in terms if len(found.get(term, ())) >= EACH]
        closer: dict[_Asked, tuple[Term, ...]] = {term: (Term(term.word),) for term in frequent if term.stem}
        closer |= {pair: pair for pair in combinations(frequent[:_PAIRS_OF], 2)}
        nearer = await self._newest(transaction, readers, closer) if closer else {}
        return Hits(_guesses(found, nearer, weights), weights)

    async def words(self, transaction: Transaction, seqs: Sequence[int]) -> dict[int, list[str]]:
        """The words of rows by `seq`."""
        keys = {f"seq{number}": seq for number, seq in enumerate(seqs)}
        rows = await transaction.rows(
            f"SELECT seq, words FROM {self._words} WHERE seq IN ({', '.join(f':{key}' for key in keys)})",  # noqa: S608
            **keys,
        )
        return {row["seq"]: row["words"].split() for row in rows}

    async def _newest(
        self, transaction: Transaction, readers: Collection[str], asked: Mapping["_Asked", Sequence[Term]]
    ) -> dict["_Asked", list[int]]:
        """The newest rows that hold all terms of a question, for each question and each code; in one statement."""
        arms = [
            (key, " AND ".join(_entry(one, term) for term in terms)) for key, terms in asked.items() for one in readers
        ]
        statement = " UNION ALL ".join(
            f"""
            SELECT * FROM (SELECT {number} AS arm, rowid AS seq FROM {self._index}
                           WHERE {self._index} MATCH :arm{number} ORDER BY rowid DESC LIMIT {EACH}) q{number}
            """  # noqa: S608 - numbers and literals of this package
            for number in range(len(arms))
        )
        found = defaultdict[_Asked, list[int]](list)
        for row in await transaction.rows(
            statement, **{f"arm{number}": match for number, (_, match) in enumerate(arms)}
        ):
            found[arms[row["arm"]][0]].append(row["seq"])
        return {key: sorted(seqs, reverse=True) for key, seqs in found.items()}


async def merge(transaction: Transaction, name: str, *, begun: bool) -> bool:
    """Merge some pages of an index, so that what was taken out leaves the file; whether there is more to merge.

    The first call, not `begun`, plans to merge all of it (sqlite.org/fts5.html, section 6.9).
    """
    before = await transaction.one("SELECT total_changes() AS n")
    await transaction.run(
        f"INSERT INTO {name}_index ({name}_index, rank) VALUES ('merge', :pages)",  # noqa: S608 - a literal of this package
        pages=_PAGES if begun else -_PAGES,
    )
    after = await transaction.one("SELECT total_changes() AS n")
    assert before is not None
    assert after is not None
    return bool(after["n"] - before["n"] >= _CHANGED)


_Asked = Term | tuple[Term, Term]
"""What is asked of the index: rows with a term, or with two at once."""


def _entry(reader: str, term: Term) -> str:
    """A term in any of its forms, as FTS5 is asked for it; code and words hold letters, digits and marks alone."""
    return f'"{reader}{term.stem}" *' if term.stem else f'"{reader}{term.word}"'


def _weights(found: Mapping[_Asked, Sequence[int]]) -> dict[Term, float]:
    """What each term that was found weighs: a rare one more (the inverse frequency of BM25)."""
    newest = max((seqs[0] for seqs in found.values()), default=0)
    weights = {}
    for term, seqs in found.items():
        assert isinstance(term, Term)
        rows = float(len(seqs))
        if rows >= EACH:  # of a frequent word only the newest were read: they tell how often it comes
            rows = max(rows, rows * newest / max(1, newest - seqs[-1] + 1))
        weights[term] = math.log(1 + _RARE / (rows + 0.5))
    return weights


def _guesses(
    found: Mapping[_Asked, Sequence[int]], nearer: Mapping[_Asked, Sequence[int]], weights: Mapping[Term, float]
) -> dict[int, float]:
    """How well each row seems to fit, by the terms that it surely holds in some form; the word itself counts more."""
    guesses: dict[int, float] = defaultdict(float)
    held: dict[Term, set[int]] = {term: set(seqs) for term, seqs in found.items() if isinstance(term, Term)}
    for asked, seqs in nearer.items():
        for term in (asked,) if isinstance(asked, Term) else asked:
            held[term].update(seqs)
    for term, rows in held.items():
        exact = set(nearer.get(term, ()))
        for seq in rows:
            guesses[seq] += weights[term] * (1.0 if seq in exact or not term.stem else _WEAKER)
    return dict(guesses)


def _alike(words: Collection[str], terms: Collection[Term]) -> Iterator[tuple[str, Term]]:
    """The words and terms that may be forms of each other."""
    heads: dict[str, list[Term]] = defaultdict(list)
    for term in terms:
        heads[(term.stem or term.word)[:SHORTEST_STEM]].append(term)
    for word in words:
        for term in heads.get(word[:SHORTEST_STEM], ()):
            yield word, term
