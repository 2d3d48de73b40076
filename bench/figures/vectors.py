"""The search by meaning: the embedder, exact scans and Chroma at several sizes, the event loop, resident memory.

Vectors are those of real sentences, mixed and moved a little. Each query is embedded first, and
asks one view, of two.
"""

import asyncio
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from bench.host import resident_mib
from bench.memories import SENTENCES, are_embedded
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Bot, stage
from bench.timing import loop_watched, timed
from daemon.core.config import one_thread_for_numbers
from daemon.core.ports.services import SystemClock
from daemon.core.ports.vectors import NearQuery, View
from daemon.llm.embedder import MODEL
from daemon.llm.embedder.endpoint import LocalEmbedder
from daemon.memory.retrieval.chroma_shelves import ChromaShelves
from daemon.memory.retrieval.keeper import owned
from daemon.memory.retrieval.shelves import BUDGET
from daemon.memory.retrieval.sources import Embeddable
from daemon.memory.retrieval.vector_file import Placed, VectorFile
from daemon.memory.retrieval.vectors import FILE, Vectors

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

T = TypeVar("T")

_LARGE: Final = 100_000
_MOST_P95: Final = {10_000: 20.0, _LARGE: 60.0}  # ms
_MOST: Final = 100  # nearest memories that a query asks for
_SLICE: Final = 500
_LONGEST_HOLD_MS: Final = 20.0


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds of queries, vectors stored a second, MiB, and the longest time that the event loop was held."""
    rows = [*await _resident(bench)]
    one_thread_for_numbers()  # as in the daemon
    embedder = LocalEmbedder(MODEL)
    async with loop_watched() as holds:
        await embedder.embed(["the first text loads everything"])
    rows.append(Row("longest hold of the event loop while the embedder loads", "ms", max(holds), at_most=20))
    texts = SENTENCES
    vectors, took = await timed(embedder.embed(texts))
    rows.append(Row("texts embedded", "1/s", len(texts) / took))
    sizes = (1_000, 10_000) if bench.quick else (1_000, 10_000, _LARGE)
    for size in sizes:
        for audiences in (1, 50):
            bench.tell(f"{size} memories, {audiences} audiences")
            rows += await _at(size, audiences, embedder, texts, vectors)
    await embedder.aclose()
    return rows


async def _at(
    size: int, audiences: int, embedder: LocalEmbedder, texts: Sequence[str], known: "Sequence[Vector]"
) -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder, clock = Path(place), SystemClock()
        file = VectorFile(folder / FILE, read_only=False)
        file.note(embedder=embedder.id)
        _, wrote = await timed(asyncio.to_thread(_fill, file, size, audiences, known))
        name = f"{size} memories, {audiences} {'audience' if audiences == 1 else 'audiences'}"
        rows = [Row(f"stored in vectors.db: {name}", "1/s", size / wrote)]
        if size // audiences * (len(known[0]) + 4) <= BUDGET:
            index = Vectors(folder, embedder.id, _silent)
            rows += await _queries(index, embedder, texts, f"exact: {name}", _MOST_P95.get(size))
            await index.aclose()
        if audiences == 1:
            index = Vectors(folder, embedder.id, _silent)
            with owned(folder) as lock:
                assert lock is not None
                chroma = ChromaShelves(folder, file, index, clock, _silent, least=1, lock=lock)
                _, took = await timed(asyncio.to_thread(_run_out, chroma))
                rows += await _queries(index, embedder, texts, f"Chroma: {name}", _MOST_P95.get(size))
                assert chroma.process is not None
                rows.append(Row(f"stored in Chroma: {name}", "1/s", size / took))
                rows.append(Row(f"memory of Chroma's process: {name}", "MiB", resident_mib(chroma.process)))
                chroma.close()
            await index.aclose()
        file.close()
    return rows


async def _queries(
    index: Vectors, embedder: LocalEmbedder, texts: Sequence[str], name: str, most: float | None
) -> list[Row]:
    """Each query is embedded and asked; the first one loads the shelf and is told apart."""
    taken: list[float] = []
    asked = [f"why {text}?" for text in texts]
    async with loop_watched() as holds:
        for text in asked[:101]:
            kind, seconds = await timed(_ask(index, embedder, text))
            assert kind == name.partition(":")[0].lower(), kind
            taken.append(1000 * seconds)
    first, rest = taken[0], taken[1:]
    return [
        Row(f"{name}, p50", "ms", quantile(rest, 0.5)),
        Row(f"{name}, p95", "ms", quantile(rest, 0.95), at_most=most, note=f"the first one {first:.0f} ms"),
        Row(f"longest hold of the event loop, {name}", "ms", max(holds), at_most=_LONGEST_HOLD_MS),
    ]


def _fill(file: VectorFile, size: int, audiences: int, known: "Sequence[Vector]") -> None:
    import numpy as np

    drawn, rows = random.Random(7), np.stack(known)  # noqa: S311 - no secret
    noise = np.random.default_rng(7)
    for start in range(0, size, _SLICE):
        placed = []
        for number in range(start, min(size, start + _SLICE)):
            mixed = rows[drawn.randrange(len(rows))] + 0.5 * rows[drawn.randrange(len(rows))]
            mixed = mixed + noise.normal(0, 0.02, mixed.shape).astype(np.float32)
            source = Embeddable(f"TU_{number + 1}", (f"a{number % audiences}",), {View.OWN: f"text {number}"})
            placed.append(Placed(source, {View.OWN: mixed / np.float32(np.linalg.norm(mixed))}))
        file.replace((), placed)


def _run_out(chroma: ChromaShelves) -> None:
    while chroma.step():
        pass


async def _resident(bench: Bench) -> list[Row]:
    """Of a daemon at rest, after the first message, and once all memories have their vectors."""
    size = bench.size(10_000, 1_000)
    async with stage(Bot.OURS, SOUL_CHROMA_FROM=str(2 * size)) as set_up:
        await set_up.start()
        rest = set_up.memory
        await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()))
        await set_up.quiet()
        first = set_up.memory
        await set_up.stop()
        await asyncio.to_thread(_talk_of, set_up.home / "memory.db", size)
        await set_up.start()
        bench.tell(f"{size} memories are embedded")
        await set_up.until(partial(are_embedded, set_up.home / "index" / FILE, size), 600.0)
        await set_up.reply_to(await set_up.say("ada", "dm", set_up.marked()))
        await set_up.quiet()
        return [
            Row("resident memory until a memory is embedded", "MiB", rest, at_most=120),
            Row("resident memory after the first message", "MiB", first, at_most=240),
            Row(f"resident memory with {size} memories", "MiB", set_up.memory, at_most=240),
        ]


def _talk_of(path: Path, size: int) -> None:
    """Many turns in the DM that is there."""
    from daemon.memory.database.sqlite import sqlite3

    drawn = random.Random(11)  # noqa: S311 - no secret
    with sqlite3.connect(path) as connection:
        connection.executemany(
            """
            INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
            SELECT id, 'person', 'U0ADA', 'Ada', ?, ?, audience, 'bench', 1 FROM conversations LIMIT 1
            """,
            [(f"{number}.0", f"{drawn.choice(SENTENCES)}, and {drawn.choice(SENTENCES)}") for number in range(size)],
        )
    connection.close()


async def _ask(index: Vectors, embedder: LocalEmbedder, text: str) -> str:
    (vector,) = await embedder.embed([text])
    [near] = await index.near(["a0"], [NearQuery(View.OWN, vector)], _MOST)
    return near.kind


def _silent(_event: str, /, **_fields: object) -> None:
    """Nothing is logged."""
