"""The soul's messages to others that repeat a forgotten person's own words: they are deleted too.

Own words are those that the person said, or showed in a file, and no other user. Replies to others are checked in the
person's conversations, where a memory of theirs had surfaced, and after an earlier such reply. Posts are checked in the
same channels, and those to one person alone, because answers to *why* are no turns.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from daemon.core.contexts import OPERATOR
from daemon.core.lineage import context_id
from daemon.core.perception import ConversationKey
from daemon.core.value import Value
from daemon.core.words import spans_of, words_of
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.people.known import NAMES_OF_PERSON
from daemon.memory.records import IN_PRIVATE
from daemon.memory.row_conditions import EMPTIED, REDACTED
from daemon.memory.stream.emptying import empty_thoughts_on
from daemon.memory.tables import TABLES, Table

Rows = Callable[..., Awaitable[list[sqlite3.Row]]]
"""`rows` of a database or a transaction."""

_LETTERS: Final = 4  # a shorter word of an alphabet never counts as a person's own
_AT_ONCE: Final = 500  # rows of one read, which has to be short


class Repeats(Value):
    """The person's own `words`, and the numbers of the soul's `turns` with one of them, up to `upto`.

    `posts` are the numbers of its posts with kept texts in these `channels`, up to `posts_upto`.
    """

    words: frozenset[str] = frozenset()
    turns: frozenset[int] = frozenset()
    upto: int = 0
    posts: frozenset[int] = frozenset()
    posts_upto: int = 0
    channels: frozenset[str] = frozenset()

    def holds_one(self, *texts: str) -> bool:
        return any(not self.words.isdisjoint(words_of(text)) for text in texts)

    def without_them(self, value: Any, *, names: bool = False) -> Any:  # noqa: ANN401  # any JSON value
        """Return a text, or all texts of a JSON value, without the person's own words.

        With `names` those of fields too, where people and souls chose them.
        """
        if isinstance(value, str):
            places = [(start, end) for word, start, end in spans_of(value) if word in self.words]
            for start, end in reversed(places):
                value = f"{value[:start]}…{value[end:]}"
            return value
        if isinstance(value, list):
            return [self.without_them(one, names=names) for one in value]
        if not isinstance(value, dict):
            return value
        return {self.without_them(key) if names else key: self.without_them(value[key], names=names) for key in value}


NO_REPEATS: Final = Repeats()


async def find_repeats(rows: Rows, workspace: str, person: str, theirs: Sequence[int]) -> Repeats:
    """Find the repeats in many short reads. `theirs` are the numbers of the turns to delete anyway."""
    looking = _Looking(rows, workspace, person)
    (newest,) = await looking.rows("SELECT coalesce(max(seq), 0) AS seq FROM turns")
    (post,) = await looking.rows("SELECT coalesce(max(seq), 0) AS seq FROM outbox")
    if not (words := await looking.own_words(theirs)):
        return NO_REPEATS
    turns, posts = await looking.repeated(words, theirs), await looking.posted(words)
    return Repeats(words, turns, newest["seq"], posts, post["seq"], looking.channels)


async def repeats_since(transaction: Transaction, workspace: str, before: Repeats) -> frozenset[int]:
    """Return the repeats since the search. It is short, because few turns are that new."""
    if not before.words:
        return frozenset()
    rows = await transaction.rows(
        """
        SELECT t.seq, t.body FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.seq > :upto AND t.speaker = 'soul' AND c.workspace = :workspace
        """,
        upto=before.upto,
        workspace=workspace,
    )
    return frozenset(row["seq"] for row in rows if before.holds_one(row["body"]))


async def erase_repeats(transaction: Transaction, conversations: Sequence[str], found: Repeats, now: int) -> None:
    """Remove the words from rows other than turns: posts, reminders, requests, notes and shared contexts."""
    if not found.words:
        return
    for table in TABLES:
        if table.repeats is not None:
            await _leave_out(transaction, table, *table.repeats, conversations, found, now)
    posts = await transaction.rows(
        _THESE_POSTS,
        seqs=json.dumps(sorted(found.posts)),
        upto=found.posts_upto,
        channels=json.dumps(sorted(found.channels)),
    )
    for row in posts:
        if found.holds_one(row["body"]):
            await transaction.run(_BLANK_POST, key=row["id"], now=now)
    await _redact_notes(transaction, found)
    await _redact_contexts(transaction, found, now)


async def _leave_out(  # noqa: PLR0917 - one of each
    transaction: Transaction,
    table: Table,
    which: str,
    columns: str,
    change: str,
    conversations: Sequence[str],
    found: Repeats,
    now: int,
) -> None:
    """Change or delete the rows of conversations that repeat the words, or take these out."""
    rows = await transaction.rows(
        f"SELECT {table.key} AS key, {', '.join(columns.split())} FROM {table.name} "  # noqa: S608 - declared there
        f"WHERE {which} AND conversation IN (SELECT value FROM json_each(:ids))",
        ids=json.dumps(list(conversations)),
    )
    act = f"UPDATE {table.name} SET {change}" if change else f"DELETE FROM {table.name}"  # noqa: S608 - declared there
    for row in rows:
        texts = {name: str(row[name]) for name in columns.split()}
        if found.holds_one(*texts.values()):
            plain = {name: _redacted(name, text, found) for name, text in texts.items()} if change == REDACTED else {}
            taken = f"UPDATE {table.name} SET {', '.join(f'{name} = :{name}' for name in plain)}" if plain else act  # noqa: S608 - declared there
            await transaction.run(f"{taken} WHERE {table.key} = :key", key=row["key"], now=now, **plain)


def _redacted(column: str, text: str, found: Repeats) -> str:
    if column != "params":  # the one that is JSON: a text that only looks like it stays a text
        return str(found.without_them(text))
    try:
        return json.dumps(found.without_them(json.loads(text)))
    except (ValueError, RecursionError):
        return "{}"


async def _redact_notes(transaction: Transaction, found: Repeats) -> None:
    for row in await transaction.rows("SELECT id, inbox, words FROM shared_messages"):
        if found.holds_one(row["words"]):
            words = found.without_them(row["words"])
            await transaction.run("UPDATE shared_messages SET words = :words WHERE id = :id", words=words, id=row["id"])
            await transaction.run("UPDATE inbox SET body = :words WHERE id = :id", words=words, id=row["inbox"])
            await empty_thoughts_on(transaction, [row["id"]])


async def _redact_contexts(transaction: Transaction, found: Repeats, now: int) -> None:
    """Remove the words from shared contexts, as a soul may have taken them from the person's messages.

    Old versions lose the words in place and are marked as redacted. The newest becomes a new version in the admin's
    name: watchers receive it, and writers with an old version are refused.
    """

    def without(data: str) -> str:
        return json.dumps(found.without_them(json.loads(data), names=True), ensure_ascii=False, sort_keys=True)

    changed = set[str]()
    for row in await transaction.rows("SELECT context_key, version, data FROM shared_context_history"):
        if found.holds_one(row["data"]):
            changed.add(row["context_key"])
            await transaction.run(
                "UPDATE shared_context_history SET data = :data, redacted = 1 "
                "WHERE context_key = :key AND version = :version",
                data=without(row["data"]),
                key=row["context_key"],
                version=row["version"],
            )
    for row in await transaction.rows("SELECT context_key, version, data FROM shared_context"):
        if found.holds_one(row["data"]):
            new = {"data": without(row["data"]), "version": row["version"] + 1, "author": OPERATOR}
            await transaction.run(
                """
                UPDATE shared_context SET data = :data, version = :version, author = :author, updated_ms = :now
                WHERE context_key = :key
                """,
                key=row["context_key"],
                now=now,
                **new,
            )
            await transaction.insert("shared_context_history", context_key=row["context_key"], at_ms=now, **new)
            changed.add(row["context_key"])
    await empty_thoughts_on(transaction, map(context_id, sorted(changed)))


_BLANK_POST: Final = f"UPDATE outbox SET {EMPTIED} WHERE id = :key"  # noqa: S608 - a constant
_THERE: Final = f"""
    (instr(o.id, '{IN_PRIVATE}') > 0 OR c.channel IN (SELECT value FROM json_each(:channels)))
    """  # noqa: S608 - a constant
_THESE_POSTS: Final = f"""
    SELECT id, body FROM outbox WHERE seq IN (SELECT value FROM json_each(:seqs))
    UNION ALL SELECT o.id, o.body FROM outbox o JOIN conversations c ON c.id = o.conversation
    WHERE o.seq > :upto AND {_THERE}
    """  # noqa: S608 - constants


@dataclass
class _Looking:
    rows: Rows
    workspace: str
    person: str
    _seen: set[str] = field(default_factory=set)
    _where: set[str] = field(default_factory=set)

    @property
    def channels(self) -> frozenset[str]:
        return frozenset(ConversationKey.parse(one).channel for one in self._where)

    async def own_words(self, theirs: Sequence[int]) -> frozenset[str]:
        """Return the words that only the person and their sessions said."""
        words = set[str]()
        said = [await self.rows(_SAID, seqs=json.dumps(list(part)), person=self.person) for part in _sliced(theirs)]
        for row in (*chain(*said), *await self.rows(_RECORDED, workspace=self.workspace, person=self.person)):
            words.update(one for one in words_of(row["body"]) if len(one) >= _LETTERS or not one.isascii())
        after = 0
        while words and (others := await self.rows(_OTHERS, after=after, person=self.person, most=_AT_ONCE)):
            for row in others:
                words.difference_update(words_of(row["body"]))
            after = others[-1]["seq"]
        return frozenset(words)

    async def repeated(self, words: frozenset[str], theirs: Sequence[int]) -> frozenset[int]:
        """Return the soul's turns with one of the words that are reached from the person's turns."""
        known, found, fresh = set(theirs), set[int](), list(theirs)
        own = Repeats(words)
        while fresh:
            rows = [row for part in _sliced(fresh) for row in await self._reached(part)]
            fresh = [row["seq"] for row in rows if row["seq"] not in known and own.holds_one(row["body"])]
            fresh = list(dict.fromkeys(fresh))
            known.update(fresh)
            found.update(fresh)
        return frozenset(found)

    async def posted(self, words: frozenset[str]) -> frozenset[int]:
        """Return the numbers of the kept posts with one of the words."""
        own, found, last = Repeats(words), set[int](), {"since": 0, "after": 0}
        where = {"workspace": self.workspace, "channels": json.dumps(sorted(self.channels)), "most": _AT_ONCE}
        while rows := await self.rows(_POSTS, **where, **last):
            found.update(row["seq"] for row in rows if own.holds_one(row["body"]))
            last = {"since": rows[-1]["created_ms"], "after": rows[-1]["seq"]}
        return frozenset(found)

    async def _reached(self, turns: Sequence[int]) -> list[sqlite3.Row]:
        conversations = await self.rows(_STAND_IN, seqs=json.dumps(list(turns)))
        reached = list[sqlite3.Row]()
        for row in conversations:
            if row["conversation"] not in self._seen:
                self._seen.add(row["conversation"])
                reached += await self.rows(_SOUL_THERE, id=row["conversation"])
        surfaced = await self.rows(_SURFACED, seqs=json.dumps(list(turns)))
        self._where.update(row["conversation"] for row in (*conversations, *surfaced))
        return reached + surfaced


def _sliced(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


_SAID: Final = f"""
    SELECT body FROM turns WHERE seq IN (SELECT value FROM json_each(:seqs)) AND speaker <> 'soul'
      AND author IN ({NAMES_OF_PERSON})
    """  # noqa: S608 - a constant
_RECORDED: Final = "SELECT text AS body FROM records WHERE person = :person AND workspace = :workspace"
_OTHERS: Final = f"""
    SELECT seq, body FROM turns WHERE seq > :after AND speaker <> 'soul' AND author NOT IN ({NAMES_OF_PERSON})
    ORDER BY seq LIMIT :most
    """  # noqa: S608 - a constant
_POSTS: Final = f"""
    SELECT o.seq, o.created_ms, o.body FROM outbox o JOIN conversations c ON c.id = o.conversation
    WHERE o.cleared = 0 AND o.created_ms >= :since AND (o.created_ms > :since OR o.seq > :after)
      AND o.workspace = :workspace AND {_THERE}
    ORDER BY o.created_ms, o.seq LIMIT :most
    """  # noqa: S608 - constants
_STAND_IN: Final = "SELECT DISTINCT conversation FROM turns WHERE seq IN (SELECT value FROM json_each(:seqs))"
_SOUL_THERE: Final = "SELECT seq, body FROM turns WHERE conversation = :id AND speaker = 'soul'"
_SURFACED: Final = """
    SELECT t.seq, t.body, t.conversation FROM surfaced s JOIN turns t ON t.trace_id = s.trace_id AND t.speaker = 'soul'
    WHERE s.id IN (
      SELECT 'TU_' || value FROM json_each(:seqs) UNION SELECT 'TL_' || value FROM json_each(:seqs)
      UNION SELECT l.origin FROM links l WHERE l.target IN (SELECT 'TU_' || value FROM json_each(:seqs)
        UNION SELECT 'TL_' || value FROM json_each(:seqs)))
    """
