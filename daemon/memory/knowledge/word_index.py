"""Full-text indexes (FTS5) over the words of rows, in which each entry begins with the code of its readers."""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations
from typing import Final

from msgspec import field

from daemon.core.errors import IndexDamaged
from daemon.core.value import Value
from daemon.core.words import Term, words_of
from daemon.memory.database import Transaction, one_of
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.reader_codes import entries

_AT_ONCE: Final = 32  # rows that are indexed in one transaction, to keep it short
_DAMAGE: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT)  # FTS5 raises these for damaged rows
_NOTHING: Final = -1  # the index must be emptied first
_ALL: Final = 2**63 - 1


def is_damage(error: sqlite3.Error) -> bool:
    """Return True if a statement on an index failed because of damaged content."""
    return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGE


def trusted_to(name: str) -> str:
    """Return SQL for the last row that an index holds correctly, as `trusted_to` after a RETURNING or SELECT."""
    return f"coalesce((SELECT rebuilt_to FROM distrusted_indexes WHERE name = '{name}'), {_ALL}) AS trusted_to"  # noqa: S608 - a literal


async def distrust(transaction: Transaction, name: str) -> None:
    await transaction.insert(
        "distrusted_indexes",
        "ON CONFLICT (name) DO UPDATE SET rebuilt_to = excluded.rebuilt_to",
        name=name,
        rebuilt_to=_NOTHING,
    )


async def carefully(transaction: Transaction, name: str, change: Callable[[], Awaitable[None]]) -> bool:
    """Change an index. If the index is damaged, undo the change, distrust the index and return False."""
    await transaction.run("SAVEPOINT indexing")
    try:
        await change()
        await transaction.run("SAVEPOINT written")  # makes FTS5 write now, not at a later statement
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        await transaction.run("ROLLBACK TO indexing")
        await distrust(transaction, name)
        sound = False
    else:
        sound = True
    await transaction.run("RELEASE indexing")
    return sound


async def rebuild(transaction: Transaction, name: str) -> int | None:
    """Add some rows to a distrusted index in one short transaction. Return their number, or None once it is whole."""
    row = await transaction.one(f"SELECT {trusted_to(name)}")
    assert row is not None
    done = row["trusted_to"]
    if done == _ALL:
        return None
    if done == _NOTHING:
        await transaction.run(f"INSERT INTO {name}_index ({name}_index) VALUES ('delete-all')")  # noqa: S608 - a literal
        await _note(transaction, name, 0)
        return 0
    rows = await transaction.rows(
        f"SELECT seq, readers, words FROM {name}_words WHERE seq > :done ORDER BY seq LIMIT {_AT_ONCE}",  # noqa: S608 - a literal
        done=done,
    )
    for row in rows:
        await transaction.insert(f"{name}_index", rowid=row["seq"], entries=entries(row["readers"], row["words"]))
    if not rows:
        await transaction.run("DELETE FROM distrusted_indexes WHERE name = :name", name=name)
        return None
    await _note(transaction, name, rows[-1]["seq"])
    return len(rows)


async def _note(transaction: Transaction, name: str, seq: int) -> None:
    await transaction.run("UPDATE distrusted_indexes SET rebuilt_to = :seq WHERE name = :name", name=name, seq=seq)


EACH: Final = 120
"""The newest rows looked at for one word. Older rows with a frequent word need a second word in common."""

MOST_RANKED: Final = 8
"""The number of rarest terms of a query that rank rows. More terms cost time and find nothing else."""

FORM: Final = 0.5
"""The weight of a row that holds another word with the same beginning, relative to the word itself."""

_PAIRS_OF: Final = 3  # frequent words of which rows with two are looked for
_PAGES: Final = 64  # pages that are merged in one transaction
_CHANGED: Final = 2  # the fewest rows that a merge changes if there was something to do


class Postings(Value):
    """The rows in which the terms of a query occur, among `size` rows that may be found.

    `rows` gives for each term the rows with 1, or FORM for another form of the word. `counts` estimates how many rows
    hold the term in any form.
    """

    rows: Mapping[Term, Mapping[int, float]] = field(default_factory=dict)
    counts: Mapping[Term, float] = field(default_factory=dict)
    size: int = 0

    @property
    def found(self) -> set[int]:
        return {seq for rows in self.rows.values() for seq in rows}


class WordIndex:
    """A full-text index: the tables `NAME_index` and `NAME_words`. The name is a literal of this package.

    The audience is part of every term of a MATCH. A search visits only rows that its readers may find. As a column it
    would take three times as long, because each word walks through the audience's rows. `ranking` ranks the results,
    because FTS5's own `bm25()` visits every row. SQLite forbids virtual tables in triggers of an untrusted schema. The
    writer of a row therefore indexes it, too. `NAME_words` keeps what was indexed, because FTS5 deletes only exact
    entries.
    """

    def __init__(self, name: str) -> None:
        self._name, self._index, self._words = name, f"{name}_index", f"{name}_words"

    def is_meant(self, error: IndexDamaged) -> bool:
        return error.message.startswith(f"{self._index} ")

    async def put(self, transaction: Transaction, rows: Sequence[tuple[int, Sequence[str], str]]) -> None:
        """Index rows that aren't indexed yet: seq, codes of one length, text.

        The index entries are written last and together, because FTS5 would otherwise write a segment for each row.
        """
        kept = [(seq, " ".join(readers), " ".join(dict.fromkeys(words_of(text)))) for seq, readers, text in rows]
        returning = f"RETURNING {trusted_to(self._name)}"
        stored = [
            await transaction.insert(self._words, returning, seq=seq, readers=codes, words=words)
            for seq, codes, words in kept
        ]

        async def index() -> None:
            for (seq, codes, words), row in zip(kept, stored, strict=True):
                if row is not None and seq <= row["trusted_to"]:
                    await transaction.insert(self._index, rowid=seq, entries=entries(codes, words))

        await carefully(transaction, self._name, index)

    async def remove(self, transaction: Transaction, seq: int) -> None:
        """Remove a row from the index, if it is there."""
        kept = await transaction.one(
            f"DELETE FROM {self._words} WHERE seq = :seq RETURNING readers, words, {trusted_to(self._name)}",  # noqa: S608
            seq=seq,
        )
        if kept is None:
            return

        async def take_out() -> None:
            await transaction.run(
                f"INSERT INTO {self._index} ({self._index}, rowid, entries) VALUES ('delete', :seq, :entries)",  # noqa: S608
                seq=seq,
                entries=entries(kept["readers"], kept["words"]),
            )

        if seq <= kept["trusted_to"] and await carefully(transaction, self._name, take_out):
            await transaction.insert(
                "erased_words",
                "ON CONFLICT (name) DO UPDATE SET rows_gone = erased_words.rows_gone + 1",
                name=self._name,
                rows_gone=1,
            )

    async def distrust(self, transaction: Transaction) -> None:
        await distrust(transaction, self._name)

    async def find(
        self, transaction: Transaction, readers: Collection[Sequence[str]], terms: Sequence[Term]
    ) -> Postings:
        """Return the rows that hold the rarest of the terms behind one of the codes, for each group of codes.

        Raises IndexDamaged.
        """
        sizes = await self._sizes(transaction, readers) if terms else {}
        readers = [some for group in readers if (some := [code for code in group if sizes.get(code)])]
        if not readers:
            return Postings()
        forms = await self._newest(transaction, readers, [(term,) for term in terms])
        counts = {term: _count(forms.get((term,), ())) for term in terms}
        rarest = nsmallest(MOST_RANKED, terms, key=lambda term: counts[term])
        words = [Term(term.word) for term in rarest if term.stem and (term,) in forms]
        frequent = [term for term in rarest if len(forms.get((term,), ())) >= EACH]
        pairs = list(combinations(frequent[:_PAIRS_OF], 2))
        more = await self._newest(transaction, readers, [*((word,) for word in words), *pairs])
        return Postings(
            {term: _held(term, forms, more) for term in terms if term in rarest},
            {term: count for term, count in counts.items() if term in rarest},
            sum(sizes.values()),
        )

    async def _sizes(self, transaction: Transaction, readers: Collection[Sequence[str]]) -> dict[str, int]:
        among, keys = one_of([code for group in readers for code in group])
        rows = await transaction.rows(
            f"SELECT code, size FROM index_sizes WHERE name = :name AND code IN {among}",  # noqa: S608
            name=self._name,
            **keys,
        )
        return {code: int(size) for code, size in rows}

    async def _newest(
        self, transaction: Transaction, readers: Collection[Sequence[str]], asked: Sequence["_Asked"]
    ) -> dict["_Asked", list[int]]:
        arms = [(terms, " AND ".join(_entry(group, term) for term in terms)) for terms in asked for group in readers]
        found = defaultdict[_Asked, list[int]](list)
        matching = await self._matching(transaction, [match for _, match in arms])
        for (terms, _), seqs in zip(arms, matching, strict=True):
            found[terms] += seqs
        return {terms: sorted(seqs, reverse=True) for terms, seqs in found.items() if seqs}

    async def _matching(self, transaction: Transaction, matches: Sequence[str]) -> list[list[int]]:
        try:
            return await transaction.gathered(
                f"""
                SELECT json_group_array(json((
                  SELECT json_group_array(seq) FROM (
                    SELECT rowid AS seq FROM {self._index} WHERE {self._index} MATCH arm.value
                    ORDER BY rowid DESC LIMIT {EACH}))) ORDER BY arm.key)
                FROM json_each(:matches) arm
                """,  # noqa: S608 - numbers and literals of this package
                matches=json.dumps(matches),
            )
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            raise IndexDamaged(f"{self._index} is damaged", hint="it is built anew within the hour") from error


async def merge(transaction: Transaction, name: str, *, begun: bool) -> bool:
    """Merge some pages of an index. Return True if there is more to merge (sqlite.org/fts5.html, section 6.9).

    The first call (not `begun`) starts a complete merge, which removes deleted entries from the file. Without such a
    call only segments of about the same size are joined, small ones first.
    """
    before = await _changes(transaction)

    async def some() -> None:
        await transaction.run(
            f"INSERT INTO {name}_index ({name}_index, rank) VALUES ('merge', :pages)",  # noqa: S608 - a literal of this package
            pages=_PAGES if begun else -_PAGES,
        )

    return await carefully(transaction, name, some) and await _changes(transaction) - before >= _CHANGED


async def segments(transaction: Transaction, name: str) -> list[int]:
    """Return the pages of each segment of an index, largest first. A search looks up each word in each segment."""
    rows = await transaction.rows(f"SELECT count(*) AS pages FROM {name}_index_idx GROUP BY segid ORDER BY pages DESC")  # noqa: S608 - a literal
    return [int(row["pages"]) for row in rows]


async def _changes(transaction: Transaction) -> int:
    row = await transaction.one("SELECT total_changes() AS n")
    assert row is not None
    return int(row["n"])


_Asked = tuple[Term, ...]
"""A query to the index: rows must hold all of these terms."""


def _entry(readers: Sequence[str], term: Term) -> str:
    forms = [f'"{one}{term.stem}" *' if term.stem else f'"{one}{term.word}"' for one in readers]
    return f"({' OR '.join(forms)})"


def _held(
    term: Term, forms: Mapping["_Asked", Sequence[int]], more: Mapping["_Asked", Sequence[int]]
) -> dict[int, float]:
    share = FORM if term.stem else 1.0
    rows = dict.fromkeys(forms.get((term,), ()), share)
    for terms, seqs in more.items():
        if len(terms) > 1 and term in terms:
            rows |= dict.fromkeys(seqs, share)
    return rows | dict.fromkeys(more.get((Term(term.word),), ()), 1.0)


def _count(seqs: Sequence[int]) -> float:
    """Return or estimate how many rows hold a term. For a frequent term the newest rows show its frequency."""
    if len(seqs) < EACH:
        return float(len(seqs))
    return max(float(len(seqs)), len(seqs) * seqs[0] / max(1, seqs[0] - seqs[-1] + 1))
