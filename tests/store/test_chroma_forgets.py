"""Forgetting a person beside a daemon with large audiences in Chroma: no byte of their vectors stays in the index."""

import asyncio
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from daemon.core.ports.vectors import NearQuery, View
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.sources import queued
from daemon.memory.retrieval.statistics import statistics
from daemon.memory.retrieval.vector_file import VectorFile
from daemon.memory.retrieval.vectors import FILE
from tests.fake_embedder import WordEmbedder
from tests.fakes import FakeClock
from tests.given import TEAM
from tests.store.indexed import CHANNEL, EVERYBODY, OURS, Indexed, whole
from tests.store.parts import room

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

pytestmark = pytest.mark.slow
ADA, BEN = "U0ADA", "U0BEN"
EACH = 15  # turns; of two people, more than go to Chroma
PART = 32  # bytes of a vector; no other vector has the same ones


class DenseEmbedder(WordEmbedder):
    """Vectors without zeros, so that a few numbers of one stand in no other."""

    def vector(self, text: str) -> "Vector":
        numbers = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.length).astype(np.float32)
        return numbers / np.float32(np.linalg.norm(numbers))


@pytest.fixture
def large(indexed: Indexed, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    """An index in which a shelf of twenty vectors goes to Chroma."""
    monkeypatch.setattr("tests.store.indexed.WordEmbedder", DenseEmbedder)
    return Indexed(indexed.database, indexed.folder, clock, chroma_from=20)


async def _talk(database: Database) -> dict[str, dict[str, str]]:
    """What Ada and Ben said in turns: their texts by the ids of the turns."""
    await room(database, CHANNEL, EVERYBODY)
    said: dict[str, dict[str, str]] = {ADA: {}, BEN: {}}
    for number in range(EACH):
        for person, theirs in said.items():
            turn = Turn(Speaks.PERSON, person, person, f"{number}.{len(person)}", f"{person} says word{number}")

            async def unit(transaction: Transaction, turn: Turn = turn) -> str:
                seqs = await store_turns(
                    transaction, [turn], conversation=CHANNEL, audience=EVERYBODY, trace_id=turn.body, now=1_000
                )
                return f"TU_{seqs[0]}"

            theirs[await database.write(unit)] = turn.body
    return said


def _vectors_of(folder: Path, ids: set[str]) -> list[bytes]:
    """Parts of the stored vectors of memories, as vectors.db and as Chroma write them."""
    file = VectorFile(folder / FILE, read_only=True)
    rows = file.of_view(sorted(ids), View.OWN) + file.of_view(sorted(ids), View.BEFORE)
    file.close()
    stored = [row.raw[:PART] for row in rows]
    return stored + [np.frombuffer(row.raw, np.float16).astype(np.float32).tobytes()[:PART] for row in rows]


def _holding(folder: Path, needles: list[bytes]) -> list[str]:
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return sorted({path.name for path, held in files.items() for needle in needles if needle in held})


def _named(folder: Path, ids: set[str]) -> list[str]:
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [path.name for path, held in files.items() for one in ids if re.search(rb"%s(?!\d)" % one.encode(), held)]


async def test_after_forget_me_no_byte_of_ones_vectors_is_left_and_others_are_found(large: Indexed, path: Path) -> None:
    said = await _talk(large.database)
    daemon = asyncio.create_task(large.keeper.run())
    try:
        await large.events.when(lambda: len(large.events.named("vectors.in_chroma")) >= len(View))
        await _forgotten(large, path.parent, said)
    finally:
        daemon.cancel()
        await asyncio.wait((daemon,))
    await whole(large)


async def _forgotten(large: Indexed, home: Path, said: dict[str, dict[str, str]]) -> None:
    before = await statistics(large.database, large.folder, large.embedder.id)
    folders = {one.name for one in large.folder.glob("chroma-*")}
    theirs, ids = _vectors_of(large.folder, set(said[ADA])), set(said[ADA])
    held = {name.removesuffix("-wal") for name in _holding(large.folder, theirs)}
    assert held > {FILE}, "Chroma holds them, too"
    people = ForgettingPeople(large.database, FakeClock(auto=True), large.events, home, large.folder)
    await people.finish(await people.ask(TEAM, ADA))
    while await large.database.read(queued):
        await large.events.until("vectors.followed", times=len(large.events.named("vectors.followed")))
        await asyncio.sleep(0)
    assert _holding(large.folder, [*theirs, *(text.encode() for text in said[ADA].values())]) == []
    assert _named(large.folder, ids) == []
    after = await statistics(large.database, large.folder, large.embedder.id)
    assert after.generation > before.generation
    assert not folders & {one.name for one in large.folder.glob("chroma-*")}
    for one, text in said[BEN].items():
        query = NearQuery(View.OWN, large.embedder.vector(f"{BEN}: {text}"))
        [near] = await large.index.near(OURS, [query], 3)
        assert max(near.cosines, key=near.cosines.__getitem__) == one
        assert not ids & near.cosines.keys()
