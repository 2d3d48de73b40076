"""Fills memory.db and vectors.db with talk at random: words as frequent as in talk, vectors of sentences, mixed."""

import asyncio
import itertools
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.services import SystemClock
from daemon.core.ports.vectors import View
from daemon.llm.embedder import MODEL
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.turn_index import join, join_all, store_turns
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.records import Speaks, Turn
from daemon.memory.retrieval.sources import Embeddable
from daemon.memory.retrieval.vector_file import Placed, VectorFile

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

SOUL, TEAM, CHANNEL = "ada", "T1", "D1"
_SUBJECTS: Final = ("the boiler", "our release", "the garden", "my sister", "the invoice", "the choir", "a train")
_VERBS: Final = ("breaks", "was moved to Friday", "needs paint", "costs too much", "sounds better now", "is late again")
_ENDS: Final = ("since Monday", "in Berlin", "before the audit", "after lunch", "with Ann", "for the third time")
SENTENCES: Final = tuple(f"{one} {verb} {end}" for one in _SUBJECTS for verb in _VERBS for end in _ENDS)

_BEGAN_MS: Final = 1_700_000_000_000
_EVERY_MS: Final = 60_000
_AT_ONCE: Final = 200  # turns in one unit, vectors in one statement
_LATELY: Final = 40  # the newest turns, each in a unit of its own
_TALK: Final = 20  # turns that follow each other in one room
_LETTERS: Final = 3  # of a word at least
_NAMES: Final = ("Ada", "Ben", "Chloe", "Dilan")


class Speech:
    """English words at random, of which the n-th comes a n-th as often, as in any language; always the same."""

    def __init__(self, seed: int = 7) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - no secret
        known = (MODEL / "vocab.txt").read_text(encoding="utf-8").split()  # the embedder's, more or less by frequency
        self._words = [one for one in known if len(one) >= _LETTERS and one.isascii() and one.isalpha()]
        self._weights = list(itertools.accumulate(1 / (place + 3) for place in range(len(self._words))))

    def sentence(self) -> str:
        """Some words, with one of the sentences that the vectors are of."""
        words = self._draw.choices(self._words, cum_weights=self._weights, k=self._draw.randint(4, 16))
        return f"{' '.join(words)} {self._draw.choice(SENTENCES)}"


Room = tuple[ConversationKey, Audience]


def rooms_of(audiences: int) -> list[Room]:
    """A DM, and if there are to be more audiences, a public channel and private ones."""
    rooms = [(ConversationKey(SOUL, TEAM, CHANNEL, ""), Audience(AudienceKind.DM, CHANNEL))]
    if audiences > 1:
        rooms.append((ConversationKey(SOUL, TEAM, "C1", ""), Audience(AudienceKind.WORKSPACE, TEAM)))
    private = [f"G{number}" for number in range(2, audiences)]
    return rooms + [(ConversationKey(SOUL, TEAM, one, ""), Audience(AudienceKind.CHANNEL, one)) for one in private]


def reader_of_all(audiences: int) -> tuple[ConversationKey, Readers]:
    """The DM whose user is in all of these rooms."""
    (here, audience), *others = rooms_of(audiences)
    rooms = frozenset(one.id for _, one in others if one.kind is AudienceKind.CHANNEL)
    return here, Readers(audience, members_only=True, rooms=rooms)


async def fill(database: Database, size: int, rooms: Sequence[Room]) -> list[Embeddable]:
    """Store turns, in talks of twenty; gives each with its codes, for the vectors.

    The index of words is as a daemon keeps it: merged when it was large already, with small segments since.
    """
    speech, seqs = Speech(), list[tuple[int, Room]]()
    for here, audience in rooms:
        await database.write(partial(_open_room, here, audience))
    early = max(0, size - _LATELY)
    for start in range(0, early, _AT_ONCE):
        seqs += await database.write(partial(_say, rooms, speech, range(start, min(early, start + _AT_ONCE))))
    await join_all(database, SystemClock())
    for number in range(early, size):
        seqs += await database.write(partial(_say, rooms, speech, range(number, number + 1)))
    await join(database, SystemClock())
    return [
        Embeddable(f"TU_{seq}", codes_of_turn(here, str(audience)), dict.fromkeys(View, f"text {seq}"))
        for seq, (here, audience) in seqs
    ]


def fill_vectors(file: VectorFile, stored: Sequence[Embeddable], known: "Sequence[Vector]") -> None:
    """Store vectors for turns: those of sentences, mixed and moved a little."""
    for some in _slices(stored):
        mixed = _mixed(known, len(some), len(View), file.count())
        file.replace(
            (), [Placed(one, dict(zip(View, rows, strict=True))) for one, rows in zip(some, mixed, strict=True)]
        )


async def are_embedded(path: Path, size: int) -> bool:
    """Whether a daemon has stored vectors of so many memories."""
    return await asyncio.to_thread(_count, path) >= size


def _count(path: Path) -> int:
    if not path.exists():
        return 0
    file = VectorFile(path, read_only=True)
    try:
        return file.count()
    finally:
        file.close()


def _slices(stored: Sequence[Embeddable]) -> Iterator[Sequence[Embeddable]]:
    return (stored[start : start + _AT_ONCE] for start in range(0, len(stored), _AT_ONCE))


def _mixed(known: "Sequence[Vector]", size: int, views: int, seed: int) -> "Sequence[Sequence[Vector]]":
    import numpy as np

    draw, rows = np.random.default_rng(seed), np.stack(known)
    one, other = draw.integers(0, len(rows), (2, size, views))
    mixed = rows[one] + 0.5 * rows[other] + draw.normal(0, 0.02, (size, views, rows.shape[1])).astype(np.float32)
    return [[*of] for of in mixed / np.linalg.norm(mixed, axis=2, keepdims=True)]


async def _open_room(here: ConversationKey, audience: Audience, transaction: Transaction) -> None:
    await transaction.insert(
        "conversations",
        "ON CONFLICT DO NOTHING",
        id=str(here),
        soul=here.soul,
        workspace=here.workspace,
        channel=here.channel,
        thread=here.thread,
        place="dm" if audience.kind is AudienceKind.DM else "channel",
        audience=str(audience),
        last_ms=0,
    )


async def _say(
    rooms: Sequence[Room], speech: Speech, numbers: range, transaction: Transaction
) -> list[tuple[int, Room]]:
    said = []
    for number in numbers:
        here, audience = rooms[number // _TALK % len(rooms)]
        name = _NAMES[number % len(_NAMES)]
        turn = Turn(Speaks.PERSON, f"U0{name.upper()}", name, f"{number}.0", speech.sentence())
        now = _BEGAN_MS + number * _EVERY_MS
        [seq] = await store_turns(transaction, [turn], conversation=here, audience=audience, trace_id="bench", now=now)
        said.append((seq, (here, audience)))
    return said
