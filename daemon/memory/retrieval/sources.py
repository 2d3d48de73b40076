"""Reads the memories to embed from memory.db (turns, facts, summaries, senses, passages), and the embedding queue."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.vectors import View
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.library import codes_of_passage
from daemon.memory.knowledge.records.links import turn_seq
from daemon.memory.reader_codes import codes_of_turn

_CAPTION: Final = re.compile(r"\s*\[(?:image|photo|picture|file)\b[^\]\n]*\]", re.IGNORECASE)


def own(name: str, text: str) -> str:
    return f"{name}: {_said(text)}"


def with_before(name: str, text: str, when_ms: int, before_name: str, before_text: str) -> str:
    """Return a turn with the one before it as dated sentences, or the turn alone without one before."""
    day = _day(when_ms)
    said = f'On {day}, {name} said, "{_said(text)}"'
    return f'On {day}, {before_name} said, "{_said(before_text)}" {said}' if before_text else said


def _said(text: str) -> str:
    """Return a text without picture captions, which help a search for words and mislead one for meaning."""
    return _CAPTION.sub("", text) or text


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def _day(when_ms: int) -> str:
    day = dt.datetime.fromtimestamp(when_ms / 1000, dt.UTC)
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


class Order(StrEnum):
    """An order to the owner of the index in the embedding queue. No id of a memory begins with `!`."""

    REBUILD = "!rebuild"
    """Delete all vectors and embed everything again."""
    RENEW = "!renew"
    """Give Chroma a new folder and pack vectors.db, which removes deleted vectors from both."""


async def enqueue(transaction: Transaction, ids: Sequence[str]) -> None:
    """Queue ids, or an order. Those already queued move to the end."""
    await transaction.run_for_each("DELETE FROM vector_queue WHERE id = :key", ids)
    await transaction.run_for_each("INSERT INTO vector_queue (id) VALUES (:key)", ids)


async def next_queued(transaction: Transaction, most: int) -> Mapping[str, int]:
    """Return the first ids of the queue with their seq. An order to rebuild comes first.

    An order to renew keeps its place, because deleted vectors must not get into the new folder.
    """
    rows = await transaction.rows(
        "SELECT id, seq FROM vector_queue ORDER BY id <> :rebuild, seq LIMIT :most",
        rebuild=Order.REBUILD,
        most=most,
    )
    return {row["id"]: row["seq"] for row in rows}


async def settle(database: Database, done: Mapping[str, int]) -> None:
    """Delete what is done from the queue, except what was queued again since it was read."""

    async def unit(transaction: Transaction) -> None:
        await transaction.run_for_each("DELETE FROM vector_queue WHERE seq = :key", done.values())

    await database.write(unit, passing=True)


async def is_ordered(transaction: Transaction, order: Order) -> bool:
    return bool(await transaction.rows("SELECT 1 FROM vector_queue WHERE id = :order", order=order))


async def queued(transaction: Transaction) -> int:
    row = await transaction.one("SELECT count(*) AS number FROM vector_queue")
    assert row is not None
    number: int = row["number"]
    return number


_PASSAGE: Final = "LB_"
_MOST_LETTERS: Final = 1_500  # characters of a text; the embedder takes about as many
_BEFORE_LETTERS: Final = 450  # characters of the turn before, to leave room for the turn itself
_SAME_TALK_MS: Final = 4 * 3_600_000  # the longest gap between a turn and the one before it


class Embeddable(Value):
    """A memory to embed: its partitions, and its text by view."""

    id: str
    partitions: tuple[str, ...]
    texts: Mapping[View, str]


async def read_some(transaction: Transaction, ids: Sequence[str]) -> dict[str, Embeddable]:
    """Return the memories among these ids that exist and have to be embedded."""
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
    """Return the next ids of all that may be embedded, and where to go on. Begin with {}. No ids means the end."""
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
