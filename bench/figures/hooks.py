"""How long the hook script of a session of Claude Code takes, beside a bare start of Python in the same run.

And what it makes of odd inputs, and of events that it had to keep while the daemon was down.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from bench.plan import Bench
from bench.report import Row, quantile
from daemon.core.sessions import Visibility
from daemon.core.value import Value
from daemon.memory.shared.keys import KeyAdmin
from tests.hooks.odd_inputs import odd_inputs
from tests.http.daemons import HttpHome

SCRIPT: Final = Path(__file__).parents[2] / "hooks" / "session_event.py"
_UP_MS, _WITHOUT_MS = 150, 300
_COMMAND: Final = [sys.executable, "-I", "-S", str(SCRIPT)]
_SEED: Final = 11
_NOWHERE: Final = "http://127.0.0.1:9"


async def measure(bench: Bench) -> list[Row]:
    """The 95th percentile of runs with the daemon up, down, hanging and babbling."""
    runs = bench.size(100, 20)
    with tempfile.TemporaryDirectory() as folder:
        bare = await _p95([sys.executable, "-c", "pass"], {}, runs)
        async with _daemon(Path(folder)) as (url, key), _answering(b"") as hangs, _answering(b"hello\r\n") as babbles:
            found = {
                name: await _of_script(where, key, Path(folder) / name, runs)
                for name, where in (("up", url), ("down", _NOWHERE), ("hanging", hangs), ("babbling", babbles))
            }
        async with _daemon(Path(folder) / "odd") as (url, key):
            odd = await _of_odd_inputs(url, key, Path(folder), bench)
        kept = await _of_kept_events(Path(folder), bench.size(300, 40))
    rows = [Row("a bare start of Python, p95", "ms", bare)]
    for name, taken in found.items():
        at_most = _UP_MS if name == "up" else _WITHOUT_MS
        rows.append(Row(f"a hook with the daemon {name}, p95", "ms", taken, at_most=at_most))
    return [*rows, *odd, *kept]


async def _of_odd_inputs(url: str, key: str, home: Path, bench: Bench) -> list[Row]:
    """Runs that fail, chatter or take too long; a run's time is counted beyond that of a bare start just before."""
    inputs, env = bench.size(5_000, 200), _environment(url, key, home)
    nonzero = stderr = over = 0
    bare = 0.0
    for number, given in enumerate(odd_inputs(inputs, random.Random(_SEED))):  # noqa: S311 - a repeatable play
        if not number % 10:
            bare = (await asyncio.to_thread(_run, [sys.executable, "-c", "pass"], {}, b"")).ms
            bench.alive()
        pid = ("1", "x", "", "-5", str(10**30))[number % 5]
        ran = await asyncio.to_thread(_run, _COMMAND, env | {"CLAUDE_PID": pid}, given)
        nonzero += ran.code != 0
        stderr += ran.chatters
        over += ran.ms - bare > _WITHOUT_MS
    name = f"{inputs} odd inputs to the hook"
    return [
        Row(f"{name}: nonzero", "", nonzero, at_most=0),
        Row(f"{name}: stderr", "", stderr, at_most=0),
        Row(f"{name}: over_time", "", over, at_most=0, note=f"{_WITHOUT_MS} ms beyond a bare start of Python"),
    ]


async def _of_kept_events(folder: Path, events: int) -> list[Row]:
    """Events that are kept while the daemon is down, and sent by the first runs that get through."""
    async with aiohttp.ClientSession() as client:
        home = HttpHome(folder / "kept", client)
        home.home.mkdir()
        running = await home.start()
        url, key = running.channel.url, await _key(home)
        await running.stop()
        env = _environment(url, key, folder / "kept" / "user")
        for number in range(events):
            await asyncio.to_thread(_run, _COMMAND, env, _hook("Stop" if number % 2 else "UserPromptSubmit"))
        spool = [*(folder / "kept" / "user").glob(".local/state/soul/*/*.json")]
        sent = {json.loads(one.read_text("utf-8"))["id"] for one in spool}
        running = await home.start(http_port=URL(url).port)
        for _ in range(events):
            if not any(one.exists() for one in spool):
                break
            await asyncio.to_thread(_run, _COMMAND, env, _hook("Stop"))
        assert running.built is not None
        found = [row["id"] for row in await running.built.store.database.rows("SELECT id FROM session_events")]
        await running.stop()
    ingested, doubled = len(sent & set(found)), len(found) - len(set(found))
    name = f"{events} events kept while the daemon is down: lost or doubled"
    note = f"sent={len(sent)} ingested={ingested} doubled={doubled}"
    return [Row(name, "", events - ingested + doubled, at_most=0, note=note)]


async def _of_script(url: str, key: str, home: Path, runs: int) -> float:
    return await _p95(_COMMAND, _environment(url, key, home), runs)


def _environment(url: str, key: str, home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "SOUL_URL": url, "SOUL_KEY": key, "CLAUDE_PID": str(os.getpid())}


def _hook(event: str) -> bytes:
    return json.dumps({"session_id": "s1", "hook_event_name": event, "cwd": "/"}).encode()


async def _p95(command: list[str], env: dict[str, str], runs: int) -> float:
    ran = [await asyncio.to_thread(_run, command, env, _hook("UserPromptSubmit")) for _ in range(runs)]
    assert not any(one.code or one.chatters for one in ran)
    return quantile([one.ms for one in ran], 0.95)


class _Ran(Value):
    """How one run ended, whether it wrote to stderr, and its milliseconds."""

    code: int
    chatters: bool
    ms: float


def _run(command: list[str], env: dict[str, str], hook: bytes) -> _Ran:
    began = time.perf_counter()
    done = subprocess.run(command, input=hook, env=env, capture_output=True, check=False)  # noqa: S603 - our own script
    return _Ran(done.returncode, bool(done.stderr), 1000 * (time.perf_counter() - began))


@asynccontextmanager
async def _daemon(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """A running daemon's address, and a key for it."""
    async with aiohttp.ClientSession() as client:
        home = HttpHome(folder / "daemon", client)
        home.home.mkdir(parents=True)
        running = await home.start()
        yield running.channel.url, await _key(home)
        await running.stop()


async def _key(home: HttpHome) -> str:
    assert home.now.built is not None
    return (await KeyAdmin(home.now.built.store.database, home.clock, "bench").add("UADA", Visibility.PROJECT))[1]


@asynccontextmanager
async def _answering(words: bytes) -> AsyncIterator[str]:
    """The address of what is no daemon: it says these words, with none it never answers."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        if words:
            writer.write(words)
        else:
            await reader.read()  # until the script has left
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
