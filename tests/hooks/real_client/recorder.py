"""Stands before the hook script in a copy of the plugin: writes down what the client gave, and lets the script run.

It runs as `python3 -I -S recorder.py FOLDER SCRIPT`, in the client's environment.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

KEPT = ("CLAUDE_PID", "CLAUDE_CODE_SESSION_ATTENDED")


def main() -> None:
    """Write one file, whole, and become the script."""
    folder, script = sys.argv[1:]
    given = sys.stdin.buffer.read()
    told = {"env": {name: os.environ[name] for name in KEPT if name in os.environ}, "hook": json.loads(given)}
    draft = Path(folder) / f"{time.time_ns():020d}-{os.getpid()}"
    draft.write_text(json.dumps(told), encoding="utf-8")
    draft.rename(draft.with_suffix(".json"))
    with tempfile.TemporaryFile() as again:
        again.write(given)
        again.seek(0)
        os.dup2(again.fileno(), 0)
    os.execv(sys.executable, [sys.executable, "-I", "-S", script])  # no shell is wanted


if __name__ == "__main__":
    main()
