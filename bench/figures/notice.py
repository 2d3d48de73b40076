"""When other processes notice a change of a shared context, and what watching costs."""

import asyncio
import json
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Final

import aiohttp

from bench.household import TOKEN, Household, household, make_file
from bench.plan import Bench
from bench.report import Row, quantile
from daemon.core.ports.services import SystemClock

_KEYS: Final = ("one", "two", "three")
_NOTICE_MS: Final = 250
_WATCHERS: Final = 10
_NO_MORE: Final = 1.5  # the processor time of an idle daemon differs by so much by itself
_ROOT: Final = Path(__file__).parents[2]


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds until others saw a change, and the processor time of an idle daemon."""
    return [*await _among_three(bench.size(500, 90)), await _idle(bench)]


async def _among_three(changes: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        await asyncio.to_thread(make_file, Path(folder) / "memory.db", "wal")
        running = []
        for key in _KEYS:
            others = [one for one in _KEYS if one != key]
            given = (folder, key, *others, str(changes // len(_KEYS) + 1))
            program = (sys.executable, "-m", "tests.shared.noticing", *given)
            running.append(await asyncio.create_subprocess_exec(*program, cwd=_ROOT, stdin=PIPE, stdout=PIPE))
        for one in running:
            assert one.stdout is not None
            await one.stdout.readline()
        async with asyncio.TaskGroup() as group:
            said = [group.create_task(one.communicate(b"go\n")) for one in running]
    found = [json.loads(one.result()[0]) for one in said]
    after, missed = [ms for one in found for ms in one["after"]], sum(one["missed"] for one in found)
    name = f"{changes} changes among {len(_KEYS)} processes, from before the write"
    note = f"{len(after)} notices; {missed} changes were seen as one with the next"
    return [
        Row(f"{name}: noticed, p50", "ms", quantile(after, 0.5)),
        Row(f"{name}: noticed, p99", "ms", quantile(after, 0.99), at_most=_NOTICE_MS, note=note),
    ]


async def _idle(bench: Bench) -> Row:
    """By turns without and with watchers, so that load and growth affect both."""
    spans: tuple[list[float], list[float]] = ([], [])
    async with household("wal", daemons=1) as house:
        await SystemClock().sleep(bench.size(20, 5))  # until it has begun
        for _ in range(bench.size(4, 2)):
            for watchers, taken in zip((0, _WATCHERS), spans, strict=True):
                async with _watched(house, watchers):
                    before = house.cpu
                    await SystemClock().sleep(bench.size(15, 5))
                    taken.append(house.cpu - before)
    without, with_them = median(spans[0]), median(spans[1])
    return Row(
        f"processor of an idle daemon with {_WATCHERS} watchers to one without",
        "",
        with_them / without,
        at_most=_NO_MORE,
        note=f"{1000 * with_them:.0f} ms against {1000 * without:.0f} ms in {bench.size(15, 5)} s",
    )


@asynccontextmanager
async def _watched(house: Household, watchers: int) -> AsyncIterator[None]:
    """So many streams of one context, each of which has had its first look."""
    (url,) = house.addresses
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(aiohttp.ClientSession(headers=headers))
        for _ in range(watchers):
            stream = await stack.enter_async_context(client.get(f"{url}/api/shared-context/one/events"))
            await stream.content.readline()
        yield
