"""Parts of the tests of tools: lists of servers, failures, and whether a process runs."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from daemon.core.errors import ToolFailed
from daemon.core.ports import Toolbox

ROOT = Path(__file__).parents[2]


def program(*args: str, module: str = "server", **more: object) -> dict[str, object]:
    """The entry of a server that is one of the programs here."""
    return {"command": sys.executable, "args": ["-m", f"tests.tools.{module}", *args], "cwd": str(ROOT), **more}


def listing(folder: Path, **servers: object) -> Path:
    """A file that lists servers."""
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


async def failure(toolbox: Toolbox, name: str, arguments: Mapping[str, object] | None = None) -> ToolFailed:
    """The failure of a tool's use."""
    try:
        passage = await toolbox.use(name, arguments or {})
    except ToolFailed as failed:
        return failed
    raise AssertionError(f"{name} said {passage.text!r}")


def lives(pid: int) -> bool:
    """Whether a process exists; a zombie counts."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
