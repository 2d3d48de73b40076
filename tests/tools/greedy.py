"""A server that takes what it can get, written without the SDK: memory, the pipe, the log; it leaves a child behind."""

import json
import resource
import subprocess
import sys
from pathlib import Path

NAMES = ("where", "limits", "hoard", "leave_a_child", "endless", "junk", "notes", "chatter", "ramble", "crowded")
CHILD = "import signal, time; [signal.signal(one, signal.SIG_IGN) for one in (1, 2, 15)]; time.sleep(3600)"


def where() -> str:
    """The working directory, its mode and what lies in it."""
    here = Path.cwd()
    inside = sorted(one.name for one in here.iterdir())
    return json.dumps({"here": str(here), "mode": oct(here.stat().st_mode & 0o777), "inside": inside})


def limits() -> str:
    """The limits of memory, files and core dumps."""
    kinds = (resource.RLIMIT_DATA, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)
    first_killed = Path("/proc/self/oom_score_adj").read_text(encoding="ascii")
    return json.dumps([*(resource.getrlimit(kind)[1] for kind in kinds), int(first_killed)])


def hoard() -> str:
    """Allocate a gibibyte."""
    try:
        return str(len(bytearray(2**30)))
    except MemoryError:
        return "no memory"


def leave_a_child() -> str:
    """Start a process that ignores signals and closes our pipes; gives its id."""
    quiet = subprocess.DEVNULL
    return str(subprocess.Popen([sys.executable, "-c", CHILD], stdin=quiet, stdout=quiet, stderr=quiet).pid)


def endless() -> str:
    """Write a line that never ends."""
    while True:
        sys.stdout.write("a" * 65_536)


def junk() -> str:
    """Write many lines that are no messages, some of which look like one."""
    sys.stdout.write("".join(f'junk {number}\n{{"junk": {number}}}\n' for number in range(10_000)))
    return "written"


def notes() -> str:
    """Write notes without end, and never answer."""
    while True:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))


def chatter() -> str:
    """Write lines that are no messages without end."""
    while True:
        print("junk")


def ramble() -> str:
    """Write long lines that are no messages without end."""
    while True:
        print("a" * 65_536)


def crowded() -> str:
    """Write a message with many parts."""
    print(json.dumps({"jsonrpc": "2.0", "id": 0, "result": {"x": [[]] * 1_000_000}}, separators=(",", ":")))
    return "written"


def answer(message: dict[str, dict[str, str]]) -> dict[str, object]:
    """The answer to one request."""
    method: object = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "greedy", "version": "0"}
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}}
    if method == "tools/call":
        said = globals()[message["params"]["name"]]()
        return {"result": {"content": [{"type": "text", "text": said}]}}
    return {"error": {"code": -32601, "message": "unknown method"}}


if __name__ == "__main__":
    for line in sys.stdin:
        received = json.loads(line)
        if "id" in received:
            print(json.dumps({"jsonrpc": "2.0", "id": received["id"], **answer(received)}), flush=True)
