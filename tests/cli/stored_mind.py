"""Thoughts, goals and expectations as rows, for the tests of commands."""

import json
from pathlib import Path

from daemon.core.ports.services import SystemClock
from tests.cli.stocked import CONVERSATION, NOW, change, insert, talk

TODAY = SystemClock().now_ms()
INPUT = {"new_percepts": [{"modality": "language", "content": "hello \x1b]0;owned\x07"}]}
OUTPUT = {"inner_speech": "They greet me.", "external_speech": "Hello."}
CHECK = {"kind": "reply", "who": "U1"}
HERE: dict[str, object] = {"soul": "minoan", "workspace": "T1", "conversation": CONVERSATION}


def add(
    path: Path, number: int, *, conversation: str = CONVERSATION, audience: str = "dm:D1", soul: str = "minoan"
) -> str:
    """Store a thought of this number; gives its id."""
    name = f"TH_20261123_{number:03d}"
    place = {"id": name, "soul": soul, "conversation": conversation, "audience": audience, "readers": "{}"}
    before = {"previous": f"TH_20261123_{number - 1:03d}" if number > 1 else "", "at_ms": NOW + number}
    kind = {"occasion": "words", "process": "engaged", "trace_id": "abc", "degraded": 0, "passing": 0}
    words = {"input": json.dumps(INPUT), "output": json.dumps(OUTPUT), "spoke": 1, "surprise": 0.25, "saw_to": 99}
    came = {"did": '{"memory_ops": 2}', "refused": '[["goal_updates", "unknown"]]', "asked": 1}
    cost = {"calls": 1, "tokens_in": 900, "tokens_out": 80, "cost_usd": 0.01}
    insert(path, "thoughts", **HERE | place | before | kind | words | came | cost)
    return name


def aim(path: Path, number: int, **more: object) -> None:
    audience = "workspace:T1" if number % 2 else "dm:D1"
    thought = add(path, number, audience=audience)
    place = {"id": f"G{number}", "audience": audience, "readers": "{}", "behalf": "U1"}
    words = {"goal": f"read log {number}", "same_words": f"read log {number}", "why": f"reason {number}"}
    state = {"priority": 0.5, "state": "open", "follow_up": 0, "created_ms": NOW, "touched_ms": TODAY}
    made = {"thought": thought, "changed_by": thought}
    insert(path, "goals", **HERE | place | words | state | made | more)
    last = "INSERT INTO record_ids (series, last) VALUES ('G:minoan', ?) ON CONFLICT (series) DO UPDATE SET last = ?"
    change(path, last, number, number)


def converse(path: Path, soul: str) -> str:
    """Direct messages of another soul; gives their id."""
    talk(path, f"{soul}/T1/D2/", "dm:D2", "dm")
    return f"{soul}/T1/D2/"


def propose(path: Path, number: int, *, tool: str, field: str, held: object, audience: str, **more: object) -> str:
    """A proposal as a commit leaves it on a thought that holds it in a field; gives its id."""
    thought = add(path, number, audience=audience)
    name, given = f"{thought}-{field}", json.dumps({"thought": thought, "field": field})
    asked = {"id": name, "turn": 0, "tool": tool, "arguments": given, "asked": "[]", "audience": audience}
    state = {"state": "waiting", "expires_ms": TODAY + 10**9, "created_ms": NOW + number}
    readers = json.dumps({"audience": audience, "members_only": True})
    output = json.dumps({"inner_speech": "hm", field: held})
    change(path, "UPDATE thoughts SET output = ?, readers = ? WHERE id = ?", output, readers, thought)
    insert(path, "approvals", **HERE | asked | state | more)
    return name


def propose_goals(path: Path, number: int, *goals: object, audience: str = "workspace:T1", **more: object) -> str:
    """A proposal of these changes of goals."""
    return propose(path, number, tool="mind.goals", field="goal_updates", held=goals, audience=audience, **more)


def expect(path: Path, number: int, **more: object) -> None:
    audience = "workspace:T1" if number % 2 else "dm:D1"
    place = {"id": f"P{number}", "audience": audience, "readers": "{}", "thought": add(path, number, audience=audience)}
    held = {"what": f"they answer {number}", "confidence": 0.75, "timeframe": "soon", "awaited": json.dumps(CHECK)}
    state = {"kind": "reply", "goal": "", "made_ms": NOW, "due_ms": NOW + 1_000, "state": "open"}
    insert(path, "predictions", **HERE | place | held | state | more)


def score(path: Path, number: int, state: str, surprise: float | None) -> None:
    scored = "UPDATE predictions SET state = ?, scored_by = 'rule', surprise = ?, scored_ms = ? WHERE id = ?"
    change(path, scored, state, surprise, NOW + number, f"P{number}")
