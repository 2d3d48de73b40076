"""The whole search before a reply: words, vectors, ranking, the query's embedding included, at several sizes.

Talk is of English words at random, as frequent as in real talk; vectors are those of sentences, mixed and moved a
little. It is told in a DM alone, or over fifty audiences all of which the asker reads. A query is a sentence with rare
and frequent words; three lanes are searched before most replies, of which the last two ask the same for a while.
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.host import resident_mib
from bench.memories import SENTENCES, Speech, are_embedded, fill, fill_vectors, reader_of_all, rooms_of
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import PEOPLE, Bot, Stage, stage
from bench.timing import loop_watched, timed
from daemon.core import concurrency as long_lived
from daemon.core.config import one_thread_for_numbers
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import SystemClock
from daemon.llm.embedder import MODEL
from daemon.llm.embedder.endpoint import LocalEmbedder
from daemon.memory.database import open_database
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.retrieval.chroma_shelves import ChromaShelves
from daemon.memory.retrieval.keeper import owned
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing
from daemon.memory.retrieval.vector_file import VectorFile
from daemon.memory.retrieval.vectors import FILE, Vectors

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

_MOST_P95: Final = {10_000: 20.0, 100_000: 60.0}  # ms, for one lane
_LONGEST_HOLD_MS: Final = 20.0
_SNIPPETS: Final = 6
_WARM_UP: Final = 5
_QUERIES: Final = 100
_SLOW_S: Final = 60.0  # a measurement waits for vectors


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds of searches, rows stored a second, MiB, the longest hold of the event loop, and a DM."""
    rows = await _in_a_daemon(bench)
    one_thread_for_numbers()  # as in the daemon, and so is the next
    long_lived.begin()
    embedder = LocalEmbedder(MODEL)
    known = await embedder.embed(SENTENCES)
    sizes = [1_000, 10_000, *([] if bench.quick else [100_000]), *([1_000_000] if bench.long else [])]
    for size in sizes:
        for audiences in (1, 50):
            bench.tell(f"{size} memories, {audiences} audiences")
            rows += await _at(size, audiences, embedder, known)
    await embedder.aclose()
    return rows


async def _at(size: int, audiences: int, embedder: LocalEmbedder, known: "Sequence[Vector]") -> list[Row]:
    name = f"{size} memories, {audiences} {'audience' if audiences == 1 else 'audiences'}"
    with tempfile.TemporaryDirectory(prefix="bench-surfacing-") as folder:
        index = Path(folder) / "index"
        index.mkdir()
        before = resident_mib(os.getpid())
        async with open_database(Path(folder) / "memory.db", SystemClock()) as database:
            long_lived.imported()
            stored, took = await timed(fill(database, size, rooms_of(audiences)))
            rows = [Row(f"turns stored: {name}", "1/s", size / took)]
            file = VectorFile(index / FILE, read_only=False)
            file.note(embedder=embedder.id)
            await asyncio.to_thread(fill_vectors, file, stored, known)
            del stored
            vectors = Vectors(index, embedder.id, _silent)
            search = Surfacing(database, SystemClock(), Meaning(embedder, vectors, _SLOW_S))
            rows += await _searches(search, audiences, f"exact: {name}", size)
            rows.append(Row(f"memory added: {name}", "MiB", resident_mib(os.getpid()) - before))
            if audiences == 1:
                with owned(index) as lock:
                    assert lock is not None
                    chroma = ChromaShelves(index, file, vectors, SystemClock(), _silent, least=1, lock=lock)
                    await asyncio.to_thread(_run_out, chroma)
                    rows += await _searches(search, audiences, f"Chroma: {name}", size)
                    chroma.close()
            await vectors.aclose()
            file.close()
    return rows


async def _searches(search: Surfacing, audiences: int, name: str, size: int) -> list[Row]:
    """One lane by itself, and three lanes of which two were asked for before, as they are before most replies."""
    here, readers = reader_of_all(audiences)
    speech, rows = Speech(11), list[Row]()
    async with loop_watched() as holds:
        for lanes in (1, 3):
            taken, kept = list[float](), [f"{speech.sentence()}?" for _ in range(lanes - 1)]
            kinds = set[str]()
            for _ in range(_WARM_UP + _QUERIES):
                asked = [f"{speech.sentence()}?", *kept]
                found, seconds = await timed(search.find(here, readers, asked, _SNIPPETS, AlreadyShown()))
                taken.append(1000 * seconds)
                kinds.add(found.vectors)
            taken = taken[_WARM_UP:]
            what = f"search by {lanes} {'lane' if lanes == 1 else 'lanes'}, {name}"
            most = _MOST_P95.get(size) if lanes == 1 else None
            rows.append(Row(f"{what}, p50", "ms", quantile(taken, 0.5), note=f"vectors: {', '.join(sorted(kinds))}"))
            rows.append(Row(f"{what}, p95", "ms", quantile(taken, 0.95), at_most=most))
    rows.append(Row(f"longest hold of the event loop, {name}", "ms", max(holds), at_most=_LONGEST_HOLD_MS))
    return rows


async def _in_a_daemon(bench: Bench) -> list[Row]:
    """A DM beyond the model: with the embedder and 10,000 memories, and without either."""
    size = bench.size(10_000, 1_000)
    bare = await _messages(bench, 0, SOUL_EMBEDDER="none")
    full = await _messages(bench, size)
    p50 = quantile(full, 0.5)
    return [
        Row("DM beyond the model without embedder, empty memory, p50", "ms", quantile(bare, 0.5)),
        Row(f"DM beyond the model, {size} memories, p50", "ms", p50, at_most=40),
        Row(f"DM beyond the model, {size} memories, p95", "ms", quantile(full, 0.95), at_most=100),
        Row("what memory adds to a DM, p50", "ms", p50 - quantile(bare, 0.5), at_most=15),
    ]


async def _messages(bench: Bench, size: int, **settings: str) -> list[float]:
    taken, speech = list[float](), Speech(5)
    async with stage(Bot.OURS, **settings) as set_up:
        await set_up.start()
        for person in PEOPLE:
            await set_up.reply_to(await set_up.say(person, "dm", set_up.marked()))
        await set_up.quiet()
        if size:
            await set_up.stop()
            await _remember(set_up, size)
            await set_up.start()
            bench.tell(f"{size} memories are embedded")
            await set_up.until(partial(are_embedded, set_up.home / "index" / FILE, size), 900.0)
        for number in range(_WARM_UP + bench.size(100, 40)):
            text = f"{set_up.marked()} {speech.sentence()}?"
            message = await set_up.say(PEOPLE[number % len(PEOPLE)], "dm", text)
            taken.append(1000 * await set_up.reply_to(message))
    return taken[_WARM_UP:]


async def _remember(set_up: Stage, size: int) -> None:
    """Turns in the DMs that are there; the daemon embeds them as it starts."""
    async with open_database(set_up.home / "memory.db", SystemClock()) as database:
        rooms = await database.rows("SELECT id, audience FROM conversations")
        await fill(database, size, [(ConversationKey.parse(one), Audience.parse(of)) for one, of in rooms])


def _run_out(chroma: ChromaShelves) -> None:
    while chroma.step():
        pass


def _silent(_event: str, /, **_fields: object) -> None:
    """Nothing is logged."""
