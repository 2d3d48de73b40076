"""The stores' MCP server of the scenarios: how many of a part are there, and a reservation that changes something.

Run as a program: `python -m evals.depot LOG`. Each call becomes a JSON line in LOG, by which a score knows of it.
"""

import json
import sys
from pathlib import Path
from typing import Final

from mcp.server.mcpserver import MCPServer

SERVER: Final = "depot"
READS: Final = ("stock",)
_SHELF: Final = {
    "V-17": "valve seal V-17: 4 on shelf C3, next delivery on 9 March",
    "P-02": "pump head P-02: none on the shelf, 2 ordered, expected on 14 April",
    "F-88": "filter F-88: 310 on shelf A1",
}


def _note(tool: str, **arguments: object) -> None:
    with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
        log.write(json.dumps({"tool": f"{SERVER}/{tool}", "arguments": arguments}) + "\n")


def stock(part: str) -> str:
    """How many of a part are in the stores, by its number, e.g. V-17."""
    _note("stock", part=part)
    return _SHELF.get(part.strip().upper(), f"there is no part {part[:40]!r}; parts are {', '.join(_SHELF)}")


def reserve(part: str, count: int) -> str:
    """Reserve so many of a part for a project. It takes them off the shelf."""
    _note("reserve", part=part, count=count)
    return f"{count} of {part[:40]} are reserved"


def main() -> None:
    """Serve over standard input and output until they close."""
    server = MCPServer(SERVER)
    server.add_tool(stock)
    server.add_tool(reserve)
    server.run("stdio")


if __name__ == "__main__":
    main()
