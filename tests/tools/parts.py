"""Parts of the tests of tools: lists of servers, failures, and whether a process runs."""

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from daemon.core.errors import ToolFailed
from daemon.core.ports.library import Passage, Tool, Toolbox

ROOT = Path(__file__).parents[2]


@dataclass
class KnownTools:
    """A `ToolRecords` in memory; `changed` compares with the first sight, as memory.db does."""

    seen: dict[str, str] = field(default_factory=dict)

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        return {tool.name for tool in offered if self.seen.setdefault(tool.name, tool.fingerprint) != tool.fingerprint}


def program(*args: str, module: str = "server", **more: object) -> dict[str, object]:
    """The entry of a server that is one of the programs here; the admin trusts the hints of `server`."""
    entry: dict[str, object] = {"command": sys.executable, "args": ["-m", f"tests.tools.{module}", *args]}
    return {**entry, "cwd": str(ROOT), "trust_annotations": module == "server", **more}


def listing(folder: Path, **servers: object) -> Path:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


async def use(toolbox: Toolbox, name: str, arguments: Mapping[str, object] | None = None) -> Passage:
    """Use a tool as it is listed now; one that isn't listed has no fingerprint."""
    listed = {tool.name: tool.fingerprint for tool in await toolbox.tools()}
    return await toolbox.use(name, arguments or {}, listed.get(name, ""))


async def failure(toolbox: Toolbox, name: str, arguments: Mapping[str, object] | None = None) -> ToolFailed:
    try:
        passage = await use(toolbox, name, arguments)
    except ToolFailed as failed:
        return failed
    raise AssertionError(f"{name} said {passage.text!r}")


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
