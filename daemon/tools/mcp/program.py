"""The run of a server program: in an empty folder, within limits, in a process group that ends with it."""

import asyncio
import os
import resource
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from daemon.tools.mcp.lines import LineBuffer, OverlongMessage, check_parts
from daemon.tools.mcp.server_config import StdioServer

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams  # the SDK has no public name for them
    from mcp.shared.message import SessionMessage

    Received = SessionMessage | Exception

_CHUNK = 64 * 1024
_GRACE = 2.0  # seconds each to end after the end of its input, after SIGTERM, and after SIGKILL (the protocol's order)
_MOST_FILES = 1024
_KILLED_FIRST = "800"  # of 1000: without free memory, the kernel ends a server rather than the daemon


@asynccontextmanager
async def run_program(
    server: StdioServer,
    stderr: TextIO,
    on_chunk: Callable[[int], None],
    on_junk: Callable[[], None],
    on_overlong: Callable[[str], None],
) -> "AsyncIterator[TransportStreams]":
    """Start a program and talk to it over its pipes. On exit it is ended with all of its process group.

    The SDK's transport is not used: it copies a growing line repeatedly and without a bound, and may leave a program's
    children behind. `on_chunk` receives the size of each piece that is read, `on_junk` is called for each line that is
    no message. Both may raise OverlongMessage. `on_overlong` receives the reason why the rest is not read. Raises
    OSError if it can't start.
    """
    import anyio

    folder = Path(tempfile.mkdtemp(prefix="soul-tool-")) if server.cwd is None else None
    try:
        process = await _start(server, folder or server.cwd, stderr)
        to_session, incoming = anyio.create_memory_object_stream["Received"](0)
        outgoing, from_session = anyio.create_memory_object_stream["SessionMessage"](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_read, process, to_session, on_chunk, on_junk, on_overlong)
            group.start_soon(_write, process, from_session, to_session)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    incoming.close()
                    outgoing.close()
                    await _end(process)
                group.cancel_scope.cancel()
    finally:
        if folder is not None:
            with anyio.CancelScope(shield=True):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _start(server: StdioServer, folder: Path | None, stderr: TextIO) -> Process:
    from mcp.client.stdio import get_default_environment

    process = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        cwd=folder,
        env=get_default_environment() | server.env,
        start_new_session=True,
    )
    _restrain(process.pid, server.memory_mb << 20)
    return process


def _restrain(pid: int, memory: int) -> None:
    """Set limits for a program that has just started. Its children inherit them."""
    if sys.platform != "linux":
        return
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):  # the program has ended, or the limit is lower already
            resource.prlimit(pid, kind, (most, most))
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")


async def _read(
    process: Process,
    to_session: "MemoryObjectSendStream[Received]",
    on_chunk: Callable[[int], None],
    on_junk: Callable[[], None],
    on_overlong: Callable[[str], None],
) -> None:
    """Pass on every message. Afterwards read on and drop the data, which lets a writing program end."""
    import anyio

    assert process.stdout is not None  # started with pipes
    lines = LineBuffer()
    async with to_session:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            try:
                while chunk := await process.stdout.read(_CHUNK):
                    on_chunk(len(chunk))
                    for line in lines.feed(chunk):
                        if (message := _message(line)) is None:
                            on_junk()
                        else:
                            await to_session.send(message)
            except OverlongMessage as error:
                on_overlong(str(error))
    while await process.stdout.read(_CHUNK):
        pass


def _message(line: bytes) -> "SessionMessage | None":
    """Return the message in a line, or None. Raises OverlongMessage."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    if not line.lstrip().startswith(b"{"):
        return None
    check_parts(line)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _write(
    process: Process,
    from_session: "MemoryObjectReceiveStream[SessionMessage]",
    to_session: "MemoryObjectSendStream[Received]",
) -> None:
    import anyio

    assert process.stdin is not None  # started with pipes
    try:
        async with from_session:
            async for one in from_session:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()
    except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        await to_session.aclose()  # the session sees the end instead of waiting for an answer


async def _end(process: Process) -> None:
    """End the input, then the group: by SIGTERM if it does not end by itself, and in any case by SIGKILL."""
    assert process.stdin is not None  # started with pipes
    process.stdin.close()
    if not await _ended(process):
        _signal_group(process, signal.SIGTERM)
        await _ended(process)
    _signal_group(process, signal.SIGKILL)  # also ends processes that an ended program left in its group
    await _ended(process)
    transport = process._transport  # type: ignore[attr-defined]  # noqa: SLF001  # it has no public name
    with suppress(PermissionError):
        transport.close()  # a program that left the group may hold the pipes open


async def _ended(process: Process) -> bool:
    import anyio

    with anyio.move_on_after(_GRACE):
        await process.wait()
        return True
    return False


def _signal_group(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
