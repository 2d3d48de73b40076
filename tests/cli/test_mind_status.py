"""`soul status` says of each mind what is counted, and no word."""

from pathlib import Path

from daemon.core.ports.services import SystemClock
from daemon.core.tempo import STALE_AFTER_MS
from tests.cli.conftest import as_json, call
from tests.cli.stocked import NOW, change, stock
from tests.cli.stored_mind import add, aim, expect, score

KEYS = (
    *("soul", "mode", "enabled", "tempo", "last_thought_ms", "thoughts_today", "skipped", "tokens_hour", "tokens_day"),
    *("budget_hour", "budget_day", "goals_open", "predictions_open", "dropped_percepts", "calibration"),
)


def mind() -> dict[str, object]:
    (found,) = as_json("status")["mind"]
    assert isinstance(found, dict)
    return found


def test_a_soul_that_never_thought_has_a_mind_without_figures(home: Path) -> None:
    stock(home / "memory.db")
    found = mind()
    assert tuple(found) == KEYS
    assert (found["soul"], found["mode"], found["enabled"], found["tempo"]) == ("minoan", "process", False, "asleep")
    assert (found["last_thought_ms"], found["thoughts_today"], found["goals_open"]) == (None, 0, 0)
    assert found["calibration"] == {"scored": 0, "brier": None, "skill": None}
    assert found["skipped"] == dict.fromkeys(("budget", "quiet", "not_invited", "words", "breaker"), 0)
    assert "thoughts of minoan" not in call("status").stdout


def test_what_is_open_and_scored_is_counted(home: Path) -> None:
    path, now = stock(home / "memory.db"), SystemClock().now_ms()
    aim(path, 1)
    aim(path, 2, touched_ms=NOW - STALE_AFTER_MS)
    aim(path, 3, state="done")
    for number in (4, 5):
        expect(path, number)
    score(path, 5, "hit", 0.25)
    add(path, 6, soul="cleo")
    change(path, "UPDATE thoughts SET at_ms = ? WHERE id = 'TH_20261123_005'", now)
    change(path, "UPDATE thoughts SET at_ms = ? WHERE soul = 'cleo'", now + 5)
    found = mind()
    assert (found["goals_open"], found["predictions_open"], found["thoughts_today"]) == (1, 1, 1)
    assert found["last_thought_ms"] == now
    assert found["calibration"] == {"scored": 1, "brier": 0.0625, "skill": None}
    assert "1 today, the last" in call("status").stdout
    assert "open goals: 1, open expectations: 1" in call("status").stdout
