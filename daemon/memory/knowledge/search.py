"""Searches earlier messages of users, limited to those that the readers of the reply may know.

The query itself applies the rule of audiences: a row that they may not read never leaves the database. Thoughts are
neither searched nor read.
"""

import asyncio
import datetime as dt
import math
import sqlite3
from collections import Counter
from collections.abc import Sequence

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports import Passage
from daemon.memory.database import Database
from daemon.memory.knowledge.library import search_terms, words_of

NEWEST = 2_000
"""How many of the newest readable turns a search covers."""

EACH = 200
"""How many of them are surely one user's, so that no flood of another pushes out all that they said."""

_LOOKED_THROUGH = 5 * NEWEST
_LONGEST_TURN = 4_000  # characters of a turn that are searched
_LONGEST_PASSAGE = 1_500
_LONGEST_NAME = 80


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
        """The newest turns that the audience may read, newest first; row and conversation must both allow it.

        EACH of every user come first, and what room is left goes to the next newest, of whomever.
        """
        rows = await self._database.rows(
            """
            SELECT t.seq, t.conversation, t.name, substr(t.body, 1, :longest) AS body, t.said_ms
            FROM (
              SELECT seq, row_number() OVER (PARTITION BY author ORDER BY seq DESC) AS place FROM (
                SELECT t.seq, t.author FROM turns t JOIN conversations c ON c.id = t.conversation
                WHERE c.soul = :soul AND c.workspace = :workspace AND t.speaker = 'person'
                  AND t.audience IN (:own, :everybody) AND c.audience IN (:own, :everybody)
                  AND (CAST(:channel AS TEXT) IS NULL OR c.channel = :channel)
                ORDER BY t.seq DESC LIMIT :looked_through) newest
            ) numbered JOIN turns t ON t.seq = numbered.seq
            ORDER BY CASE WHEN numbered.place <= :each THEN 0 ELSE 1 END, t.seq DESC LIMIT :newest
            """,
            longest=_LONGEST_TURN,
            looked_through=_LOOKED_THROUGH,
            each=EACH,
            soul=conversation.soul,
            workspace=conversation.workspace,
            own=str(audience),
            everybody=str(Audience(AudienceKind.WORKSPACE, conversation.workspace)),
            channel=conversation.channel if outsiders else None,
            newest=NEWEST,
        )
        return sorted(rows, key=lambda row: -int(row["seq"]))


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
