"""The real client of Claude Code in an emptied environment, with the plugin as its marketplace file installs it."""

import asyncio
import json
import os
import pty
import re
import shutil
import signal
import struct
import termios
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import TIMEOUT
from tests.hooks.real_client import recordings

ROOT = Path(__file__).parents[3]
NAMES_IT = "CLAUDE_CODE_CLIENT"
MISSING = (
    f"THE REAL CLIENT OF CLAUDE CODE IS NOT HERE: the plugin is tried with recordings of {recordings.version()} alone. "
    f"Set {NAMES_IT} to its executable (`npm install @anthropic-ai/claude-code` brings it), or put it on the PATH."
)
_KEY = "sk-ant-local-stand-in-key-0000000000"
_STEERING = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>78])|\s")


def real_client() -> str | None:
    return os.environ.get(NAMES_IT) or shutil.which("claude")


class Installed:
    """The client with a home of its own, in which the plugin is installed, and a project."""

    def __init__(self, folder: Path, api: str, soul: str, key: str) -> None:
        self.home, self.project = folder / "home", folder / "api"
        self.soul, self.key = soul, key
        self.heard = folder / "heard"
        self.version = ""
        self.env = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "ANTHROPIC_BASE_URL": api,
            "ANTHROPIC_API_KEY": _KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        }

    async def install(self) -> None:
        """Install the plugin from a copy of the marketplace."""
        for folder in (self.home / ".claude", self.project, self.heard):
            folder.mkdir(parents=True)
        market = self.home.parent / "market"
        shutil.copytree(ROOT / "hooks", market / "hooks", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / ".claude-plugin", market / ".claude-plugin")
        self._listen(market / "hooks")
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        }
        (self.home / ".claude" / ".claude.json").write_text(json.dumps(known))
        self.version = (await self.run("--version")).split()[0]
        await self.run("plugin", "marketplace", "add", str(market))
        options = ("--config", f"url={self.soul}", "--config", f"key={self.key}")
        await self.run("plugin", "install", "soul@soul", *options)

    def _listen(self, plugin: Path) -> None:
        """Put the recorder before the hook script, and give both more time: a slow machine is no fault."""
        script = plugin / "session_event.py"
        text = script.read_text(encoding="utf-8")
        for name in ("NET_S = 0.15", "END_S = 0.18"):
            assert name in text
            text = text.replace(name, f"{name.partition('=')[0]}= {TIMEOUT}")
        script.write_text(text, encoding="utf-8")
        shutil.copy(Path(__file__).with_name("recorder.py"), plugin)
        hooks = json.loads((plugin / "hooks.json").read_text(encoding="utf-8"))
        for (group,) in hooks["hooks"].values():
            (entry,) = group["hooks"]
            *before, name = entry["args"]
            assert name == "${CLAUDE_PLUGIN_ROOT}/session_event.py"
            entry["args"] = [*before, "${CLAUDE_PLUGIN_ROOT}/recorder.py", str(self.heard), name]
            entry["timeout"] = TIMEOUT
        (plugin / "hooks.json").write_text(json.dumps(hooks), encoding="utf-8")

    @property
    def hooks(self) -> list[dict[str, Any]]:
        """What the client gave to the hook script so far, in the order in which it began."""
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.heard.glob("*.json"))]

    def names(self) -> list[str]:
        return [str(one["hook"]["hook_event_name"]) for one in self.hooks]

    @property
    def kept(self) -> list[dict[str, Any]]:
        """The events that the hook script couldn't send, oldest first."""
        return [json.loads(path.read_text()) for path in sorted(self.home.glob(".local/state/soul/*/*.json"))]

    def record(self, scene: str) -> None:
        """Write down what the client gave in this scene, where recordings are wanted."""
        if recordings.wanted():
            recordings.write(scene, self.version, self.home.parent, self.hooks)

    async def until_hook(self, name: str, count: int = 1, **fields: object) -> dict[str, Any]:
        """Wait for a hook with these fields; gives what it was given. A folder has no events to wait on."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                given = [one["hook"] for one in self.hooks]
                found = [one for one in given if one["hook_event_name"] == name and fields.items() <= one.items()]
                if len(found) >= count:
                    return dict(found[count - 1])
                await asyncio.sleep(0.02)

    async def run(self, *arguments: str, code: int = 0) -> str:
        async with asyncio.timeout(TIMEOUT):
            running = await self.begin(*arguments)
            out, err = await running.communicate()
        assert running.returncode == code, (out, err)
        return out.decode()

    async def begin(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start the client without a terminal."""
        client = real_client()
        assert client is not None
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            client,
            *arguments,
            cwd=self.project,
            env=self.env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
        )


class ClientTerminal:
    """An interactive session in a terminal of its own."""

    def __init__(self, client: Installed, *arguments: str) -> None:
        self.client = client
        self._arguments = arguments
        self._running: asyncio.subprocess.Process | None = None
        self._handle = -1
        self._shown, self._changed = "", asyncio.Event()

    async def __aenter__(self) -> "ClientTerminal":
        return await self.open(*self._arguments)

    async def open(self, *arguments: str) -> "ClientTerminal":
        self._handle, inner = pty.openpty()
        ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        client = real_client()
        assert client is not None
        self._running = await asyncio.create_subprocess_exec(
            client,
            *arguments,
            cwd=self.client.project,
            env=self.client.env,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        os.set_blocking(self._handle, False)
        asyncio.get_running_loop().add_reader(self._handle, self._read)
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.kill()

    async def kill(self) -> None:
        assert self._running is not None
        if self._handle >= 0:
            asyncio.get_running_loop().remove_reader(self._handle)
        with suppress(ProcessLookupError):
            os.kill(self._running.pid, signal.SIGKILL)
        await self._running.wait()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def press(self, keys: str) -> None:
        os.write(self._handle, keys.encode())

    async def shows(self, text: str) -> None:
        """Wait until the terminal shows a text anew; spaces don't count."""
        wanted = re.sub(r"\s", "", text)
        async with asyncio.timeout(TIMEOUT):
            while wanted not in self._shown:
                self._changed.clear()
                await self._changed.wait()
        self._shown = ""

    async def type(self, text: str) -> None:
        """Type a line, and send it once it is shown."""
        self._shown = ""
        self.press(text)
        await self.shows(text)
        self.press("\r")

    def _read(self) -> None:
        try:
            raw = os.read(self._handle, 65536)  # a terminal that is not read holds the client up
            self._shown += _STEERING.sub("", raw.decode(errors="replace"))
            self._changed.set()
        except BlockingIOError:
            return
        except OSError:  # the client has closed it
            asyncio.get_running_loop().remove_reader(self._handle)


def need_client() -> None:
    """Skip, and say so, where there is no client."""
    if real_client() is None:
        pytest.skip(MISSING)
