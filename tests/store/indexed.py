"""memory.db with an index of vectors beside it, as one process sees them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.vectors import Near, NearQuery, View
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.keeper import IndexParts, OwnerWork, VectorKeeper, owned
from daemon.memory.retrieval.reconcile import Difference, difference
from daemon.memory.retrieval.vector_file import VectorFile
from daemon.memory.retrieval.vectors import FILE, Vectors
from tests.fake_embedder import WordEmbedder
from tests.fakes import Events, FakeClock
from tests.given import DM, HERE, SOUL, TEAM

EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
CHANNEL = ConversationKey(SOUL, TEAM, "C1", "1.0")
MINE, OURS = codes_of_turn(DM, str(HERE)), codes_of_turn(CHANNEL, str(EVERYBODY))


class Indexed:
    def __init__(self, database: Database, folder: Path, clock: FakeClock, chroma_from: int = 1_000_000) -> None:
        self.database = database
        self.folder = folder
        self.embedder = WordEmbedder()
        self.events = Events()
        self.index = Vectors(folder, self.embedder.id, self.events)
        self.parts = IndexParts(database, self.index, folder, self.embedder, clock, self.events, chroma_from)
        self.free = 1 << 40
        self.keeper = VectorKeeper(self.parts, lambda _: self.free)

    async def say(self, *bodies: str, where: ConversationKey = DM, audience: Audience = HERE, **more: object) -> None:
        turns = [Turn(Speaks.PERSON, "U1", "Ann", f"{n}.0", body, **more) for n, body in enumerate(bodies)]  # type: ignore[arg-type]

        async def unit(transaction: Transaction) -> None:
            await store_turns(transaction, turns, conversation=where, audience=audience, trace_id="t", now=1_000)

        await self.database.write(unit)

    async def near(self, text: str, *partitions: str, view: View = View.OWN, also: Sequence[str] = ()) -> Near:
        [near] = await self.index.near(partitions or MINE, [NearQuery(view, self.embedder.vector(text), also)], 10)
        return near

    async def best(self, text: str, *partitions: str, view: View = View.OWN) -> str:
        near = await self.near(text, *partitions, view=view)
        return max(near.cosines, key=near.cosines.__getitem__, default="")

    async def difference(self) -> Difference:
        file = VectorFile(self.folder / FILE, read_only=True)
        try:
            return await difference(self.database, file)
        finally:
            file.close()

    @asynccontextmanager
    async def owning(self) -> AsyncIterator[OwnerWork]:
        with owned(self.folder) as lock:
            assert lock is not None
            async with OwnerWork(self.parts, lock) as work:
                await work.begin()
                yield work

    def fact(self, name: str) -> str:
        """What vectors.db notes of itself under a name."""
        file = VectorFile(self.folder / FILE, read_only=True)
        found = file.fact(name)
        file.close()
        return found


async def whole(indexed: Indexed) -> None:
    """Nothing is missing in vectors.db, and nothing is too much."""
    found = await indexed.difference()
    assert (found.missing, found.orphaned) == ((), ())


async def work_off(work: OwnerWork) -> None:
    """Embed all that is queued, and bring Chroma in step."""
    while await work.feed() or await work.keep_chroma():
        pass
