"""How long the hook script of a session of Claude Code takes, beside a bare start of Python in the same run."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from bench.plan import Bench
from bench.report import Row
from daemon.core.sessions import Visibility
from daemon.memory.shared.keys import KeyAdmin
from tests.http.daemons import HttpHome

SCRIPT: Final = Path(__file__).parents[2] / "hooks" / "session_event.py"
_UP_MS, _WITHOUT_MS = 150, 300
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
    rows = [Row("a bare start of Python, p95", "ms", bare)]
    for name, taken in found.items():
        at_most = _UP_MS if name == "up" else _WITHOUT_MS
        rows.append(Row(f"a hook with the daemon {name}, p95", "ms", taken, at_most=at_most))
    return rows


async def _of_script(url: str, key: str, home: Path, runs: int) -> float:
    home.mkdir()  # noqa: ASYNC240 - nothing else runs yet
    env = {"HOME": str(home), "SOUL_URL": url, "SOUL_KEY": key, "CLAUDE_PID": str(os.getpid())}
    return await _p95([sys.executable, "-I", "-S", str(SCRIPT)], env, runs)


async def _p95(command: list[str], env: dict[str, str], runs: int) -> float:
    hook = json.dumps({"session_id": "s1", "hook_event_name": "UserPromptSubmit", "cwd": "/"}).encode()
    taken = sorted([await asyncio.to_thread(_run, command, env, hook) for _ in range(runs)])
    return taken[int(0.95 * (runs - 1))]


def _run(command: list[str], env: dict[str, str], hook: bytes) -> float:
    """Milliseconds of one run."""
    began = time.perf_counter()
    done = subprocess.run(command, input=hook, env=env, capture_output=True, check=True)  # noqa: S603 - our own script
    taken = 1000 * (time.perf_counter() - began)
    assert not done.stderr
    return taken


@asynccontextmanager
async def _daemon(folder: Path) -> AsyncIterator[tuple[str, str]]:
    """A running daemon's address, and a key for it."""
    async with aiohttp.ClientSession() as client:
        home = HttpHome(folder / "daemon", client)
        home.home.mkdir()
        running = await home.start()
        assert running.built is not None
        _, key = await KeyAdmin(running.built.store.database, home.clock, "bench").add("UADA", Visibility.PROJECT)
        yield running.channel.url, key
        await running.stop()


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
