"""Starts programs as processes with a bare environment, and ends them."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

CHECKOUT: Final = ContextVar("CHECKOUT", default=Path(__file__).resolve().parents[1])
"""The checkout whose daemon is measured: this one, or another version's for a comparison."""

_PATIENCE: Final = 30.0  # seconds between SIGTERM and SIGKILL


async def spawn(home: Path, *arguments: str, settings: Mapping[str, str] | None = None, talks: bool = False) -> Process:
    """Start a Python module in a folder of its own; its log goes to `log` there. With `talks` its stdout is a pipe."""
    environment = {"PATH": os.defpath, "HOME": str(home), "PYTHONPATH": str(CHECKOUT.get()), **(settings or {})}
    with (home / "log").open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *arguments),
            stdin=DEVNULL,
            stdout=PIPE if talks else log,
            stderr=log,
            cwd=home,
            env=environment,
        )


async def end(process: Process, *, kill: bool = False) -> None:
    """Stop a process by SIGTERM, or by SIGKILL with `kill`, and wait until it is gone."""
    with suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill() if kill else process.terminate()
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


@asynccontextmanager
async def workspace_process(home: Path) -> AsyncIterator[dict[str, Any]]:
    """The local workspace as a process; gives `{url, page_url, api_url, bot_token, app_token, bot_user, team}`."""
    process = await spawn(home, "daemon.local_slack", talks=True)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(_PATIENCE):
            address = json.loads(await process.stdout.readline())
        yield address
    finally:
        await end(process)
