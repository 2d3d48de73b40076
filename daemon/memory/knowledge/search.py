"""Looks things up in what was said before, as far as whoever hears the answer may know of it.

The rule of audiences stands in the query itself: a row that may not be heard never leaves the database. Thoughts are
not searched and not read.
"""

import asyncio
import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports import Passage
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.library import search_terms, words_of

NEWEST = 2_000
"""Turns that are looked through, the newest that may be heard."""

_LONGEST_PASSAGE = 1_500
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class _Said:
    """One turn, without its thought."""

    conversation: str
    name: str
    body: str
    said_ms: int


class Recollection:
    """The soul's memory of conversations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def search(
        self, conversation: ConversationKey, audience: Audience, query: str, limit: int, *, outsiders: bool = False
    ) -> tuple[Passage, ...]:
        """What was said that has most in common with a query, best first, of equals the newest.

        Found are people's words to this soul in this workspace (its own prove nothing) that `audience`, who hears the
        answer, may hear: what was said to it and what the whole workspace may hear, never anything of another DM or
        private channel. `conversation` is where it is asked, and called so in the sources. Before `outsiders` nothing
        of any other room is found. Raises StoreError.
        """
        if not (terms := search_terms(query)) or limit <= 0:
            return ()
        said = await self._audible(conversation, audience, outsiders=outsiders)
        return await asyncio.to_thread(_rank, said, frozenset(terms), str(conversation), limit)

    async def _audible(self, conversation: ConversationKey, audience: Audience, *, outsiders: bool) -> list[_Said]:
        """The newest turns that may be heard, newest first; the row and its conversation must both allow it."""

        async def unit(transaction: Transaction) -> list[_Said]:
            rows = await transaction.rows(
                """
                SELECT t.conversation, t.name, t.body, t.said_ms
                FROM turns t JOIN conversations c ON c.id = t.conversation
                WHERE c.soul = :soul AND c.workspace = :workspace AND t.speaker = 'person'
                  AND t.audience IN (:own, :everybody) AND c.audience IN (:own, :everybody)
                  AND (:room IS NULL OR c.channel = :room)
                ORDER BY t.seq DESC LIMIT :newest
                """,
                soul=conversation.soul,
                workspace=conversation.workspace,
                own=str(audience),
                everybody=str(Audience(AudienceKind.WORKSPACE, conversation.workspace)),
                room=conversation.channel if outsiders else None,
                newest=NEWEST,
            )
            return [_Said(row["conversation"], row["name"], row["body"], row["said_ms"]) for row in rows]

        return await self._database.read(unit)


def _rank(said: Sequence[_Said], terms: frozenset[str], here: str, limit: int) -> tuple[Passage, ...]:
    """The best turns: a word counts the more, the fewer turns have it. `said` is newest first; sorting is stable."""
    shared = [terms.intersection(words_of(one.body)) for one in said]
    turns_with = Counter(word for words in shared for word in words)
    scores = [sum(math.log(1 + len(said) / turns_with[word]) for word in sorted(words)) for words in shared]
    best = sorted((number for number, score in enumerate(scores) if score), key=lambda number: -scores[number])
    return tuple(Passage(_source(said[number], here), said[number].body[:_LONGEST_PASSAGE]) for number in best[:limit])


def _source(said: _Said, here: str) -> str:
    """Where it was said, without telling which other room that was."""
    where = "this conversation" if said.conversation == here else "conversation"
    day = dt.datetime.fromtimestamp(said.said_ms / 1000, dt.UTC).date().isoformat()
    name = " ".join("".join(one if one.isprintable() else " " for one in said.name).split())[:_LONGEST_NAME]
    return f"{where} {day}, {name or 'somebody'}"
