"""Acknowledgements on a large memory.db, while it is copied, pruned, probed and surveyed, and while it is not."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Final

import aiohttp

from bench.figures.acknowledgement import acknowledged
from bench.plan import Bench
from bench.processes import end, spawn
from bench.report import Row, quantile
from bench.stage import Bot, Stage, stage
from daemon.memory.database.copies import all_copies, name_at
from daemon.memory.database.sqlite import sqlite3
from tests.big import fill

_ROWS_A_GB: Final = 270_000
_WORDS: Final = 30  # makes a message as long as an ordinary one, 3.8 KB all told
_PROBE_EVERY: Final = 1.0
_SURVEY_EVERY: Final = 5.0
_TOKEN: Final = "bench"  # noqa: S105 - of a daemon that lives for a minute
_MORE: Final = 100.0  # milliseconds that the chores may add to the 99th percentile


async def measure(bench: Bench) -> list[Row]:
    """A file of 1 GB in both journal modes, or of 0.2 GB when quick."""
    return await measure_file(bench, 0.2 if bench.quick else 1.0)


async def measure_file(bench: Bench, gigabytes: float) -> list[Row]:
    """Milliseconds from an event to its acknowledgement; an event that was refused counts as infinite."""
    rows: list[Row] = []
    for journal in ("TRUNCATE", "WAL"):
        size = bench.size(1200, 300)
        async with stage(Bot.OURS, **_settings()) as set_up:
            path = set_up.home / "memory.db"
            await asyncio.to_thread(_make, path, int(_ROWS_A_GB * gigabytes), journal)
            bench.tell(f"{path.stat().st_size / 1e9:.2f} GB, {journal.lower()}")
            alone = await _without_chores(set_up, size)
            busy = await _with_chores(set_up, size)
            made = [copy for copy in all_copies(set_up.home / "backups") if copy.stat().st_size]
        name = f"{gigabytes:g} GB, {journal.lower()}"
        more = quantile(busy, 0.99) - quantile(alone, 0.99)
        rows += [
            Row(f"{name}: acknowledgement alone, p50", "ms", quantile(alone, 0.5)),
            Row(f"{name}: acknowledgement alone, p99", "ms", quantile(alone, 0.99)),
            Row(f"{name}: beside the chores, p50", "ms", quantile(busy, 0.5)),
            Row(f"{name}: beside the chores, p99", "ms", quantile(busy, 0.99), at_most=500),
            Row(f"{name}: p99 more than alone", "ms", more, at_most=_MORE),
            Row(f"{name}: slowest beside the chores", "ms", max(busy)),
            Row(f"{name}: refused", "", sum(one == float("inf") for one in busy), at_most=0),
            Row(f"{name}: copies finished meanwhile", "", len(made)),
        ]
    return rows


def _settings() -> dict[str, str]:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    return {"SOUL_HTTP_PORT": str(port), "SOUL_HTTP_TOKEN": _TOKEN}


def _make(path: Path, rows: int, journal: str) -> None:
    fill(path, rows, words=_WORDS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode={journal}")
    descriptor = os.open(path.parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


async def _without_chores(set_up: Stage, size: int) -> list[float]:
    """Nothing is pruned, and a copy that seems to be fresh makes none due."""
    folder = set_up.home / "backups"
    folder.mkdir()
    fresh = folder / name_at(set_up.clock.now_ms())
    fresh.touch()
    kept = dict.fromkeys(("SOUL_TRACE_DAYS", "SOUL_QUEUE_TEXT_DAYS", "SOUL_JOB_DAYS", "SOUL_CALL_DAYS"), "0")
    wanted, set_up.settings = set_up.settings, {**set_up.settings, **kept}
    await set_up.start()
    found = await acknowledged(set_up, size)
    await set_up.stop()
    set_up.settings = wanted
    fresh.unlink()
    return found


async def _with_chores(set_up: Stage, size: int) -> list[float]:
    """A copy is due at once, all texts are old enough to be cleared, and probes and `soul status` come all the time."""
    await set_up.start()
    async with _probed(set_up), _surveyed(set_up):
        found = await acknowledged(set_up, size)
    await set_up.stop()
    return found


@asynccontextmanager
async def _probed(set_up: Stage) -> AsyncIterator[None]:
    address = f"http://127.0.0.1:{set_up.settings['SOUL_HTTP_PORT']}"

    async def probe() -> None:
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {_TOKEN}"}) as session:
            while True:
                for path in ("/readyz", "/metrics"):
                    with suppress(aiohttp.ClientConnectorError):  # its door opens a moment after its socket
                        async with session.get(address + path) as answer:
                            await answer.read()
                await set_up.clock.sleep(_PROBE_EVERY)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(probe())
        yield
        task.cancel()


@asynccontextmanager
async def _surveyed(set_up: Stage) -> AsyncIterator[None]:
    async def survey() -> None:
        while True:
            process = await spawn(set_up.home, "daemon", "status", settings={"SOUL_HOME": str(set_up.home)})
            try:
                await process.wait()
            finally:
                await end(process, kill=True)
            await set_up.clock.sleep(_SURVEY_EVERY)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(survey())
        yield
        task.cancel()
