"""The ways on which something comes back: each arm keeps what was said, and shows what readers would be reminded of.

Add a class for each kind of memory and a line to `every_arm`, and it is tried in every world. An arm whose memories
aren't the messages themselves lets people say something empty (`NOTHING`): then what comes back came by its way.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.recall.corpus import paraphrases
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.llm.embedder import MODEL
from daemon.llm.embedder.endpoint import LocalEmbedder
from daemon.memory.database import Database
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.records import Worker
from daemon.memory.retrieval.keeper import IndexParts, OwnerWork, owned
from daemon.memory.retrieval.lanes import Floor
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing
from daemon.memory.retrieval.vectors import Vectors
from tests.fakes import Events
from tests.leaks.ground import Remark

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Unrelated, Vector

SOUL: Final = "minoan"
NOTHING: Final = "so be it then"
_EVERYTHING: Final = 200  # memories, which is more than a world holds
_NO_CHROMA: Final = 1_000_000
_PAIRS: Final = paraphrases()  # of a question and what answers it


class Home(Value):
    """What an arm works with: memory.db, the folder that it lies in, and who reads where a message stands, now."""

    database: Database
    folder: Path
    clock: Clock
    worker: Worker
    readers: Callable[[Perception], Awaitable[Readers]]


class SaidThere(Value):
    """A remark that was just stored as a turn (`seq`), before these readers."""

    remark: Remark
    where: ConversationKey
    readers: Readers
    seq: int
    perception: Perception

    @property
    def person(self) -> str:
        return self.perception.author

    @property
    def turn(self) -> str:
        return f"TU_{self.seq}"


class AskedThere(Value):
    """A question of a person (platform id), whose answer these readers read."""

    query: str
    where: ConversationKey
    readers: Readers
    person: str


class Arm:
    """One way. `recall` is the least share of what may be shown that has to be shown.

    `afterwards`: it is gone once the reply is there, and more may have changed.
    """

    recall = 0.95
    afterwards = False

    def __init__(self, home: Home) -> None:
        self.home = home
        self.surfacing = Surfacing(home.database, home.clock)

    def says(self, remark: Remark) -> str:
        return NOTHING

    def asks(self, remark: Remark) -> str:
        return f"whose is the {remark.topic}?"

    async def keep(self, said: SaidThere) -> None:
        """Keep it, beyond the turn itself."""

    async def shown(self, asked: AskedThere) -> str:
        found = await self.surfacing.surface(asked.where, asked.readers, [asked.query], 5, AlreadyShown())
        found += await self.surfacing.search(asked.where, asked.readers, asked.query, 5)
        return "\n".join(f"{one.source}: {one.text}" for one in found)

    async def reached(self, asked: AskedThere) -> str:
        """All text that this way can come to with any question: of that, nothing may be more than its readers know."""
        found = await self.surfacing.find(
            asked.where, asked.readers, [asked.query], _EVERYTHING, floor=Floor.NONE, again=True
        )
        quotes = [proof.quote for one in found.hits for proof in one.evidence]
        return "\n".join((*(f"{one.speaker}: {one.text}" for one in found.hits), *quotes))

    async def aclose(self) -> None:
        """Let go of files and threads."""


class Text(Arm):
    """The look-up before each reply, and what `recollect` finds: turns, by full text."""

    def says(self, remark: Remark) -> str:
        return remark.text


class Meanings(Arm):
    """Turns by vectors alone: who asks uses none of the words that were said."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        embedder = _known_texts()
        self._index = Vectors(home.folder / "index", embedder.id, Events())
        self._parts = IndexParts(
            home.database, self._index, home.folder / "index", embedder, home.clock, Events(), _NO_CHROMA
        )
        self._stack = AsyncExitStack()
        self._work: OwnerWork | None = None
        self.surfacing = Surfacing(home.database, home.clock, Meaning(embedder, self._index, 10.0))

    def says(self, remark: Remark) -> str:
        """Each remark of a world says something else, and names its owner besides."""
        return f"{_PAIRS[remark.number % len(_PAIRS)][1]} ({remark.word})"

    def asks(self, remark: Remark) -> str:
        return _PAIRS[remark.number % len(_PAIRS)][0]

    async def shown(self, asked: AskedThere) -> str:
        """The best five, however far they are: in a small house even the best stands out by little."""
        work = await self._working()
        while await work.feed():
            pass
        found = await self.surfacing.find(asked.where, asked.readers, [asked.query], 5, floor=Floor.NONE, again=True)
        return "\n".join(one.text for one in found.hits)

    async def aclose(self) -> None:
        await self._stack.aclose()
        await self._index.aclose()

    async def _working(self) -> OwnerWork:
        if self._work is None:
            lock = self._stack.enter_context(owned(self._parts.folder))
            assert lock is not None
            self._work = await self._stack.enter_async_context(OwnerWork(self._parts, lock))
            await self._work.begin()
        return self._work


class _KnownTexts:
    """The real embedder, which works each text out once for all worlds."""

    def __init__(self, embedder: LocalEmbedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    @property
    def id(self) -> str:
        return self._embedder.id

    @property
    def unrelated(self) -> "Unrelated":
        return self._embedder.unrelated

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        unknown = [one for one in dict.fromkeys(texts) if one not in self._known]
        self._known |= dict(zip(unknown, await self._embedder.embed(unknown), strict=True)) if unknown else {}
        return [self._known[one] for one in texts]

    async def aclose(self) -> None:
        """It goes on to the next world."""


@cache
def _known_texts() -> _KnownTexts:
    return _KnownTexts(LocalEmbedder(MODEL))
