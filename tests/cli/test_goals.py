"""`soul mind goals`: the fields that others build on, words where asked for, and what an admin adds and closes."""

import json
from pathlib import Path

import pytest

from daemon.core.tempo import STALE_AFTER_MS
from tests.cli.conftest import as_json, call, printed
from tests.cli.stocked import CONVERSATION, NOW, change, one, rows, stock, turn
from tests.cli.stored_mind import TODAY, aim, converse, propose_goals

KEYS = (
    *("id", "soul", "conversation", "audience", "behalf", "goal", "priority", "state", "follow_up", "due_ms"),
    *("created_ms", "touched_ms", "closed_ms", "why", "thought"),
)


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    found = stock(home / "memory.db")
    aim(found, 1)
    aim(found, 2)
    aim(found, 3, touched_ms=NOW - STALE_AFTER_MS)
    aim(found, 4, state="done", closed_ms=NOW)
    return found


def listed(*arguments: str) -> list[dict[str, object]]:
    found = as_json("mind", "goals", *arguments)
    assert isinstance(found, list)
    return found


def test_each_goal_has_the_fields_that_others_build_on() -> None:
    found = listed()
    assert [tuple(each) for each in found] == [KEYS] * 4
    assert [each["id"] for each in found] == ["G1", "G2", "G3", "G4"]
    assert [each["state"] for each in found] == ["open", "open", "stale", "done"]
    assert {each["goal"] for each in found} == {each["why"] for each in found} == {""}
    assert (found[0]["due_ms"], found[0]["follow_up"], found[3]["closed_ms"]) == (None, False, NOW)
    assert listed("list") == found
    assert [each["id"] for each in listed("list", "--state", "open", "--limit", "1")] == ["G2"]
    assert [each["id"] for each in listed("--state", "stale")] == ["G3"]


def test_words_of_a_goal_and_its_reason_are_shown_where_asked_for_and_that_is_recorded(path: Path) -> None:
    assert [each["goal"] for each in listed("--words")] == ["read log 1", "", "read log 3", ""]
    every = listed("--words", "--private", "--conversation", CONVERSATION)
    assert [each["goal"] for each in every] == [f"read log {number}" for number in range(1, 5)]
    assert [each["why"] for each in every] == [f"reason {number}" for number in range(1, 5)]
    assert one(path, "SELECT count(*) FROM audit WHERE detail LIKE 'mind goals: %'") == 2
    assert "G1: read log 1 (reason 1)" in printed("mind", "goals", "--words")
    assert "G1" in printed("mind", "goals", "list")
    change(path, "UPDATE goals SET changed_by = 'TH_20261123_002', why = 'a secret' WHERE id = 'G1'")
    found = listed("--words")[0]
    assert (found["goal"], found["why"]) == ("read log 1", "")
    change(path, "UPDATE goals SET audience = 'workspace:T1', why = '', thought = changed_by")
    change(path, "UPDATE thoughts SET audience = 'workspace:T1'")
    change(path, "UPDATE goals SET thought = (SELECT max(id) FROM thoughts), changed_by = ''")
    assert f"{one(path, 'SELECT count(*) FROM goals')} texts are not shown: add --words" in printed("mind", "goals")


WATER = {"action": "add", "goal": "water the plants", "priority": 0.9, "due": "2h", "why": "they are dry"}


def test_what_a_thought_proposes_is_listed_as_a_proposed_goal_until_it_is_settled(path: Path) -> None:
    turn(path, CONVERSATION, "U1", "dm:D1", ts="1.4")
    name = propose_goals(path, 5, WATER, {"action": "complete", "goal_id": "G4"}, {"action": "add", "goal": "rest"})
    propose_goals(path, 6, WATER, state="refused")
    propose_goals(path, 7, WATER, expires_ms=TODAY - 1)
    found = listed("--state", "proposed")
    assert [tuple(each) for each in found] == [KEYS] * 2
    assert {each["id"] for each in found} == {name}
    water, rest = found
    assert (water["state"], water["priority"], water["behalf"]) == ("proposed", 0.9, "U1")
    assert (water["due_ms"], water["closed_ms"], water["follow_up"]) == (None, None, False)
    assert (water["thought"], water["created_ms"], water["audience"]) == ("TH_20261123_005", NOW + 5, "workspace:T1")
    assert (water["goal"], water["why"], rest["priority"]) == ("", "", 0.5)
    assert [each["id"] for each in listed()] == ["G1", "G2", "G3", "G4", name, name]
    assert [each["id"] for each in listed("--limit", "1")] == [name]
    assert [each["goal"] for each in listed("--state", "proposed", "--words")] == ["water the plants", "rest"]
    assert listed("--state", "proposed", "--conversation", CONVERSATION) == found
    assert f"{name}: water the plants (they are dry)" in printed("mind", "goals", "--words")
    assert call("approvals", "approve", name).exit_code == 0
    assert listed("--state", "proposed") == []
    assert [each["id"] for each in listed("--state", "open")] == ["G1", "G2", "G5", "G6"]


def test_a_proposal_before_few_needs_more_to_be_read_and_goes_with_its_words(path: Path) -> None:
    propose_goals(path, 5, WATER, audience="dm:D1")
    assert [each["goal"] for each in listed("--state", "proposed", "--words")] == [""]
    assert [each["goal"] for each in listed("--state", "proposed", "--words", "--private")] == ["water the plants"]
    change(path, "UPDATE thoughts SET output = '', emptied = 1 WHERE id = 'TH_20261123_005'")
    assert listed("--state", "proposed") == []
    unreadable: tuple[object, ...] = ("none", [7], [{"action": "add"}], [{"action": "add", "goal": 3}], {"goal": "x"})
    for held in unreadable:
        output = json.dumps({"goal_updates": held})
        change(path, "UPDATE thoughts SET output = ?, emptied = 0 WHERE id = 'TH_20261123_005'", output)
        assert listed("--state", "proposed") == [], held


def test_an_admin_adds_a_goal_and_closes_it_on_record(path: Path) -> None:
    made = json.loads(
        printed(
            *("mind", "goals", "add", CONVERSATION, "water the plants", "--due", "2h", "--priority", "0.9"),
            *("--on-behalf", "U1", "--why", "they are dry", "--json"),
        )
    )
    assert tuple(made) == KEYS
    assert (made["id"], made["state"], made["thought"], made["behalf"]) == ("G5", "open", "", "U1")
    assert (made["goal"], made["why"], made["priority"]) == ("water the plants", "they are dry", 0.9)
    assert made["due_ms"] > made["created_ms"]
    assert listed()[-1]["goal"] == ""
    every = listed("--words", "--private")[-1]
    assert (every["goal"], every["why"]) == ("water the plants", "they are dry")
    assert printed("mind", "goals", "done", "g5", "--why", "it rained") == "G5 of minoan is done.\n"
    assert printed("mind", "goals", "drop", "G1", "G2") == "G1 of minoan is abandoned.\nG2 of minoan is abandoned.\n"
    closed = listed("--words", "--private")
    assert [each["state"] for each in closed] == ["abandoned", "abandoned", "stale", "done", "done"]
    assert closed[-1]["why"] == "it rained"
    acts = [act for (act,) in rows(path, "SELECT act FROM audit WHERE act LIKE 'goal.%' ORDER BY seq")]
    assert acts == ["goal.add", "goal.done", "goal.abandoned", "goal.abandoned"]


def test_bad_input_is_told_in_a_sentence_and_changes_nothing_and_no_more_are_added_than_may_be_open(path: Path) -> None:
    name = propose_goals(path, 5, WATER)
    before = rows(path, "SELECT * FROM goals ORDER BY seq")
    for wrong, says in (
        (("done", name), "soul approvals"),
        (("done", "G9"), "minoan has no goal 'G9'"),
        (("done", "G4"), "G4 is done already"),
        (("drop", "G1", "--soul", "nemo"), "no soul 'nemo' is known here"),
        (("drop", "G1", "--why", "x" * 601), "longer than 600 characters"),
        (("add", "C99", "a goal"), "C99"),
        (("add", CONVERSATION, " "), "the goal is empty"),
        (("add", CONVERSATION, "x" * 601), "longer than 600 characters"),
        (("add", CONVERSATION, "Read log 2!"), "G2 says the same and is open"),
        (("add", CONVERSATION, "a goal", "--due", "yesterday"), "--due"),
        (("add", CONVERSATION, "a goal", "--due", "2020-01-01T09:00Z"), "is not in the future"),
        (("add", CONVERSATION, "a goal", "--priority", "2"), "--priority"),
        (("add", CONVERSATION, "a goal", "--priority", "nan"), "nan is not in the range 0<=x<=1"),
        (("add", CONVERSATION, "a goal", "--on-behalf", "banana !!"), "name a Slack user id, such as U0123ABC"),
        (("add", CONVERSATION, "a goal", "--on-behalf", "u0123abc"), "name a Slack user id, such as U0123ABC"),
        (("add", "", "a goal"), "there is no conversation"),
        (("done", "G1", "G99"), "minoan has no goal 'G99'"),
        (("drop", "G1", "G2", "G4"), "G4 is done already"),
        (("list", "--private"), "give --words, too"),
        (("--soul", "nemo"), "no soul 'nemo' is known here"),
        (("--state", "gone"), "gone"),
        (("--conversation", "C99"), "C99"),
    ):
        result = call("mind", "goals", *wrong)
        assert (result.exit_code != 0, says in " ".join(result.output.split())) == (True, True), (wrong, result.output)
        assert "is abandoned." not in result.output
        assert "unexpected error" not in result.output
    assert rows(path, "SELECT * FROM goals ORDER BY seq") == before
    change(path, "UPDATE turns SET author = 'ben', speaker = 'person'")
    made = as_json("mind", "goals", "add", CONVERSATION, "a goal", "--on-behalf", "ben")
    assert made["behalf"] == "ben"
    for number in range(10):
        printed("mind", "goals", "add", CONVERSATION, f"goal number {number}")
    assert (
        "12 goals are open for dm:D1, and no more fit" in call("mind", "goals", "add", CONVERSATION, "one more").output
    )
    assert one(path, "SELECT count(*) FROM goals") == 15


def test_a_goal_is_that_of_the_soul_of_its_conversation_and_closed_once(path: Path) -> None:
    there = converse(path, "cleo")
    assert as_json("mind", "goals", "add", there, "find the key")["soul"] == "cleo"
    assert [(each["soul"], each["conversation"]) for each in listed("--conversation", there)] == [("cleo", there)]
    assert "G1" in printed("mind", "goals", "--conversation", there)
    assert {each["soul"] for each in listed()} == {"minoan"}
    assert listed("--conversation", there, "--soul", "minoan") == []
    assert printed("mind", "goals", "done", "G1", "g1", "G2") == "G1 of minoan is done.\nG2 of minoan is done.\n"
    change(path, "DELETE FROM goals")
    assert "There are no goals." in printed("mind", "goals")
