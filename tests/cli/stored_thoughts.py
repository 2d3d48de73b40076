"""Thoughts as rows, for the tests of commands."""

import json
from pathlib import Path

from tests.cli.stocked import CONVERSATION, NOW, insert

INPUT = {"new_percepts": [{"modality": "language", "content": "hello \x1b]0;owned\x07"}]}
OUTPUT = {"inner_speech": "They greet me.", "external_speech": "Hello."}


def add(
    path: Path, number: int, *, conversation: str = CONVERSATION, audience: str = "dm:D1", soul: str = "minoan"
) -> str:
    """Store a thought of this number; gives its id."""
    name = f"TH_20261123_{number:03d}"
    values = {
        "id": name,
        "soul": soul,
        "workspace": "T1",
        "conversation": conversation,
        "audience": audience,
        "readers": "{}",
        "trace_id": "abc",
        "previous": f"TH_20261123_{number - 1:03d}" if number > 1 else "",
        "at_ms": NOW + number,
        "occasion": "words",
        "process": "engaged",
        "input": json.dumps(INPUT),
        "output": json.dumps(OUTPUT),
        "asked": 1,
        "degraded": 0,
        "spoke": 1,
        "surprise": 0.25,
        "did": '{"memory_ops": 2}',
        "refused": '[["goal_updates", "unknown"]]',
        "calls": 1,
        "tokens_in": 900,
        "tokens_out": 80,
        "cost_usd": 0.01,
        "saw_to": 99,
        "passing": 0,
    }
    insert(path, "thoughts", **values)
    return name
