"""A server whose tool kills the daemon in the middle of the call, once for each word; a file notes the calls."""

import os
import signal
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations


def look_up(word: str) -> str:
    """Explain a word."""
    notes = Path(sys.argv[1])
    known = notes.read_text(encoding="utf-8").split() if notes.exists() else []
    with notes.open("a", encoding="utf-8") as file:
        file.write(f"{word}\n")
    if word not in known:
        os.kill(os.getppid(), signal.SIGKILL)
    return f"{word} is a word of {len(word)} letters"


if __name__ == "__main__":
    server = MCPServer("shelf")
    server.tool(annotations=ToolAnnotations(read_only_hint=True))(look_up)
    server.run()
