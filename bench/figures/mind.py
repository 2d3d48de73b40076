"""What a large mind adds: a look for what is to be thought about, and what is read of it before a thought."""

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from bench.big_mind import SOUL, TALKS, TEAM, fill, talk
from bench.plan import Bench
from bench.report import Row, quantile
from daemon.core.ports.services import SystemClock
from daemon.memory.store import Store, open_store

_MOST_LOOK_MS, _MOST_RECALL_MS = 2.0, 5.0
_WARM_UP: Final = 20
_LONG_TALK: Final = 0  # the number of the DM with the most thoughts

Reading = Callable[[], Awaitable[object]]


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds of each; a target bounds what the process itself worked for it."""
    sizes = {"thoughts": bench.size(100_000, 10_000), "goals": bench.size(10_000, 2_000)}
    sizes["predictions"] = bench.size(100_000, 20_000)
    clock = SystemClock()
    with tempfile.TemporaryDirectory(prefix="bench-mind-") as folder:
        path = Path(folder) / "memory.db"
        await asyncio.to_thread(fill, path, sizes, clock.now_ms())
        bench.tell(f"{path.stat().st_size >> 20} MiB")
        async with open_store(
            path,
            clock,
            lambda event, /, **fields: None,
            soul=SOUL,
            workspace=TEAM,
            kind="bench",
            version="0",
            lease=30.0,
            on_accepted=lambda _: None,
        ) as store:
            return await _rows(store, bench.size(500, 100))


async def _rows(store: Store, times: int) -> list[Row]:
    draw = random.Random(7)  # noqa: S311 - no secret
    some = [draw.randrange(TALKS) for _ in range(times)]
    rows = list[Row]()
    for what, most, readings in (
        ("a look for what is due", _MOST_LOOK_MS, [store.ticks.next_due_ms] * times),
        ("the same, promises alone", _MOST_LOOK_MS, [lambda: store.ticks.next_due_ms(owed_alone=True)] * times),
        ("recall of the mind, any conversation", _MOST_RECALL_MS, [_recall(store, one) for one in some]),
        ("recall of the mind, the longest one", _MOST_RECALL_MS, [_recall(store, _LONG_TALK)] * times),
    ):
        rows += await _timed(what, most, readings)
    return rows


def _recall(store: Store, number: int) -> Reading:
    here, readers = talk(number)

    async def read() -> object:
        return await store.minds.at_hand(here, readers, ("U0",)), await store.stream.last(here, readers)

    return read


async def _timed(what: str, most: float, readings: Sequence[Reading]) -> list[Row]:
    """Times of readings, one after the other, no longer than this process worked meanwhile."""
    clock, walls, works = SystemClock(), list[float](), list[float]()
    for read in (*readings[:_WARM_UP], *readings):
        began, worked = clock.monotonic(), time.process_time()
        await read()
        walls.append(1000 * (clock.monotonic() - began))
        works.append(min(walls[-1], 1000 * (time.process_time() - worked)))
    walls, works = walls[_WARM_UP:], works[_WARM_UP:]
    note = f"by the wall clock {quantile(walls, 0.5):.2f} ms (p50) and {quantile(walls, 0.95):.2f} ms (p95)"
    return [
        Row(f"{what}, p50", "ms", quantile(works, 0.5)),
        Row(f"{what}, p95", "ms", quantile(works, 0.95), at_most=most, note=note),
    ]
