"""`soul mind initiative`: the fields that others build on, and what an admin may decide."""

from pathlib import Path

import pytest

from daemon.core.ports.services import SystemClock
from daemon.memory.admin.queue_admin import OUTBOX_STATES
from tests.cli.conftest import as_json, call
from tests.cli.stocked import CONVERSATION, insert, rows, stock, talk

KEYS = ("who", "state", "how", "granted_by", "until_ms", "day_limit", "sent_today", "next_ms")
LOGGED = ("at_ms", "who", "person", "conversation", "promised", "unwanted")
DAY = 86_400_000


@pytest.fixture(autouse=True)
def path(home: Path) -> Path:
    found = stock(home / "memory.db")
    talk(found, "minoan/T1/C1/1.5")
    known = {"audience": "dm:D1", "version": 1, "name": "Ada", "visits": 1, "interactions": 1, "seen_ms": 1}
    insert(found, "user_models", soul="minoan", workspace="T1", person="U1", updated_ms=1, **known)
    return found


def invited(path: Path, who: str, until_ms: int = 0) -> None:
    how = {"state": "invited", "how": "phrase", "granted_by": who, "until_ms": until_ms, "at_ms": 1}
    insert(path, "invitations", soul="minoan", workspace="T1", who=who, **how)


def said(path: Path, who: str, at_ms: int, *, promised: int = 0, post: str = "") -> None:
    what = {"who": who, "person": "U1", "promised": promised, "post": post, "at_ms": at_ms}
    insert(path, "initiatives", soul="minoan", workspace="T1", conversation=CONVERSATION, **what)


def printed(*arguments: str) -> str:
    result = call("mind", "initiative", *arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def listed(*arguments: str) -> list[dict[str, object]]:
    found = as_json("mind", "initiative", *arguments)
    assert isinstance(found, list)
    return found


def test_whom_the_soul_knows_is_listed_and_a_pause_with_its_end_and_the_next_moment(path: Path) -> None:
    assert [tuple(one) for one in listed()] == [KEYS]
    assert tuple(listed()[0].values()) == ("U1", "unasked", "", "", None, 2, 0, None)
    assert listed("list") == listed()
    assert "U1" in printed()
    now = SystemClock().now_ms()
    invited(path, "U1", until_ms=now + 30 * DAY)
    (one,) = listed()
    assert (one["state"], one["until_ms"], one["how"], one["granted_by"]) == ("paused", now + 30 * DAY, "phrase", "U1")
    assert isinstance(one["next_ms"], int)
    assert one["next_ms"] >= now + 30 * DAY


def test_what_was_said_counts_for_a_day_but_for_promises_and_waits_for_an_answer(path: Path) -> None:
    now = SystemClock().now_ms()
    invited(path, "U1")
    said(path, "U1", now - 2 * DAY)
    said(path, "U1", now - 1_000)
    said(path, "U1", now, promised=1)
    (one,) = listed()
    assert (one["sent_today"], one["next_ms"]) == (1, None), "the last one is unanswered"
    log = as_json("mind", "initiative", "log")
    assert [tuple(each) for each in log] == [LOGGED] * 3
    assert [each["promised"] for each in log] == [False, False, True]
    assert "promised" in printed("log")
    assert len(as_json("mind", "initiative", "log", "--limit", "1")) == 1


def test_what_never_arrived_does_not_count_as_for_the_limit(path: Path) -> None:
    now = SystemClock().now_ms()
    invited(path, "U1")
    for state in ("dropped", "dead", "expired", "sent", "unknown"):
        said(path, "U1", now - 1_000, post=f"{CONVERSATION}@{OUTBOX_STATES.index(state)}#0")
    assert listed()[0]["sent_today"] == 2


def test_an_admin_allows_a_channel_and_denies_it_again_and_both_are_on_record(path: Path) -> None:
    assert printed("allow", "C1") == "minoan may say something unasked in threads of C1.\n"
    (one, _) = listed()
    assert (one["who"], one["state"], one["how"], one["day_limit"]) == ("C1", "invited", "admin", 1)
    assert printed("deny", "C1").startswith("minoan says nothing unasked any more to C1")
    assert listed()[0]["state"] == "declined"
    acts = rows(path, "SELECT act, object FROM audit ORDER BY seq")
    assert acts == [("initiative.allow", "minoan C1"), ("initiative.deny", "minoan C1")]


def test_one_whom_the_soul_does_not_know_is_told_an_admin_denies_a_person_but_invites_for_none(path: Path) -> None:
    for who in ("C9", "U9", "D1", "", "C1'; DROP TABLE invitations; --"):
        for act in ("allow", "deny"):
            result = call("mind", "initiative", act, who)
            assert (result.exit_code != 0, "knows no channel or person" in result.output) == (True, True), (act, who)
    assert call("mind", "initiative", "--soul", "nobody").exit_code != 0
    assert call("mind", "initiative", "allow", "C1", "--soul", "nobody").exit_code != 0
    assert rows(path, "SELECT 1 FROM invitations") == []
    result = call("mind", "initiative", "allow", "U1")
    assert result.exit_code != 0
    assert "follow up on" in result.output
    assert listed()[0]["state"] == "unasked"
    printed("deny", "U1")
    assert (listed()[0]["state"], listed()[0]["how"]) == ("declined", "admin")
