"""The matter of a conversation, the one thought of depth about it, and facts that say the same."""

import asyncio
import unicodedata
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Generic, NamedTuple, TypeVar

from msgspec.structs import asdict, replace

from daemon.core.errors import DaemonError, ModelUnavailable
from daemon.core.value import Value
from daemon.core.words import terms_of
from daemon.core.working_memory import WorkingMemory
from daemon.memory.consolidation.merging import Line
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.records import JSONObject
from daemon.mind.quotation import same_particulars
from daemon.soul_engine import DEPTH, STANCE, with_notes, with_stance

DEEP_AFTER = 3
"""The exchanges on one matter after which the soul thinks it through once."""

STEERS = (
    'You have thought this matter through; what came of it stands under "Depth". Let it steer your answer where it '
    "helps. Don't recite it, and drop it where they have moved on."
)
"""The instruction for using the thought, in the daemon's own words."""


class Matter(Value):
    """A topic of the soul's state, the exchanges on it in a row, and the thought about it, empty at first."""

    topic: str = ""
    exchanges: int = 0
    thought: str = ""

    @classmethod
    def kept(cls, process_memory: Mapping[str, object]) -> "Matter":
        """Read the matter in a process memory. Any other content gives no matter."""
        topic, exchanges, thought = (process_memory.get(name) for name in ("topic", "exchanges", "thought"))
        if not isinstance(topic, str) or not isinstance(exchanges, int) or not isinstance(thought, str):
            return cls()
        return cls(topic, exchanges, thought)

    def on(self, topic: str) -> "Matter":
        """Return the matter after an exchange. A new topic begins a new matter, an empty topic ends it."""
        if not topic:
            return Matter()
        if topic != self.topic:
            return Matter(topic, exchanges=2)  # the exchange that raised it was the first
        return replace(self, exchanges=self.exchanges + 1)

    @property
    def wants_depth(self) -> bool:
        return bool(self.topic) and self.exchanges >= DEEP_AFTER and not self.thought

    def in_mind(self, memory: WorkingMemory) -> WorkingMemory:
        if not self.thought:
            return memory
        stance = "\n\n".join([*(one.content for one in memory.region(STANCE)), STEERS])
        about = "your own thought on this matter"
        return with_stance(with_notes(memory, DEPTH, self.thought, about=about), stance)

    def to_json(self) -> JSONObject:
        return asdict(self) if self.topic else {}


T = TypeVar("T")


class Finished(Value, Generic[T]):
    """The last item of a thought. See `Thought` for `void` and `cut`."""

    memory: WorkingMemory
    value: T
    void: bool
    cut: bool


class Thought(Generic[T]):
    """A running step: iterate over it once for the visible text, await `finished()` for memory and value.

    Different tasks may do both, in any order, partly or not at all. `finished()` reads on by itself and keeps the text
    for a later iteration. A failure ends the iteration, and `finished()` raises it too. The model is called when one
    of the two begins. Cancelling the reading task cuts the call.
    """

    def __init__(self, items: AsyncGenerator[str | Finished[T], None]) -> None:
        self._items = items
        self._reading = asyncio.Lock()
        self._unread: deque[str] = deque()
        self._shown: list[str] = []
        self._finished: Finished[T] | None = None
        self._error: DaemonError | None = None

    @property
    def shown(self) -> str:
        return "".join(self._shown)

    @property
    def void(self) -> bool:
        return self._finished is not None and self._finished.void

    @property
    def cut(self) -> bool:
        return self._finished is not None and self._finished.cut

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        """Return the next visible piece. Raises what `finished()` raises."""
        while not self._unread and self._finished is None:
            await self._advance()
        if not self._unread:
            raise StopAsyncIteration
        return self._unread.popleft()

    async def finished(self) -> tuple[WorkingMemory, T]:
        """Run to the end, and return the memory after the step and its value (seed 000's `memory.finished`).

        Raises MalformedReply (after one repair), ModelUnavailable or ModelRefused.
        """
        while self._finished is None:
            await self._advance()
        return self._finished.memory, self._finished.value

    async def aclose(self) -> None:
        """Cut the call short, after the piece that another task may be waiting for. The thought never finishes then."""
        async with self._reading:
            await self._items.aclose()

    async def _advance(self) -> None:
        """Read one more piece, unless another task just did. Raises the thought's error, each time it is called."""
        before = len(self._shown)
        async with self._reading:
            if self._finished is not None or len(self._shown) > before:
                return
            if self._error is not None:
                raise self._error
            try:
                item = await anext(self._items)
            except StopAsyncIteration:
                self._error = ModelUnavailable("the thought was cut off before it finished", hint="run the step again")
                raise self._error from None
            except DaemonError as error:
                self._error = error
                raise
            if isinstance(item, Finished):
                self._finished = item
                await self._items.aclose()
            else:
                self._shown.append(item)
                self._unread.append(item)


_RIM: Final = " .!;,"
_AKIN: Final = 0.6  # of the telling words of the shorter line
_RANK: Final = (Trust.OWN, Trust.DOCUMENT, Trust.CLAIM, Trust.INFERRED, Trust.NOTED)
_MOST_PAIRS: Final = 20  # that one call is asked about


class Pair(NamedTuple):
    """Two facts of one person, in the order in which they are merged."""

    stays: Line
    goes: Line


def same_pairs(lines: Sequence[Line]) -> list[Pair]:
    """Return the pairs that plainly say the same, one of them new. Each line is merged away at most once."""
    found: list[Pair] = []
    gone: set[str] = set()
    for one, other in _pairs(lines):
        if one.id not in gone and other.id not in gone and _level(one.text) == _level(other.text):
            pair = _in_order(one, other)
            gone.add(pair.goes.id)
            found.append(pair)
    return found


def alike_pairs(lines: Sequence[Line]) -> list[Pair]:
    """Return the pairs that may say the same, one of them new: same numbers and names, and words in common."""
    found = [_in_order(one, other) for one, other in _pairs(lines) if _may_be_the_same(one, other)]
    return found[:_MOST_PAIRS]


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line]]:
    return ((one, other) for one, other in combinations(lines, 2) if one.is_new or other.is_new)


def _in_order(one: Line, other: Line) -> Pair:
    """Order two lines. The better proved one stays, of two equal ones the older, since it says since when."""
    stays, goes = sorted((one, other), key=lambda line: (_RANK.index(line.trust), line.seq))
    return Pair(stays, goes)


def _may_be_the_same(one: Line, other: Line) -> bool:
    words, others = ({term.word for term in terms_of(line.text)} for line in (one, other))
    fewest = min(len(words), len(others))
    return fewest > 0 and len(words & others) >= _AKIN * fewest and same_particulars(one.text, other.text)


def _level(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_RIM)
