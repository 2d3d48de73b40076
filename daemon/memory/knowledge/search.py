"""Searches earlier turns, limited to those that the readers of the reply may know.

The codes of the readers stand inside MATCH, so that no turn of another audience is visited, and the rows that are found
are asked once more by plain SQL: both the turn and its conversation must be for these readers now. Thoughts are neither
searched nor read.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports import Passage
from daemon.core.text import shortened, visible_line
from daemon.core.windows import window
from daemon.core.words import Term, terms_of
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.turn_index import LONGEST_TURN, TURN_INDEX
from daemon.memory.reader_codes import codes_for_readers
from daemon.memory.records import Speaks

_LONGEST_PASSAGE: Final = 1_500
_LONGEST_NAME: Final = 80
_QUESTION: Final = 0.6  # a question shares the words of the one asked now, and seldom answers it
_OLD: Final = 0.8  # what the oldest turn counts beside one of today that fits as well
_HALF_AGE_MS: Final = 60 * 24 * 3_600_000
_MARKS: Final = ("?", "？", "؟", "？」")  # noqa: RUF001


class ConversationSearch:
    """Finds passages in the soul's earlier conversations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self,
        conversation: ConversationKey,
        readers: Readers,
        query: str,
        limit: int,
    ) -> tuple[Passage, ...]:
        """Messages of users that fit a query, best first, each once; where they fit as well the newer one first.

        It finds messages to this soul in this workspace that the readers of the reply may read: those of the same
        audience and those open to the whole workspace, never those of another DM or private channel. Before readers
        who aren't all members it searches the same channel alone. The soul's own replies are left out because they
        prove nothing. The sources call `conversation` "this conversation". Raises StoreError.
        """
        return await self._search(conversation, readers, query, limit, lambda turn: turn["speaker"] == Speaks.PERSON)

    async def look_up(
        self, conversation: ConversationKey, readers: Readers, query: str, limit: int, shown_from: int | None
    ) -> tuple[Passage, ...]:
        """The same, and the soul's own replies as such; without turns of this conversation from a seq on."""

        def is_new(turn: sqlite3.Row) -> bool:
            return shown_from is None or turn["conversation"] != str(conversation) or turn["seq"] < shown_from

        return await self._search(conversation, readers, query, limit, is_new)

    async def _search(
        self,
        conversation: ConversationKey,
        readers: Readers,
        query: str,
        limit: int,
        wanted: Callable[[sqlite3.Row], bool],
    ) -> tuple[Passage, ...]:
        if not (terms := terms_of(query)) or limit <= 0:
            return ()
        codes = codes_for_readers(conversation, readers)

        async def unit(transaction: Transaction) -> list[tuple[float, sqlite3.Row]]:
            hits = await TURN_INDEX.find(transaction, codes, terms)
            best = hits.best()
            words = await TURN_INDEX.words(transaction, best)
            rows = await _readable(transaction, best, conversation, readers)
            return [(hits.fit(words.get(row["seq"], ())), row) for row in rows if wanted(row)]

        rated = await self._database.read(unit)
        newest_ms = max((row["said_ms"] for _, row in rated), default=0)
        found = [(fit * _worth(row, newest_ms), row) for fit, row in rated]
        return _passages(sorted(found, key=lambda one: (-one[0], -one[1]["seq"])), conversation, terms)[:limit]


async def _readable(
    transaction: Transaction, seqs: Sequence[int], conversation: ConversationKey, readers: Readers
) -> list[sqlite3.Row]:
    """Those of the turns that the readers may know: the turn's audience and its conversation's must both allow it."""
    # A CROSS JOIN keeps its order: some versions of SQLite would begin with all conversations of the soul.
    keys: Mapping[str, object] = {f"seq{number}": seq for number, seq in enumerate(seqs)}
    return await transaction.rows(
        f"""
        SELECT t.seq, t.conversation, t.speaker, t.name, substr(t.body, 1, {LONGEST_TURN}) AS body, t.said_ms, c.channel
        FROM turns t CROSS JOIN conversations c
        WHERE c.id = t.conversation AND t.seq IN ({", ".join(f":{key}" for key in keys)})
          AND c.soul = :soul AND c.workspace = :workspace AND t.audience IN (:own, :everybody)
          AND c.audience IN (:own, :everybody) AND (c.channel = :channel OR CAST(:anywhere AS INTEGER) = 1)
        """,  # noqa: S608 - numbered names and a constant of this module
        soul=conversation.soul,
        workspace=conversation.workspace,
        channel=conversation.channel,
        own=str(readers.audience),
        everybody=str(Audience(AudienceKind.WORKSPACE, conversation.workspace)),
        anywhere=int(readers.members_only),
        **keys,
    )


def _worth(turn: sqlite3.Row, newest_ms: int) -> float:
    """What a turn counts for beside its words: less with its age, and less for a question."""
    age = max(0, newest_ms - turn["said_ms"])
    value: float = _OLD + (1 - _OLD) * 0.5 ** (age / _HALF_AGE_MS)
    return value * _QUESTION if turn["body"].rstrip().endswith(_MARKS) else value


def _passages(
    found: Sequence[tuple[float, sqlite3.Row]], here: ConversationKey, terms: Sequence[Term]
) -> tuple[Passage, ...]:
    """The turns as passages, the same words only once; whoever reads in a channel may know what was said in it."""
    passages: dict[str, Passage] = {}
    for fit, turn in found:
        passages.setdefault(
            turn["body"],
            Passage(
                _source(turn, str(here)),
                window(turn["body"], terms, _LONGEST_PASSAGE),
                members_only=turn["channel"] != here.channel,
                own=turn["speaker"] == Speaks.SOUL,
                fit=fit,
            ),
        )
    return tuple(passages.values())


def _source(turn: sqlite3.Row, here: str) -> str:
    """The source of a turn, without the id of another conversation."""
    where = "this conversation" if turn["conversation"] == here else "conversation"
    day = dt.datetime.fromtimestamp(turn["said_ms"] / 1000, dt.UTC).date().isoformat()
    name = shortened(visible_line(turn["name"]), _LONGEST_NAME)
    return f"{where} {day}, {name or 'somebody'}"
