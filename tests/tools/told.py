"""A server that lists whatever a file holds, written without the SDK; each use adds a line to a file beside it."""

import json
import sys
from pathlib import Path

SCHEMA = {"type": "object", "properties": {}}


def answer(message: dict[str, dict[str, str]], offer: Path) -> dict[str, object]:
    """The answer to one request."""
    method: object = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "told", "version": "0"}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        tools = [{"inputSchema": SCHEMA, **tool} for tool in json.loads(offer.read_text(encoding="utf-8"))]
        return {"result": {"tools": tools}}
    if method == "tools/call":
        with offer.with_suffix(".used").open("a", encoding="utf-8") as used:
            used.write(f"{message['params']['name']}\n")
        return {"result": {"content": [{"type": "text", "text": "done"}]}}
    return {"error": {"code": -32601, "message": "unknown method"}}


if __name__ == "__main__":
    for line in sys.stdin:
        received = json.loads(line)
        if "id" in received:
            reply = {"jsonrpc": "2.0", "id": received["id"], **answer(received, Path(sys.argv[1]))}
            print(json.dumps(reply), flush=True)
