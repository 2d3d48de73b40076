"""In a rehearsal the commands of a mind live by the clock of the workspace, as the daemon does."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.core.ports.services import SystemClock
from daemon.core.tempo import STALE_AFTER_MS
from daemon.local_slack.server import WorkspaceServer
from tests.cli.conftest import call
from tests.cli.services import move, workspace
from tests.cli.stocked import CONVERSATION, add_daemon, change, one, stock, talk
from tests.cli.stored_mind import TODAY, aim, expect, propose_goals, score

DAY_S = 86_400
WEEK_MS = 7 * DAY_S * 1_000
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    found = stock(home / "memory.db")
    aim(found, 1, touched_ms=TODAY - STALE_AFTER_MS + WEEK_MS // 2)
    return found


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkspaceServer]:
    """A workspace whose time is a week ahead of the machine's, with the settings of a daemon that lives by it."""
    with workspace() as server:
        move(server, 7 * DAY_S)
        monkeypatch.setenv("SLACK_BOT_TOKEN", server.bot_token)
        monkeypatch.setenv("SLACK_APP_TOKEN", server.app_token)
        monkeypatch.setenv("SLACK_API_URL", server.api_url)
        monkeypatch.setenv("SOUL_REHEARSAL_CLOCK", "true")
        yield server


def printed(*arguments: str) -> str:
    result = call(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


@pytest.mark.usefixtures("moved")
def test_goals_proposals_levels_invitations_and_the_doctor_are_those_of_the_time_of_the_workspace(path: Path) -> None:
    assert json.loads(printed("mind", "goals", "--json"))[0]["state"] == "stale"
    made = json.loads(printed("mind", "goals", "add", CONVERSATION, "water the plants", "--due", "2h", "--json"))
    assert 2 * HOUR_MS - 60_000 < made["due_ms"] - made["created_ms"] <= 2 * HOUR_MS
    assert made["created_ms"] > TODAY + WEEK_MS - HOUR_MS
    printed("mind", "goals", "done", "G2")
    closed = one(path, "SELECT closed_ms FROM goals WHERE id = 'G2'")
    assert isinstance(closed, int)
    assert closed >= made["created_ms"]
    expect(path, 5)
    score(path, 5, "hit", 0.25)
    change(path, "UPDATE predictions SET scored_ms = ?", SystemClock().now_ms())
    assert json.loads(printed("mind", "calibration", "--json", "--since", "8 days"))["scored"] == 1
    assert json.loads(printed("mind", "calibration", "--json", "--since", "2 days"))["scored"] == 0
    created_ms = SystemClock().now_ms() - HOUR_MS
    name = propose_goals(path, 9, expires_ms=TODAY + 2 * WEEK_MS, created_ms=created_ms)
    assert f"{name}  waiting  7 d" in printed("approvals", "list")
    least = TODAY + WEEK_MS - HOUR_MS
    assert json.loads(printed("status", "--json"))["now_ms"] > least
    printed("mind", "authority", "set", "goals", "1", "--why", "let me look first")
    assert json.loads(printed("mind", "authority", "history", "--json"))[0]["at_ms"] > least
    talk(path, "minoan/T1/C1/1.5")
    printed("mind", "initiative", "allow", "C1")
    decided = one(path, "SELECT at_ms FROM invitations")
    assert isinstance(decided, int)
    assert decided > least
    (channel,) = json.loads(printed("mind", "initiative", "--json"))
    assert channel["next_ms"] > least
    planned = json.loads(printed("schedule", "add", CONVERSATION, "look", "--in", "2h", "--json"))
    assert planned["due_ms"] > least
    seen_ms = SystemClock().now_ms() + WEEK_MS - 5_000
    add_daemon(path, seen_ms=seen_ms)
    assert "minoan in T1 (process 42 on here) is connected" in call("doctor", "--offline").stdout


def test_where_no_workspace_answers_it_is_the_time_of_the_machine_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_REHEARSAL_CLOCK", "true")
    for address in ("http://127.0.0.1:9/api/", "https://slack.com/api/"):
        monkeypatch.setenv("SLACK_API_URL", address)
        result = call("mind", "goals", "--json")
        assert (result.exit_code, json.loads(result.stdout)[0]["state"]) == (0, "open"), address
        assert "no local workspace says its time" in result.stderr, address


def test_without_the_setting_no_workspace_is_asked(moved: WorkspaceServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOUL_REHEARSAL_CLOCK")
    assert json.loads(printed("mind", "goals", "--json"))[0]["state"] == "open"
    assert json.loads(printed("status", "--json"))["now_ms"] < moved.clock.now_ms() - WEEK_MS + HOUR_MS
