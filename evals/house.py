"""A fresh local workspace and a fresh daemon in it, as a process of its own, furnished for one scenario."""

import json
import re
import shutil
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol

from bench.processes import end, spawn
from daemon.core.errors import DaemonError
from daemon.core.ports.services import Clock, SystemClock
from daemon.core.value import Value
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from evals import depot
from evals.environment import Model
from evals.memory import MemoryFile
from evals.scenario import DOCUMENTS, Contact, Scenario, Setup
from tests.workspace_client import WorkspaceClient, WorkspaceRefused

_ROOT: Final = Path(__file__).resolve().parents[1]
_START: Final = 60.0  # seconds
_POLL: Final = 0.02
_MODELS: Final = re.compile(r"^\[models\][^\n]*\n(?:(?!\[).*\n?)*", re.MULTILINE)  # the settings name them
_LOG_TAIL: Final = 6  # lines


class HouseFailed(DaemonError):
    """A scenario could not be played: the daemon did not start, ended, or a step is not possible in the workspace."""


class RunningDaemon(Protocol):
    """A daemon's process."""

    @property
    def ended(self) -> str:
        """How it ended, in words; empty while it runs."""

    async def stop(self) -> None:
        """End it, and wait until it is gone."""


Launch = Callable[[Path, Mapping[str, str]], Awaitable[RunningDaemon]]
"""Starts a daemon in a folder with these settings; its log goes to the file `log` there."""


class DaemonProcess(Value):
    """`python -m daemon run`, as `soul run` starts it."""

    process: Process

    @property
    def ended(self) -> str:
        """See `RunningDaemon`."""
        status = self.process.returncode
        return "" if status is None else f"it ended with status {status}"

    async def stop(self) -> None:
        """See `RunningDaemon`."""
        await end(self.process)


async def launch_process(home: Path, settings: Mapping[str, str]) -> RunningDaemon:
    """Start the real daemon with a bare environment, these settings in it."""
    return DaemonProcess(await spawn(home, "daemon", "run", settings=settings))


class House(Value):
    """A workspace with a daemon in it; `tool_log` is where the stores' server notes its calls."""

    people: WorkspaceClient
    daemon: RunningDaemon
    memory: MemoryFile
    clock: Clock
    home: Path

    def tools_used(self) -> tuple[str, ...]:
        """The names of the tools that were called so far, in order."""
        try:
            lines = (self.home / "depot.log").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return ()
        return tuple(str(json.loads(line)["tool"]) for line in lines)

    def _living(self) -> bool:
        """Raises HouseFailed with the end of its log when the daemon has ended."""
        if how := self.daemon.ended:
            raise HouseFailed(f"the daemon is gone: {how}; its log ends: {log_tail(self.home)}")
        return True

    async def until(self, reached: Callable[[], Awaitable[bool]], within: float, what: str) -> None:
        """Poll until a condition holds. Raises HouseFailed when the daemon ends, or when the time is over."""
        ends = self.clock.monotonic() + within
        while self._living() and not await reached():
            if self.clock.monotonic() > ends:
                raise HouseFailed(f"after {within:.0f} s {what}; its log ends: {log_tail(self.home)}")
            await self.clock.sleep(_POLL)


@asynccontextmanager
async def house(scenario: Scenario, model: Model, launch: Launch = launch_process) -> AsyncIterator[House]:
    """A house for one scenario; at its end the daemon is stopped and every file removed. Raises HouseFailed."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soul-eval-")))
        server = await stack.enter_async_context(serve_workspace())
        people = await stack.enter_async_context(WorkspaceClient(server.page_url))
        await _furnish_workspace(people, scenario.setup)
        own = _furnish_home(home, scenario.setup, model.soul)
        chosen = {str(name): value for name, value in scenario.setup.settings.items()}
        settings = {**model.settings, **_connection(server, home), **own, **chosen}
        daemon = await launch(home, settings)
        stack.push_async_callback(daemon.stop)
        made = House(people, daemon, MemoryFile(home / "memory.db"), SystemClock(), home)
        documents = sum(path.is_file() for path in (home / "handbook").rglob("*"))

        async def connected() -> bool:
            return await people.sockets() > 0

        async def indexed() -> bool:
            return await made.memory.indexed() >= documents

        await made.until(connected, _START, "the daemon had no connection to the workspace")
        await made.until(indexed, _START, "the documents were not indexed")
        yield made


def log_tail(home: Path) -> str:
    """The last lines of a daemon's log, on one line."""
    try:
        lines = (home / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "(it wrote none)"
    return " | ".join(lines[-_LOG_TAIL:]) or "(it is empty)"


def _connection(server: WorkspaceServer, home: Path) -> dict[str, str]:
    return {
        "SLACK_API_URL": server.api_url,
        "SLACK_BOT_TOKEN": server.bot_token,
        "SLACK_APP_TOKEN": server.app_token,
        "SOUL_HTTP": "false",
        "SOUL_DRAIN": "2",
        "SOUL_LEARN_AFTER": "0",
        "SOUL_TELL_OF_MEMORY": "false",  # the line below the first reply is no word of the model
        "SOUL_HOME": str(home),
        "SOUL_SOULS_DIR": str(home / "souls"),
    }


async def _furnish_workspace(people: WorkspaceClient, setup: Setup) -> None:
    try:
        for person in setup.people:
            await people.add_person(person.name, standing=person.standing, zone=person.zone)
        for room in setup.rooms:
            kind = "group" if room.private else "channel"
            await people.add_channel(room.name, kind=kind, members=room.members)
    except WorkspaceRefused as refused:
        raise HouseFailed(f"setup is not possible in the workspace: {refused}") from refused


def _furnish_home(home: Path, setup: Setup, soul: Path) -> dict[str, str]:
    """Write soul, documents and tools below a home; gives the settings that name them."""
    shutil.copytree(soul, home / "souls" / soul.name)
    settings = {"SOUL_NAME": soul.name}
    manifest = home / "souls" / soul.name / "soul.toml"
    contacts = "".join(f"\n[[contacts]]\n{_fields(contact)}\n" for contact in setup.contacts)
    manifest.write_text(_MODELS.sub("", manifest.read_text(encoding="utf-8")) + contacts, encoding="utf-8")
    if setup.documents:
        shutil.copytree(DOCUMENTS / setup.documents, home / "handbook")
        settings["SOUL_LIBRARY"] = str(home / "handbook")
    if setup.tools:
        server = {
            "command": sys.executable,
            "args": ["-m", "evals.depot", str(home / "depot.log")],
            "env": {"PYTHONPATH": str(_ROOT)},
            "cwd": str(home),
            "reads": list(depot.READS),
        }
        listing = home / "servers.json"
        listing.write_text(json.dumps({"mcpServers": {depot.SERVER: server}}), encoding="utf-8")
        listing.chmod(0o600)
        settings["SOUL_MCP_SERVERS"] = str(listing)
    return settings


def _fields(contact: Contact) -> str:
    return "\n".join(
        f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in contact.model_dump().items()
    )
