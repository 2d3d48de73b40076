"""What the real client gave to the hook script: written down by its tests, and read where there is no client.

`RECORD_HOOKS=1 python -m pytest tests/hooks/real_client` makes the recordings anew, with the client that it finds.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "recordings"
HOME = "/home/ada"
_IDS = {"session_id": "s", "prompt_id": "p"}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_VARYING = {"seconds_since_last_response": 2, "estimated_cache_write_usd": 0.0}


def wanted() -> bool:
    """Whether the recordings are to be made anew."""
    return os.environ.get("RECORD_HOOKS") == "1"


def write(name: str, version: str, folder: Path, given: list[dict[str, Any]]) -> None:
    """Write down a scene that was played in a folder: ids are numbered, and nothing of this machine stays."""
    known: dict[str, dict[str, str]] = {"session_id": {}, "prompt_id": {}, "CLAUDE_PID": {}}
    events = []
    for one in given:
        hook, env = dict(one["hook"]), dict(one["env"])
        env["CLAUDE_PID"] = _numbered(known["CLAUDE_PID"], env["CLAUDE_PID"], "")
        for field, letter in _IDS.items():
            if field in hook:
                hook[field] = _numbered(known[field], hook[field], letter)
        hook["transcript_path"] = f"{HOME}/.claude/projects/api/{hook['session_id']}.jsonl"
        hook |= {field: value for field, value in _VARYING.items() if field in hook}
        events.append({"env": env, "hook": hook})
    text = json.dumps({"client": version, "events": events}, indent=1, ensure_ascii=False)
    text = text.replace(str(folder), HOME)
    assert not _UUID.search(text), "an id is left"
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


def read(name: str) -> list[dict[str, Any]]:
    """The events of a scene, in the order in which the client told of them."""
    return list(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["events"])


def version() -> str:
    (found,) = {json.loads(path.read_text(encoding="utf-8"))["client"] for path in FOLDER.glob("*.json")}
    return str(found)


def _numbered(known: dict[str, str], value: str, letter: str) -> str:
    return known.setdefault(value, f"{letter}{len(known) + 1}")
