"""Searches earlier messages of users, limited to those that the readers of the reply may know.

The query itself applies the rule of audiences: a row that they may not read never leaves the database. Thoughts are
neither searched nor read.
"""

import asyncio
import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports import Passage
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.library import search_terms, words_of

NEWEST = 2_000
"""How many of the newest readable turns a search covers."""

EACH = 200
"""How many of them are surely one user's, so that no flood of another pushes out all that they said."""

_LOOKED_AT = 2 * NEWEST  # turns of one audience, some of which may belong to another soul
_PLACES = 200  # conversations of one channel
_AT_ONCE = 500  # turns whose words one statement reads
_LONGEST_TURN = 4_000  # characters of a turn that are searched
_LONGEST_PASSAGE = 1_500
_LONGEST_NAME = 80

_NEWEST_OF = """
  SELECT seq, conversation, author FROM turns
  WHERE audience = {audience} AND speaker = 'person' ORDER BY seq DESC LIMIT :looked_at
"""


class ConversationSearch:
    """Finds passages in the soul's earlier conversations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self, conversation: ConversationKey, readers: Readers, query: str, limit: int
    ) -> tuple[Passage, ...]:
        """Messages that share the most words with a query, best first, then newest first.

        It finds messages of users to this soul in this workspace that the readers of the reply may read: those of the
        same audience and those open to the whole workspace, never those of another DM or private channel. Before
        readers who aren't all members it searches the same channel alone. The soul's own replies are left out because
        they prove nothing. The sources call `conversation` "this conversation". Raises StoreError.
        """
        if not (terms := search_terms(query)) or limit <= 0:
            return ()
        said = await self._readable(conversation, readers)
        return await asyncio.to_thread(_rank, said, frozenset(terms), conversation, limit)

    async def _readable(self, conversation: ConversationKey, readers: Readers) -> list[sqlite3.Row]:
        """The newest turns that the readers may read, newest first; row and conversation must both allow it."""
        values = {
            "soul": conversation.soul,
            "workspace": conversation.workspace,
            "own": str(readers.audience),
            "everybody": str(Audience(AudienceKind.WORKSPACE, conversation.workspace)),
        }

        async def unit(transaction: Transaction) -> list[sqlite3.Row]:
            if readers.members_only:
                said = await _said_to_members(transaction, values)
            else:
                said = await _said_in_channel(transaction, conversation.channel, values)
            return await _with_words(transaction, _shared_out(said))

        return await self._database.read(unit)


async def _said_to_members(transaction: Transaction, values: Mapping[str, str]) -> list[sqlite3.Row]:
    """The newest readable turns of both audiences, without their words."""
    # A CROSS JOIN keeps its order: some versions of SQLite would begin with all conversations of the soul.
    return await transaction.rows(
        f"""
        SELECT t.seq, t.author
        FROM (SELECT * FROM ({_NEWEST_OF.format(audience=":own")}) o
              UNION ALL SELECT * FROM ({_NEWEST_OF.format(audience=":everybody")}) e WHERE :own <> :everybody) t
        CROSS JOIN conversations c
        WHERE c.id = t.conversation
          AND c.soul = :soul AND c.workspace = :workspace AND c.audience IN (:own, :everybody)
        """,  # noqa: S608 - constants of this module
        looked_at=_LOOKED_AT,
        **values,
    )


def _shared_out(said: Sequence[sqlite3.Row]) -> Sequence[sqlite3.Row]:
    """NEWEST turns of these: EACH of every user, and what room is left goes to the next newest."""
    counts: Counter[str] = Counter()
    surely: list[sqlite3.Row] = []
    others: list[sqlite3.Row] = []
    for turn in sorted(said, key=lambda turn: -int(turn["seq"])):
        counts[turn["author"]] += 1
        (surely if counts[turn["author"]] <= EACH else others).append(turn)
    return (*surely, *others)[:NEWEST]


async def _said_in_channel(transaction: Transaction, channel: str, values: Mapping[str, str]) -> list[sqlite3.Row]:
    """The newest readable turns of one channel, out of its newest conversations, without their words."""
    places = await transaction.rows(
        """
        SELECT id FROM conversations
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND audience IN (:own, :everybody)
        ORDER BY last_ms DESC LIMIT :most
        """,
        channel=channel,
        most=_PLACES,
        **values,
    )
    said: list[sqlite3.Row] = []
    for place in places:
        said += await transaction.rows(
            """
            SELECT seq, author FROM (SELECT * FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT :most) t
            WHERE speaker = 'person' AND audience IN (:own, :everybody) ORDER BY seq DESC
            """,
            id=place["id"],
            own=values["own"],
            everybody=values["everybody"],
            most=_LOOKED_AT,
        )
        if len(said) >= _LOOKED_AT:
            break
    return said


async def _with_words(transaction: Transaction, chosen: Sequence[sqlite3.Row]) -> list[sqlite3.Row]:
    """The chosen turns, newest first: only their words are read, not those of all that was looked at."""
    found: list[sqlite3.Row] = []
    for start in range(0, len(chosen), _AT_ONCE):
        keys = {f"seq{number}": turn["seq"] for number, turn in enumerate(chosen[start : start + _AT_ONCE])}
        found += await transaction.rows(
            f"""
            SELECT t.seq, t.conversation, c.channel, t.name, substr(t.body, 1, :longest) AS body, t.said_ms
            FROM turns t JOIN conversations c ON c.id = t.conversation
            WHERE t.seq IN ({", ".join(f":{key}" for key in keys)})
            """,  # noqa: S608 - numbered names alone
            longest=_LONGEST_TURN,
            **keys,
        )
    return sorted(found, key=lambda turn: -int(turn["seq"]))


def _rank(said: Sequence[sqlite3.Row], terms: frozenset[str], here: ConversationKey, limit: int) -> tuple[Passage, ...]:
    """The best turns; a rare word counts more than a frequent one. `said` is newest first, and sorting is stable."""
    shared = [terms.intersection(words_of(turn["body"])) for turn in said]
    turns_with = Counter(word for words in shared for word in words)
    scores = [sum(math.log(1 + len(said) / turns_with[word]) for word in sorted(words)) for words in shared]
    best = sorted((number for number, score in enumerate(scores) if score), key=lambda number: -scores[number])
    return tuple(_passage(said[number], here) for number in best[:limit])


def _passage(turn: sqlite3.Row, here: ConversationKey) -> Passage:
    """A turn as a passage; whoever reads in a channel may know what was said in it."""
    elsewhere = turn["channel"] != here.channel
    return Passage(_source(turn, str(here)), turn["body"][:_LONGEST_PASSAGE], members_only=elsewhere)


def _source(turn: sqlite3.Row, here: str) -> str:
    """The source of a turn, without the id of another conversation."""
    where = "this conversation" if turn["conversation"] == here else "conversation"
    day = dt.datetime.fromtimestamp(turn["said_ms"] / 1000, dt.UTC).date().isoformat()
    name = " ".join("".join(letter if letter.isprintable() else " " for letter in turn["name"]).split())[:_LONGEST_NAME]
    return f"{where} {day}, {name or 'somebody'}"
