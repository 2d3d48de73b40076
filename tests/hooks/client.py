"""Runs the hook script as a client of Claude Code does."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from daemon.core.value import Value
from tests.fakes import TIMEOUT

SCRIPT = Path(__file__).parents[2] / "hooks" / "session_event.py"


class Ran(Value):
    code: int
    out: bytes
    err: bytes

    @property
    def context(self) -> str:
        """The text that the client hands to its model; empty for none."""
        if not self.out:
            return ""
        said = json.loads(self.out)
        assert said.keys() == {"hookSpecificOutput"}
        assert said["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
        return str(said["hookSpecificOutput"]["additionalContext"])


class Client:
    """Runs the script as a client does, in an environment of its own."""

    def __init__(self, home: Path, url: str, key: str) -> None:
        self.home = home
        home.mkdir(exist_ok=True)
        self.script = home / "session_event.py"  # a copy, with nothing of the checkout beside it
        shutil.copy(SCRIPT.with_name("soul_address.py"), home)
        text = SCRIPT.read_text(encoding="utf-8")  # with more time: a slow machine is no fault
        assert "NET_S = 0.15" in text
        assert "END_S = 0.18" in text
        self.script.write_text(text.replace("NET_S = 0.15", "NET_S = 60").replace("END_S = 0.18", "END_S = 60"))
        self.env = {"HOME": str(home), "SOUL_URL": url, "SOUL_KEY": key, "CLAUDE_PID": str(os.getpid())}
        self.env["CLAUDE_CODE_MESSAGING_TOKEN"] = "token-of-the-environment"

    def now(self, hook: object, *arguments: str) -> Ran:
        """Run it and wait; `hook` is bytes, or a value that becomes JSON."""
        given = hook if isinstance(hook, bytes) else json.dumps(hook).encode()
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(self.script), *arguments],
            input=given,
            capture_output=True,
            check=False,
            env=self.env,
            cwd=self.home,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    async def run(self, hook: object, *arguments: str) -> Ran:
        """Run it beside the daemon."""
        ran = await asyncio.to_thread(self.now, hook, *arguments)
        assert (ran.code, ran.err) == (0, b"")
        return ran

    async def report(self, name: str, **fields: object) -> Ran:
        return await self.run({"session_id": "s1", "hook_event_name": name, "cwd": str(self.home)} | fields)

    async def emptied(self) -> int:
        """Run it until nothing waits, and say how often; a busy daemon may put an event off, which is then kept."""
        runs = 0
        async with asyncio.timeout(TIMEOUT):
            while self.kept:
                await self.report("Stop")
                runs += 1
        return runs

    @property
    def kept(self) -> list[Path]:
        return sorted(self.home.glob(".local/state/soul/*/*.json"))

    async def status(self) -> dict[str, object]:
        found: dict[str, object] = json.loads((await self.run(b"", "--status")).out)
        return found
