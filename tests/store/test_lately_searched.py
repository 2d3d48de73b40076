"""A lane other than the newest words is searched once in two minutes; what it shows is read anew each time."""

from collections.abc import Sequence
from functools import partial

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.vectors import Near, NearQuery
from daemon.memory.database import Database
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.turn_index import delete_turns, store_turns
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing
from tests.fake_embedder import WordEmbedder
from tests.fakes import FakeClock
from tests.given import DM, HERE
from tests.store.parts import room

READERS = Readers(HERE, members_only=True)
NOON = 1_795_262_400_000
NEWEST, MATTER = "which wood is best for a spoon?", "the kraken in the vault"


class Counted:
    """Vectors that know nothing, and how many queries each scan had; implements `VectorIndex`."""

    def __init__(self) -> None:
        self.scans: list[int] = []

    async def near(self, partitions: object, queries: Sequence[NearQuery], most: int) -> list[Near]:
        del partitions
        if most:
            self.scans.append(len(queries))
        return [Near({}, mean=0.1, deviation=0.1, kind="exact") for _ in queries]


@pytest.fixture
def vectors() -> Counted:
    return Counted()


@pytest.fixture
async def surfacing(database: Database, clock: FakeClock, vectors: Counted) -> Surfacing:
    await room(database)
    await _said(database, "the kraken sleeps in the vault", "the vault is below the chapel", "birch makes a good spoon")
    return Surfacing(database, clock, Meaning(WordEmbedder(), vectors))


async def _said(database: Database, *texts: str) -> None:
    turns = [Turn(Speaks.PERSON, "U1", "Ada", f"{text}.1", text) for text in texts]
    await database.write(partial(store_turns, turns=turns, conversation=DM, audience=HERE, trace_id="t", now=NOON))


async def _found(surfacing: Surfacing, here: ConversationKey = DM, readers: Readers = READERS) -> set[str]:
    return {one.text for one in await surfacing.surface(here, readers, [NEWEST, MATTER], 6, AlreadyShown())}


async def test_the_matter_at_hand_is_searched_once_in_two_minutes_and_read_anew_each_time(
    database: Database, surfacing: Surfacing, clock: FakeClock, vectors: Counted
) -> None:
    assert "the kraken sleeps in the vault" in await _found(surfacing)
    await _said(database, "lunch at noon", "it rains again", "and so it does", "the kraken left the vault")
    assert "the kraken left the vault" not in await _found(surfacing)
    await clock.advance(121)
    assert "the kraken left the vault" in await _found(surfacing)
    both, newest = 4, 2  # a query for each lane and view
    assert vectors.scans == [both, newest, both]
    gone = "the kraken left the vault.1"
    await database.write(partial(delete_turns, conversation=str(DM), ts=gone, now=1))
    assert "the kraken left the vault" not in await _found(surfacing)
    fewer = Readers(Audience(AudienceKind.WORKSPACE, DM.workspace), members_only=True)
    assert await _found(surfacing, readers=fewer) == set()
    assert vectors.scans == [both, newest, both, newest, both]


async def test_vectors_that_failed_are_asked_anew(database: Database, surfacing: Surfacing, vectors: Counted) -> None:
    embedder = WordEmbedder()
    embedder.down = OSError("no model")
    surfacing = Surfacing(database, FakeClock(), Meaning(embedder, vectors))
    await _found(surfacing)
    embedder.down = None
    await _found(surfacing)
    assert vectors.scans == [4]
