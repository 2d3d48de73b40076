"""Goals and expectations as rows, for the tests of commands."""

import json
from pathlib import Path

from daemon.core.clock import SystemClock
from tests.cli.stocked import CONVERSATION, NOW, opened
from tests.cli.stored_thoughts import add

TODAY = SystemClock().now_ms()
CHECK = {"kind": "reply", "who": "U1"}


def aim(path: Path, number: int, **more: object) -> None:
    audience = "workspace:T1" if number % 2 else "dm:D1"
    values = {
        "soul": "minoan",
        "id": f"G{number}",
        "workspace": "T1",
        "conversation": CONVERSATION,
        "audience": audience,
        "readers": "{}",
        "behalf": "U1",
        "goal": f"read log {number}",
        "same_words": f"read log {number}",
        "priority": 0.5,
        "state": "open",
        "follow_up": 0,
        "created_ms": NOW,
        "touched_ms": TODAY,
        "why": f"reason {number}",
        "thought": add(path, number, audience=audience),
        **more,
    }
    values = {"changed_by": values["thought"], **values}
    with opened(path) as connection:
        marks = ", ".join(f":{key}" for key in values)
        connection.execute(f"INSERT INTO goals ({', '.join(values)}) VALUES ({marks})", values)
        connection.execute(
            "INSERT INTO record_ids (series, last) VALUES ('G:minoan', ?) ON CONFLICT (series) DO UPDATE SET last = ?",
            (number, number),
        )


def converse(path: Path, soul: str) -> str:
    """Direct messages of another soul; gives their id."""
    with opened(path) as connection:
        connection.execute(
            "INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)"
            " VALUES (?, ?, 'T1', 'D2', '', 'dm', 'dm:D2', ?)",
            (f"{soul}/T1/D2/", soul, NOW),
        )
    return f"{soul}/T1/D2/"


def propose_goals(path: Path, number: int, *goals: object, audience: str = "workspace:T1", **more: object) -> str:
    """A proposal of these changes of goals, as a commit leaves it on a thought that holds them; gives its id."""
    thought = add(path, number, audience=audience)
    values = {
        "id": f"{thought}-goal_updates",
        "conversation": CONVERSATION,
        "soul": "minoan",
        "workspace": "T1",
        "turn": 0,
        "tool": "mind.goals",
        "arguments": json.dumps({"thought": thought, "field": "goal_updates"}),
        "asked": "[]",
        "audience": audience,
        "state": "waiting",
        "expires_ms": TODAY + 10**9,
        "created_ms": NOW + number,
        **more,
    }
    readers = {"audience": audience, "members_only": True}
    with opened(path) as connection:
        held = json.dumps({"inner_speech": "hm", "goal_updates": goals})
        connection.execute(
            "UPDATE thoughts SET output = ?, readers = ? WHERE id = ?", (held, json.dumps(readers), thought)
        )
        marks = ", ".join(f":{key}" for key in values)
        connection.execute(f"INSERT INTO approvals ({', '.join(values)}) VALUES ({marks})", values)
    return str(values["id"])


def expect(path: Path, number: int, **more: object) -> None:
    thought = add(path, number, audience="workspace:T1" if number % 2 else "dm:D1")
    values = {
        "soul": "minoan",
        "id": f"P{number}",
        "workspace": "T1",
        "conversation": CONVERSATION,
        "audience": "workspace:T1" if number % 2 else "dm:D1",
        "readers": "{}",
        "thought": thought,
        "confidence": 0.75,
        "kind": "reply",
        "goal": "",
        "made_ms": NOW,
        "due_ms": NOW + 1_000,
        "state": "open",
        "what": f"they answer {number}",
        "timeframe": "soon",
        "awaited": json.dumps(CHECK),
        **more,
    }
    with opened(path) as connection:
        marks = ", ".join(f":{key}" for key in values)
        connection.execute(f"INSERT INTO predictions ({', '.join(values)}) VALUES ({marks})", values)


def score(path: Path, number: int, state: str, surprise: float | None) -> None:
    with opened(path) as connection:
        connection.execute(
            "UPDATE predictions SET state = ?, scored_by = 'rule', surprise = ?, scored_ms = ? WHERE id = ?",
            (state, surprise, NOW + number, f"P{number}"),
        )
