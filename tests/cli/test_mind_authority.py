"""`soul mind authority` shows and sets what a mind may do by itself; `soul approvals` settles what it proposes."""

import json
from pathlib import Path

import pytest

from daemon.core.authority import STARTS
from tests.cli.conftest import call
from tests.cli.stocked import CONVERSATION, NOW, one, opened, stock

KEYS = {"function", "level", "why", "since_ms", "by", "parts", "refused"}
THOUGHT = "TH_20261123_001"


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    return stock(home / "memory.db")


def propose(path: Path, field: str = "memory_ops", value: object = None) -> str:
    """A proposal as a commit leaves it, on a thought that holds it."""
    held = {"inner_speech": "hm", field: value or [{"type": "write_semantic", "content": "It runs at night."}]}
    readers = json.dumps({"audience": "dm:D1", "members_only": True})
    with opened(path) as connection:
        connection.execute(
            "INSERT INTO thoughts (id, soul, workspace, conversation, audience, readers, trace_id, previous, at_ms,"
            " occasion, process, asked, degraded, spoke, did, refused, calls, tokens_in, tokens_out, cost_usd, saw_to,"
            " passing, input, output) VALUES (?, 'minoan', 'T1', ?, 'dm:D1', ?, 'abc', '', ?, 'words', 'engaged',"
            " 1, 0, 1, '{}', '[]', 1, 1, 1, 0.0, 0, 0, '', ?)",
            (THOUGHT, CONVERSATION, readers, NOW, json.dumps(held)),
        )
        connection.execute(
            "INSERT INTO approvals (id, conversation, soul, workspace, turn, tool, arguments, asked, audience, state,"
            " expires_ms, created_ms) VALUES (?, ?, 'minoan', 'T1', 0, 'mind.memory', ?, '[]', 'dm:D1', 'waiting',"
            " ?, ?)",
            (f"{THOUGHT}-{field}", CONVERSATION, json.dumps({"thought": THOUGHT, "field": field}), NOW + 10**9, NOW),
        )
    return f"{THOUGHT}-{field}"


def test_each_function_is_listed_with_its_level() -> None:
    found = json.loads(call("mind", "authority", "--json").stdout)
    assert {row["function"]: row["level"] for row in found} == {str(one): level for one, level in STARTS.items()}
    assert all(set(row) == KEYS for row in found)
    assert all(key in call("mind", "authority", "--help").stdout for key in KEYS)
    assert "values" in call("mind", "authority").stdout


def test_a_level_is_set_with_why_and_stays_on_record(path: Path) -> None:
    done = call("mind", "authority", "set", "goals", "1", "--why", "let me look first")
    assert (done.exit_code, done.stdout) == (0, "goals of minoan is on level 1 proposed; before: 2 checked.\n")
    assert one(path, "SELECT act || ' ' || object || ' ' || detail FROM audit") == "mind.authority minoan goals 2 to 1"
    (goals,) = (row for row in json.loads(call("mind", "authority", "--json").stdout) if row["function"] == "goals")
    assert (goals["level"], goals["why"]) == (1, "let me look first")
    assert "let me look first" in call("mind", "authority").stdout


@pytest.mark.parametrize(
    "wrong",
    [
        ("goal", "1", "--why", "x"),
        ("goals", "4", "--why", "x"),
        ("goals", "-1", "--why", "x"),
        ("goals", "1"),
        ("goals", "1", "--why", " "),
        ("goals", "1", "--why", "x" * 401),
        ("goals", "1", "--why", "x", "--soul", "cleo"),
    ],
)
def test_what_is_wrong_is_refused_with_a_sentence_and_changes_nothing(path: Path, wrong: tuple[str, ...]) -> None:
    result = call("mind", "authority", "set", *wrong)
    assert result.exit_code not in (0, 1)
    assert result.stderr
    assert one(path, "SELECT count(*) FROM mind_authority") == 0


def test_a_soul_that_is_not_known_has_no_levels() -> None:
    assert "no soul 'cleo'" in call("mind", "authority", "--soul", "cleo").stderr


def test_what_a_thought_proposes_is_approved_here(path: Path) -> None:
    name = propose(path)
    done = call("approvals", "approve", name)
    assert done.stderr == ""
    assert done.stdout.startswith(f"{name} is approved, and in effect: memory_ops")
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "used"
    assert one(path, "SELECT act FROM audit WHERE object = ?", name) == "approval.approved"
    assert f"{name} is used already" in call("approvals", "approve", name).stderr
    assert f"{name} is used already" in call("approvals", "refuse", name).stderr


def test_what_a_thought_proposes_is_declined_here_and_no_person_is_answered(path: Path) -> None:
    name = propose(path)
    assert call("approvals", "refuse", name).stdout == f"{name} is refused: it has no effect.\n"
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "refused"
    assert one(path, "SELECT count(*) FROM inbox WHERE modality = 'decision'") == 0


def test_a_tool_is_approved_in_slack_alone(path: Path) -> None:
    name = propose(path)
    with opened(path) as connection:
        connection.execute("UPDATE approvals SET tool = 'files/write', asked = '[\"U1\"]'")
    result = call("approvals", "approve", name)
    assert result.stderr.splitlines() == [f"only those who were asked can approve {name}", "they click in Slack"]
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "waiting"
    assert call("approvals", "approve", "a9").stderr.splitlines() == [
        "there is no proposal a9",
        "`soul approvals list` shows what waits",
    ]


def test_a_proposal_whose_channel_was_made_private_since_is_not_carried_out(path: Path) -> None:
    name = propose(path)
    with opened(path) as connection:
        connection.execute("UPDATE thoughts SET audience = 'channel:C9'")
    assert "before other readers" in call("approvals", "approve", name).stderr
    assert one(path, "SELECT state FROM approvals WHERE id = ?", name) == "waiting"
