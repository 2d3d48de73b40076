"""Asks the daemon's own store and surfacing: by words alone, by vectors alone, and as a cycle does."""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench.recall.corpus import Said, Talk
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.services import SystemClock
from daemon.core.value import Value
from daemon.llm.embedder import MODEL
from daemon.llm.embedder.endpoint import LocalEmbedder
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.reader_codes import codes_for_readers
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.keeper import IndexParts, VectorKeeper
from daemon.memory.retrieval.lanes import Floor
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.retrieval.vectors import Vectors

_SLOW_S: Final = 60.0  # a measurement waits for vectors
_SEATS: Final = 10  # where lanes share them
_NEVER: Final = 10**9  # rows from which on Chroma serves

Ranking = Callable[[Talk, Sequence[str]], Awaitable[list[str]]]
"""The keys of a talk's turns for some lanes of search, best first."""


class Arms(Value):
    """The three ways to search, by name: everything that is found, and ten seats as a cycle gives them."""

    by_name: dict[str, Ranking]
    seated: dict[str, Ranking]


@asynccontextmanager
async def stocked(talks: Sequence[Talk], folder: Path, most: int) -> AsyncIterator[Arms]:
    """The arms over a memory.db that holds these talks, each in a private channel, each session as a thread."""
    clock = SystemClock()
    embedder = LocalEmbedder(MODEL)
    vectors = Vectors(folder / "index", embedder.id, _quiet)
    async with open_database(folder / "memory.db", clock) as database:
        keys = {number: await _store(database, number, talk) for number, talk in enumerate(talks)}
        parts = IndexParts(database, vectors, folder / "index", embedder, clock, _quiet, _NEVER)
        await VectorKeeper(parts).catch_up()
        numbers = {talk.name: number for number, talk in enumerate(talks)}
        meaning = Meaning(embedder, vectors, _SLOW_S)

        def by(surfacing: Surfacing, floor: Floor = Floor.NONE) -> Ranking:
            async def ranking(talk: Talk, lanes: Sequence[str]) -> list[str]:
                number = numbers[talk.name]
                here, readers = _place(number)
                limit = _SEATS if floor is Floor.SURFACING else most
                found = await surfacing.find(here, readers, lanes, limit, floor=floor, again=True)
                return [keys[number][one.id] for one in found.hits]

            return ranking

        async def by_vectors(talk: Talk, lanes: Sequence[str]) -> list[str]:
            number = numbers[talk.name]
            here, readers = _place(number)
            partitions = [code for group in codes_for_readers(here, readers) for code in group]
            ranked = []
            for vector in await meaning.vectors_of(lanes):
                near = await meaning.near(partitions, vector)
                ranked.append([keys[number][one] for one in sorted(near.own, key=lambda one: -near.own[one])])
            return _in_turns(ranked)

        text, ours = Surfacing(database, clock), Surfacing(database, clock, meaning)
        surfaced = {"text": by(text, Floor.SURFACING), "vectors": by_vectors, "ours": by(ours, Floor.SURFACING)}
        yield Arms({"text": by(text), "vectors": by_vectors, "ours": by(ours)}, surfaced)
        await vectors.aclose()
        await embedder.aclose()


def _in_turns(ranked: Sequence[Sequence[str]]) -> list[str]:
    longest = max((len(one) for one in ranked), default=0)
    return list(dict.fromkeys(one[place] for place in range(longest) for one in ranked if place < len(one)))


def _place(number: int, thread: str = "") -> tuple[ConversationKey, Readers]:
    channel = f"C{number}"
    audience = Audience(AudienceKind.CHANNEL, channel)
    return ConversationKey("ada", "T1", channel, thread), Readers(audience, members_only=True)


async def _store(database: Database, number: int, talk: Talk) -> dict[str, str]:
    """Store a talk; gives the key of each turn by its id."""
    sessions = defaultdict(list)
    for turn in talk.turns:
        sessions[turn.session].append(turn)
    keys: dict[str, str] = {}
    for session, turns in sessions.items():
        here, readers = _place(number, str(session))
        await database.write(partial(_store_session, here, readers.audience, turns))
        for row in await database.rows("SELECT seq, ts FROM turns WHERE conversation = :id", id=str(here)):
            keys[f"TU_{row['seq']}"] = row["ts"]
    return keys


async def _store_session(
    here: ConversationKey, audience: Audience, turns: Sequence[Said], transaction: Transaction
) -> None:
    await transaction.insert(
        "conversations",
        id=str(here),
        soul=here.soul,
        workspace=here.workspace,
        channel=here.channel,
        thread=here.thread,
        place="private_channel",
        audience=str(audience),
        last_ms=0,
    )
    for turn in turns:
        kept = Turn(Speaks.PERSON, turn.speaker, turn.speaker, turn.key, turn.body)
        when = int(turn.when.timestamp() * 1000)
        await store_turns(transaction, [kept], conversation=here, audience=audience, trace_id="t", now=when)


def _quiet(event: str, /, **fields: object) -> None:
    del event, fields
