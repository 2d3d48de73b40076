"""A server that breaks every rule, written without the SDK: endless lists, junk on every pipe, wrong answers."""

import json
import sys
from itertools import count

SCHEMA = {"type": "object", "properties": {"a\u200bb": {"type": "string", "description": "x\u202ey"}}}
WRONG = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NAMES = ("mismatch", "internal", "bad_arguments", "refused", "noisy", "asks", "shapeless", "wordless")


def tool(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "inputSchema": SCHEMA, **more}


def page(cursor: str | None) -> dict[str, object]:
    """An endless list of tools; the first page holds tools that a careful client leaves out."""
    number = int(cursor or 0)
    if number:
        return {"tools": [tool(f"t{number}_{nth}") for nth in range(30)], "nextCursor": str(number + 1)}
    first = [tool(name) for name in NAMES]
    first[0]["outputSchema"] = WRONG
    odd = [
        tool("internal", description="a second of that name"),
        tool("../../etc"),
        tool("tag\U000e0041"),
        {"name": "book", "inputSchema": {"type": "object", "properties": {str(n): {} for n in range(5000)}}},
    ]
    return {"tools": first + odd, "nextCursor": "1"}


ANSWERS: dict[str, dict[str, object]] = {
    "internal": {"error": {"code": -32603, "message": "fell over"}},
    "bad_arguments": {"error": {"code": -32602, "message": "no such\x1b[2J word"}},
    "refused": {"result": {"content": [{"type": "text", "text": "will not"}], "isError": True}},
    "shapeless": {"result": {"content": "a text"}},
    "wordless": {"result": {"content": [], "structuredContent": {"hidden": "a\u202eb"}}},
}


def use(name: str, ask: "count[int]") -> dict[str, object]:
    if name in ANSWERS:
        return ANSWERS[name]
    if name == "noisy":
        sys.stderr.write("noise " * 200_000)
        sys.stderr.flush()
        print("this is no JSON", flush=True)
    if name == "asks":
        params = {"message": "your password?", "requestedSchema": {"type": "object", "properties": {}}}
        question = {"jsonrpc": "2.0", "id": f"q{next(ask)}", "method": "elicitation/create", "params": params}
        print(json.dumps(question), flush=True)
        answer = json.loads(sys.stdin.readline())
        return {"result": {"content": [{"type": "text", "text": f"got an error: {'error' in answer}"}]}}
    return {"result": {"content": [{"type": "text", "text": "quiet"}], "structuredContent": {"n": "no number"}}}


def answer(message: dict[str, dict[str, str]], ask: "count[int]") -> dict[str, object]:
    method: object = message["method"]
    if method == "initialize":
        info = {"name": "hostile", "version": "0"}
        version = message["params"]["protocolVersion"]
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": page(message.get("params", {}).get("cursor"))}
    if method == "tools/call":
        return use(message["params"]["name"], ask)
    return {"error": {"code": -32601, "message": "unknown method"}}


if __name__ == "__main__":
    questions = count()
    for line in sys.stdin:
        received = json.loads(line)
        if "id" in received:
            print(json.dumps({"jsonrpc": "2.0", "id": received["id"], **answer(received, questions)}), flush=True)
