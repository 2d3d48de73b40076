"""The generator of `hooks/tools.json`: descriptions of the tools for sessions while no daemon answers."""

import json
import sys
from pathlib import Path

import daemon
from daemon.channels.http.mcp import TOOLS
from daemon.channels.http.mcp_server import INSTRUCTIONS


def mcp_reference() -> str:
    tools = [
        {
            "name": one.name,
            "description": one.description,
            "inputSchema": one.schema,
            "annotations": {"readOnlyHint": one.reads_only, "destructiveHint": False},
        }
        for one in TOOLS
    ]
    server = {"serverInfo": {"name": "soul", "version": daemon.__version__}, "instructions": INSTRUCTIONS}
    return json.dumps({"server": server, "tools": tools}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(mcp_reference(), encoding="utf-8")
