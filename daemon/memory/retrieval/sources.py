"""Reads from memory.db what is embedded: turns, facts, summaries, senses and passages; no thoughts, no journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.vectors import View
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.library import codes_of_passage
from daemon.memory.knowledge.records.ids import turn_seq
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.retrieval.recipes import own, with_before
from daemon.memory.retrieval.vector_queue import Order

_PASSAGE: Final = "LB_"
_MOST_LETTERS: Final = 1_500  # of a text; the embedder takes about as many
_BEFORE_LETTERS: Final = 450  # of the turn before, so that the turn itself is not cut off
_SAME_TALK_MS: Final = 4 * 3_600_000  # later than so, a turn follows no turn before it


@dataclass(frozen=True, slots=True)
class Embeddable:
    """One memory: the partitions that it lies in, and its text by the view."""

    id: str
    partitions: tuple[str, ...]
    texts: Mapping[View, str]


async def read_some(transaction: Transaction, ids: Sequence[str]) -> dict[str, Embeddable]:
    """Those of the memories that exist and are to be embedded, by id."""
    turns = {one: seq for one in ids if (seq := turn_seq(one)) is not None}
    passages = {one: int(one[len(_PASSAGE) :]) for one in ids if is_passage(one)}
    numbered = {*turns, *passages, *Order}
    records = [one for one in ids if one not in numbered]
    found = [
        *(_turn(row) for row in await _rows(transaction, _TURNS, list(turns.values()))),
        *(_record(row) for row in await _rows(transaction, _RECORDS, records)),
        *(_passage(row) for row in await _rows(transaction, _PASSAGES, list(passages.values()))),
    ]
    return {one.id: one for one in found if one.id in set(ids)}  # TL_7 is no name of the user's turn 7


async def ids_after(transaction: Transaction, after: Mapping[str, int], most: int) -> tuple[list[str], dict[str, int]]:
    """The next ids of all that may be embedded, and where to go on; first after {}. No ids: that was all."""
    ids: list[str] = []
    places = dict(after)
    for table, row_id in _ALL.items():
        rows = await transaction.rows(
            f"SELECT {row_id} AS id, seq FROM {table} WHERE seq > :after ORDER BY seq LIMIT :most",  # noqa: S608 - literals
            after=places.get(table, 0),
            most=most - len(ids),
        )
        ids += [row["id"] for row in rows]
        if rows:
            places[table] = rows[-1]["seq"]
        if len(ids) >= most:
            break
    return ids, places


async def count_embeddable(transaction: Transaction) -> int:
    """How many memories are to be embedded."""
    row = await transaction.one(
        f"""
        SELECT (SELECT count(*) FROM turns WHERE {_SPOKEN}) + (SELECT count(*) FROM records WHERE {_SEARCHED})
          + (SELECT count(*) FROM library_passages) AS number
        """  # noqa: S608 - constants of this module
    )
    assert row is not None
    number: int = row["number"]
    return number


def is_passage(one: str) -> bool:
    """Whether an id is that of a passage of the library."""
    return one.startswith(_PASSAGE) and one[len(_PASSAGE) :].isdecimal()


_TURN_ID: Final = "iif(speaker = 'soul', 'TL_', 'TU_') || seq"
_ALL: Final = {"turns": _TURN_ID, "records": "id", "library_passages": f"'{_PASSAGE}' || seq"}
_SPOKEN: Final = "kind <> 'apology' AND passing = 0 AND body <> ''"
_SEARCHED: Final = "kind IN ('episode', 'core', 'sphere', 'fact', 'sense') AND text <> ''"
_TURNS: Final = f"""
    SELECT iif(t.speaker = 'soul', 'TL_', 'TU_') || t.seq AS id, t.conversation, t.audience, t.name,
      t.author, t.said_ms, substr(t.body, 1, {_MOST_LETTERS}) AS body,
      p.audience AS before_audience, p.name AS before_name, p.author AS before_author, p.said_ms AS before_ms,
      substr(p.body, 1, {_BEFORE_LETTERS}) AS before_body
    FROM turns t LEFT JOIN turns p ON p.kind <> 'apology' AND p.passing = 0 AND p.seq =
      (SELECT max(seq) FROM turns WHERE conversation = t.conversation AND seq < t.seq)
    WHERE t.kind <> 'apology' AND t.passing = 0 AND t.body <> '' AND t.seq IN (%s)
    """  # noqa: S608 - a constant of this module
_RECORDS: Final = f"SELECT id, soul, workspace, channel, audience, text FROM records WHERE {_SEARCHED} AND id IN (%s)"  # noqa: S608
_PASSAGES: Final = f"SELECT '{_PASSAGE}' || seq AS id, path, body FROM library_passages WHERE seq IN (%s)"  # noqa: S608


async def _rows(transaction: Transaction, statement: str, keys: Sequence[object]) -> list[sqlite3.Row]:
    if not keys:
        return []
    names = {f"key{number}": key for number, key in enumerate(keys)}
    return await transaction.rows(statement % ", ".join(f":{name}" for name in names), **names)


def _turn(row: sqlite3.Row) -> Embeddable:
    name = row["name"] or row["author"]
    follows = (
        row["before_body"] is not None
        and row["before_audience"] == row["audience"]
        and row["said_ms"] - row["before_ms"] <= _SAME_TALK_MS
    )
    before = (row["before_name"] or row["before_author"], row["before_body"]) if follows else ("", "")
    texts = {
        View.OWN: _cut(own(name, row["body"])),
        View.BEFORE: _cut(with_before(name, row["body"], row["said_ms"], *before)),
    }
    return Embeddable(row["id"], codes_of_turn(ConversationKey.parse(row["conversation"]), row["audience"]), texts)


def _record(row: sqlite3.Row) -> Embeddable:
    where = ConversationKey(row["soul"], row["workspace"], row["channel"])
    return Embeddable(row["id"], codes_of_turn(where, row["audience"]), {View.OWN: _cut(row["text"])})


def _passage(row: sqlite3.Row) -> Embeddable:
    return Embeddable(row["id"], codes_of_passage(row["path"]), {View.OWN: _cut(row["body"])})


def _cut(text: str) -> str:
    return text[: 2 * _MOST_LETTERS]
