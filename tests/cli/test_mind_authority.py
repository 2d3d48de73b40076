"""`soul mind authority` shows and sets what a mind may do by itself; `soul approvals` settles what it proposes."""

from pathlib import Path

import pytest

from daemon.cli.listing import os_user
from daemon.core.authority import STARTS
from daemon.core.ports.services import SystemClock
from tests.cli import stored_mind
from tests.cli.conftest import as_json, call
from tests.cli.stocked import change, one

KEYS = {"function", "level", "why", "since_ms", "by", "parts", "refused"}


pytestmark = pytest.mark.usefixtures("path")


def propose(path: Path) -> str:
    """A proposal of a goal."""
    return stored_mind.propose_goals(path, 1, {"action": "add", "goal": "water the plants"}, audience="dm:D1")


def test_each_function_is_listed_with_its_level_and_what_is_wrong_changes_nothing(path: Path) -> None:
    found = as_json("mind", "authority")
    assert {row["function"]: row["level"] for row in found} == {str(one): level for one, level in STARTS.items()}
    assert all(set(row) == KEYS for row in found)
    assert "values" in call("mind", "authority").stdout
    for wrong in (
        ("goal", "1", "--why", "x"),
        ("goals", "3", "--why", "x"),
        ("goals", "4", "--why", "x"),
        ("goals", "-1", "--why", "x"),
        ("goals", "1"),
        ("goals", "1", "--why", " "),
        ("goals", "1", "--why", "x" * 401),
        ("goals", "1", "--why", "x", "--soul", "cleo"),
    ):
        result = call("mind", "authority", "set", *wrong)
        assert result.exit_code not in (0, 1), wrong
        assert result.stderr, wrong
    gone = call("mind", "authority", "set", "goals", "3", "--why", "x")
    assert "set 0, 1 or 2, which does what level 3 did" in gone.stderr
    assert one(path, "SELECT count(*) FROM mind_authority") == 0
    assert "no soul 'cleo'" in call("mind", "authority", "--soul", "cleo").stderr
    assert as_json("mind", "authority", "history") == []
    assert "No level was changed yet." in call("mind", "authority", "history").stdout
    assert "no soul 'cleo'" in call("mind", "authority", "history", "--soul", "cleo").stderr


def test_a_level_is_set_with_why_and_the_history_says_which_when_by_whom_and_why(path: Path) -> None:
    before = SystemClock().now_ms()
    done = call("mind", "authority", "set", "goals", "1", "--why", "let me look first")
    assert (done.exit_code, done.stdout) == (0, "goals of minoan is on level 1 proposed; before: 2 checked.\n")
    assert one(path, "SELECT act || ' ' || object || ' ' || detail FROM audit") == "mind.authority minoan goals 2 to 1"
    (goals,) = (row for row in as_json("mind", "authority") if row["function"] == "goals")
    assert (goals["level"], goals["why"]) == (1, "let me look first")
    assert "let me look first" in call("mind", "authority").stdout
    call("mind", "authority", "set", "tools", "0", "--why", "none is needed")
    call("mind", "authority", "set", "goals", "2", "--why", "it does well")
    change(
        path,
        "INSERT INTO mind_authority_history (soul, function, level_before, level, why, decided_by, at_ms) VALUES"
        " ('cleo', 'goals', 2, 1, 'another soul', 'house', 1)",
    )
    found = as_json("mind", "authority", "history")
    assert [tuple(one) for one in found] == [("at_ms", "function", "before", "level", "by", "why")] * 3
    assert [(one["function"], one["before"], one["level"], one["why"]) for one in found] == [
        ("goals", 2, 1, "let me look first"),
        ("tools", 2, 0, "none is needed"),
        ("goals", 1, 2, "it does well"),
    ]
    assert {one["by"] for one in found} == {os_user()}
    assert all(before <= one["at_ms"] <= SystemClock().now_ms() for one in found)
    (last,) = as_json("mind", "authority", "history", "--limit", "1")
    assert last["why"] == "it does well"
    of_tools = as_json("mind", "authority", "history", "--function", "tools")
    assert [one["why"] for one in of_tools] == ["none is needed"]
    shown = call("mind", "authority", "history").stdout
    assert all(words in shown for words in ("1 proposed", "2 checked", "let me look first", os_user()))


def test_what_a_thought_proposes_is_approved_here(path: Path) -> None:
    name = propose(path)
    done = call("approvals", "approve", name)
    assert done.stderr == ""
    assert done.stdout.startswith(f"{name} is approved, and in effect: goal_updates")
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "used"
    assert one(path, "SELECT act FROM audit WHERE object = ?", name) == "approval.approved"
    assert f"{name} is used already" in call("approvals", "approve", name).stderr
    assert f"{name} is used already" in call("approvals", "refuse", name).stderr


def test_what_a_thought_proposes_is_declined_here_and_no_person_is_answered(path: Path) -> None:
    name = propose(path)
    assert call("approvals", "refuse", name).stdout == f"{name} is refused: it has no effect.\n"
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "refused"
    assert one(path, "SELECT count(*) FROM inbox WHERE modality = 'decision'") == 0


def test_a_tool_is_approved_in_slack_alone_and_a_proposal_before_other_readers_not_at_all(path: Path) -> None:
    name = propose(path)
    change(path, "UPDATE thoughts SET audience = 'channel:C9'")  # made private since
    assert "before other readers" in call("approvals", "approve", name).stderr
    change(path, "UPDATE approvals SET tool = 'files/write', asked = '[\"U1\"]'")
    result = call("approvals", "approve", name)
    assert result.stderr.splitlines() == [f"only those who were asked can approve {name}", "they click in Slack"]
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "waiting"
    assert call("approvals", "approve", "a9").stderr.splitlines() == [
        "there is no proposal a9",
        "`soul approvals list` shows what waits",
    ]
