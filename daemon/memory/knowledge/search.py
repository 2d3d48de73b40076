"""Searches earlier messages of users, limited to those that the readers of the reply may know.

The query itself applies the rule of audiences: a row that they may not read never leaves the database. Thoughts are
neither searched nor read.
"""

import asyncio
import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports import Passage
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.library import search_terms, words_of

NEWEST = 2_000
"""How many of the newest readable turns a search covers."""

_LOOKED_AT = 2 * NEWEST  # turns of one audience, some of which may belong to another soul
_PLACES = 200  # conversations of one channel
_LONGEST_PASSAGE = 1_500
_LONGEST_NAME = 80

_NEWEST_OF = """
  SELECT seq, conversation, name, body, said_ms FROM turns
  WHERE audience = {audience} AND speaker = 'person' ORDER BY seq DESC LIMIT :looked_at
"""


class ConversationSearch:
    """Finds passages in the soul's earlier conversations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self, conversation: ConversationKey, audience: Audience, query: str, limit: int, *, outsiders: bool = False
    ) -> tuple[Passage, ...]:
        """Messages that share the most words with a query, best first, then newest first.

        It finds messages of users to this soul in this workspace that `audience`, the readers of the reply, may read:
        those of the same audience and those open to the whole workspace, never those of another DM or private channel.
        The soul's own replies are left out because they prove nothing. The sources call `conversation` "this
        conversation". With `outsiders` among the readers it searches the same channel alone. Raises StoreError.
        """
        if not (terms := search_terms(query)) or limit <= 0:
            return ()
        said = await self._readable(conversation, audience, outsiders=outsiders)
        return await asyncio.to_thread(_rank, said, frozenset(terms), str(conversation), limit)

    async def _readable(
        self, conversation: ConversationKey, audience: Audience, *, outsiders: bool
    ) -> list[sqlite3.Row]:
        """The newest turns that the audience may read, newest first; row and conversation must both allow it."""
        values = {
            "soul": conversation.soul,
            "workspace": conversation.workspace,
            "own": str(audience),
            "everybody": str(Audience(AudienceKind.WORKSPACE, conversation.workspace)),
        }
        if outsiders:
            return await self._database.read(lambda reading: _said_in_channel(reading, conversation.channel, values))
        return await self._database.rows(
            f"""
            SELECT t.conversation, t.name, t.body, t.said_ms
            FROM (SELECT * FROM ({_NEWEST_OF.format(audience=":own")}) o
                  UNION ALL SELECT * FROM ({_NEWEST_OF.format(audience=":everybody")}) e WHERE :own <> :everybody) t
            JOIN conversations c ON c.id = t.conversation
            WHERE c.soul = :soul AND c.workspace = :workspace AND c.audience IN (:own, :everybody)
            ORDER BY t.seq DESC LIMIT :newest
            """,  # noqa: S608 - constants of this module
            looked_at=_LOOKED_AT,
            newest=NEWEST,
            **values,
        )


async def _said_in_channel(transaction: Transaction, channel: str, values: Mapping[str, str]) -> list[sqlite3.Row]:
    """The newest readable turns of one channel, out of its newest conversations."""
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
            SELECT seq, conversation, name, body, said_ms FROM (
              SELECT * FROM turns WHERE conversation = :id ORDER BY seq DESC LIMIT :most) t
            WHERE speaker = 'person' AND audience IN (:own, :everybody) ORDER BY seq DESC
            """,
            id=place["id"],
            own=values["own"],
            everybody=values["everybody"],
            most=2 * (NEWEST - len(said)),
        )
        if len(said) >= NEWEST:
            break
    return sorted(said, key=lambda turn: -turn["seq"])[:NEWEST]


def _rank(said: Sequence[sqlite3.Row], terms: frozenset[str], here: str, limit: int) -> tuple[Passage, ...]:
    """The best turns; a rare word counts more than a frequent one. `said` is newest first, and sorting is stable."""
    shared = [terms.intersection(words_of(turn["body"])) for turn in said]
    turns_with = Counter(word for words in shared for word in words)
    scores = [sum(math.log(1 + len(said) / turns_with[word]) for word in sorted(words)) for words in shared]
    best = sorted((number for number, score in enumerate(scores) if score), key=lambda number: -scores[number])
    return tuple(
        Passage(_source(said[number], here), said[number]["body"][:_LONGEST_PASSAGE]) for number in best[:limit]
    )


def _source(turn: sqlite3.Row, here: str) -> str:
    """The source of a turn, without the id of another conversation."""
    where = "this conversation" if turn["conversation"] == here else "conversation"
    day = dt.datetime.fromtimestamp(turn["said_ms"] / 1000, dt.UTC).date().isoformat()
    name = " ".join("".join(letter if letter.isprintable() else " " for letter in turn["name"]).split())[:_LONGEST_NAME]
    return f"{where} {day}, {name or 'somebody'}"
