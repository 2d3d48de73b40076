"""`soul mind trace` shows the path of a conversation that is named by any unique part of its id."""

from pathlib import Path

import pytest

from tests.cli.conftest import as_json, call
from tests.cli.stocked import CONVERSATION, NOW, THOUGHT, insert, stock, talk, turn


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    made = stock(home / "memory.db")
    for thread in ("", "7.1", "7.2"):
        talk(made, f"minoan/T1/C_1/{thread}", "channel:C_1")
    for hop, (act, target, by, reason) in enumerate(
        (("enter", "greeting", "rule", "A stranger."), ("move", "curious", "model", "\x1b[2Jasked why"))
    ):
        step = {"act": act, "origin": "engaged", "target": target, "decided_by": by, "reason": reason}
        found = {"conversation": CONVERSATION, "trace_id": "abc", "hop": hop, "at_ms": NOW + hop}
        insert(made, "transitions", **step, **found, params='{"topic": "tides"}')
    turn(made, CONVERSATION, "minoan", "dm:D1", speaker="soul", ts="1.0", model="vendor/model")
    return made


def test_the_path_is_shown_step_by_step() -> None:
    for name in (CONVERSATION, "D1", "/d1/"):
        result = call("mind", "trace", name)
        assert result.exit_code == 0
        assert [line.split() for line in result.stdout.splitlines()] == [
            ["WHEN", "ACT", "STATES", "BY", "MODEL", "REASON"],
            ["2025-06-15", "15:06:40", "enter", "engaged", "→", "greeting", "rule", "vendor/model", "A", "stranger."],
            ["2025-06-15", "15:06:40", "move", "engaged", "→", "curious", "model", "vendor/model", "␛[2Jasked", "why"],
        ], name
        assert THOUGHT not in result.stdout
    steps = as_json("mind", "trace", "D1", "--limit", "1")
    assert [(one["hop"], one["params"], one["at_ms"]) for one in steps] == [(1, {"topic": "tides"}, NOW + 1)]


def test_an_ambiguous_part_of_a_name_lists_some_and_an_unknown_one_says_where_to_look(path: Path) -> None:
    result = call("mind", "trace", "C_1/7.")
    assert result.exit_code == 70
    assert result.stderr.splitlines() == [
        "C_1/7. matches several conversations: minoan/T1/C_1/7.1, minoan/T1/C_1/7.2",
        "give more of the id",
    ]
    assert (
        call("mind", "trace", "minoan/T1/C_1/").stdout == "minoan/T1/C_1/ has no steps yet.\n"
    )  # whole, though a part too
    assert call("mind", "trace", "C_1/7.2").exit_code == 0
    for name in ("C_1", "C_1/", "T1/c_1"):
        assert call("mind", "trace", name).stdout == "minoan/T1/C_1/ has no steps yet.\n", name
    for name in ("D9", "D%", "D_", "\\"):
        result = call("mind", "trace", name)
        assert result.exit_code == 70
        assert result.stderr.splitlines()[0] == f"there is no conversation {name}"
        assert "soul queue inbox list" in result.stderr
    for number in range(20):
        talk(path, f"minoan/T1/C2/{number}", "channel:C2")
    many = call("mind", "trace", "C2").stderr.splitlines()[0]
    assert many.endswith(", …")
    assert many.count("minoan/T1/C2/") == 8
