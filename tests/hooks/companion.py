"""A session as the companion meets it: the process that starts it, with a socket on which it takes messages."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fakes import TIMEOUT
from tests.hooks.client import SCRIPT, Client

TOKEN = "token-of-the-socket"


class SessionProcess:
    """A process that runs the companion as a client does; the hooks of `client` are those of its session."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.heard = asyncio.Queue[dict[str, Any]]()
        for name in ("companion.py", "tools.json"):
            shutil.copy(SCRIPT.with_name(name), client.home)
        self.env = client.env | {
            "CLAUDE_CODE_MESSAGING_SOCKET": str(folder / "s"),
            "CLAUDE_CODE_MESSAGING_TOKEN": TOKEN,
            "CLAUDE_CODE_SESSION_ID": "stale",
        }
        self._running: asyncio.subprocess.Process | None = None
        self._calls = 0

    async def start(self) -> None:
        """Start it; its hooks name this process from now on."""
        pipe = asyncio.subprocess.PIPE
        self._running = await asyncio.create_subprocess_exec(
            *("sh", "-c", '"$0" -I -S "$1"; exit', sys.executable, str(self.client.home / "companion.py")),
            env=self.env,
            cwd=self.client.home,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        self.client.env["CLAUDE_PID"] = str(self._running.pid)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            self.heard.put_nowait(json.loads(line))
        writer.close()

    async def woken(self) -> str:
        """The next text by which it is woken."""
        async with asyncio.timeout(TIMEOUT):
            assert await self.heard.get() == {"type": "auth", "token": TOKEN}
            line = await self.heard.get()
        assert line.keys() == {"type", "message"}
        assert (line["type"], line["message"]["role"]) == ("user", "user")
        return str(line["message"]["content"])

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """One request of MCP; gives the whole answer."""
        self._calls += 1
        await self.send(json.dumps({"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}).encode())
        while (found := await self.answer()).get("id") != self._calls:
            pass
        return found

    async def send(self, line: bytes) -> None:
        assert self._running is not None
        assert self._running.stdin is not None
        self._running.stdin.write(line + b"\n")
        await self._running.stdin.drain()

    async def answer(self) -> dict[str, Any]:
        assert self._running is not None
        assert self._running.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            found: dict[str, Any] = json.loads(await self._running.stdout.readline())
        return found

    async def use(self, tool: str, **given: object) -> tuple[str, bool]:
        """Use a tool; gives its text, and whether it was refused."""
        result = (await self.call("tools/call", name=tool, arguments=given))["result"]
        return "".join(one["text"] for one in result["content"]), bool(result.get("isError"))

    async def kill(self) -> bytes:
        """End the session by SIGKILL, and its companion with it; gives what that wrote to stderr."""
        assert self._running is not None
        with suppress(ProcessLookupError):
            os.kill(self._running.pid, signal.SIGKILL)
        assert self._running.stdin is not None
        assert self._running.stderr is not None
        self._running.stdin.close()
        async with asyncio.timeout(TIMEOUT):
            said = await self._running.stderr.read()  # ends with the last process that has it
            await self._running.wait()
        return said


@asynccontextmanager
async def companioned(client: Client) -> AsyncIterator[SessionProcess]:
    """A session with its companion, until the block ends; the name of a socket has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="soul-"))
    session = SessionProcess(client, folder)
    server = await asyncio.start_unix_server(session.take, folder / "s")
    try:
        await session.start()
        yield session
        assert await session.kill() == b"", "it writes nothing but its answers"
    finally:
        if session._running is not None and session._running.returncode is None:
            await session.kill()
        server.close()
        shutil.rmtree(folder)
