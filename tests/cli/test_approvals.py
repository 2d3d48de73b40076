"""`soul approvals` lists requests and refuses them in place of the users asked; it never approves."""

from pathlib import Path

import pytest

from daemon.memory.admin.schedule_admin import APPROVAL_STATES
from tests.cli.conftest import as_json, call
from tests.cli.stocked import CONVERSATION, NOW, change, insert, one, stock


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    made = stock(home / "memory.db")
    place = {"conversation": CONVERSATION, "soul": "minoan", "workspace": "T1", "audience": "dm:D1"}
    asked = {"tool": "files/write", "arguments": '{"text": "\\u001b[2Jsecret plan"}', "asked": '["U1", "U2"]'}
    for number, state in enumerate(APPROVAL_STATES):
        times = {"expires_ms": NOW + 1, "created_ms": NOW}
        insert(made, "approvals", id=f"a-{state}", turn=number, state=state, **place, **asked, **times)
    change(made, "UPDATE outbox SET approval = 'a-waiting', platform_ts = '7.7' WHERE state = 'sent'")
    return made


def test_the_list_names_the_users_asked_without_the_arguments() -> None:
    result = call("approvals", "list")
    assert result.exit_code == 0
    assert all(f"a-{state}" in result.stdout for state in APPROVAL_STATES)
    assert "U1, U2" in result.stdout
    assert "secret" not in result.stdout + call("approvals", "list", "--json").stdout
    shown = call("approvals", "list", "--state", "waiting", "--arguments").stdout
    assert "text: ␛[2Jsecret plan" in shown
    assert "a-used" not in shown
    (row,) = as_json("approvals", "list", "--state", "waiting", "--arguments")
    assert row["arguments"] == {"text": "\x1b[2Jsecret plan"}
    assert len(as_json("approvals", "list", "--limit", "3")) == 3


def test_a_request_is_refused_in_its_conversation_unless_it_is_just_being_posted(path: Path) -> None:
    change(path, "UPDATE outbox SET platform_ts = NULL, state = 'sending' WHERE approval = 'a-waiting'")
    result = call("approvals", "refuse", "a-waiting")
    assert result.stderr.splitlines() == ["a-waiting is being posted at this moment", "try again in a few seconds"]
    assert call("approvals", "refuse", "a9").stderr.splitlines() == [
        "there is no question a9",
        "see `soul approvals list`",
    ]
    assert one(path, "SELECT state FROM approvals WHERE id = 'a-waiting'") == "waiting"
    assert call("approvals", "allow", "a-waiting").exit_code == 2
    change(path, "UPDATE outbox SET platform_ts = '7.7', state = 'sent' WHERE approval = 'a-waiting'")
    result = call("approvals", "refuse", "a-waiting")
    assert result.stdout == "a-waiting is refused: files/write won't be used.\n"
    assert one(path, "SELECT state FROM approvals WHERE id = 'a-waiting'") == "refused"
    assert one(path, "SELECT author FROM inbox WHERE modality = 'decision'") == "U1"  # whom the gate knows
    assert one(path, "SELECT revises FROM outbox WHERE body LIKE '%\n\n_Refused._'") == "7.7"
    assert one(path, "SELECT act || ' ' || object FROM audit") == "approval.refused a-waiting"
    assert one(path, "SELECT decided_by FROM approvals WHERE id = 'a-waiting'") == one(path, "SELECT actor FROM audit")
    for state in APPROVAL_STATES:
        if state != "waiting":
            result = call("approvals", "refuse", f"a-{state}")
            assert (result.exit_code, result.stderr.startswith(f"a-{state} is {state} already")) == (70, True), state
            assert one(path, "SELECT state FROM approvals WHERE id = ?", f"a-{state}") == state
