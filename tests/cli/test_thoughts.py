"""`soul mind thoughts`: the fields that others build on, words only where asked for, and each look on record."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.cli.thoughts import followed
from daemon.memory.database import open_database
from daemon.memory.records import Row
from tests.cli.conftest import call, printed
from tests.cli.stocked import CONVERSATION, NOW, change, one, stock, talk, turn
from tests.cli.stored_mind import INPUT, OUTPUT, add
from tests.fakes import TIMEOUT, FakeClock

KEYS = (
    *("id", "at_ms", "soul", "conversation", "audience", "occasion", "process", "previous", "degraded", "spoke"),
    *("surprise", "did", "refused", "calls", "tokens_in", "tokens_out", "cost_usd", "input", "output"),
)
OPEN = "minoan/T1/C1/1.0"


@pytest.fixture(autouse=True)
def memory(home: Path) -> Path:
    """A person's message in a DM and in the open, and a thought about each."""
    path = stock(home / "memory.db")
    talk(path, OPEN)
    turn(path, CONVERSATION, "U1", "dm:D1")
    turn(path, OPEN, "U2", "workspace:T1")
    add(path, 1)
    add(path, 2, conversation=OPEN, audience="workspace:T1")
    return path


def listed(*arguments: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(printed("mind", "thoughts", *arguments, "--json"))
    return rows


def shown(*arguments: str) -> dict[str, object]:
    row: dict[str, object] = json.loads(printed("mind", "thoughts", "show", *arguments, "--json"))
    return row


def test_the_fields_are_those_of_the_contract_and_the_newest_thought_is_last(memory: Path) -> None:
    private, public = listed()
    assert tuple(private) == tuple(public) == KEYS
    assert list(private.values()) == [
        *("TH_20261123_001", NOW + 1, "minoan", CONVERSATION, "dm:D1", "words", "engaged", "", False, True),
        *(0.25, {"memory_ops": 2}, [{"field": "goal_updates", "reason": "unknown"}], 1, 900, 80, 0.01, "", ""),
    ]
    assert (public["id"], public["previous"]) == ("TH_20261123_002", "TH_20261123_001")
    assert shown("TH_20261123_001") == private
    add(memory, 3, soul="ben", conversation="ben/T1/D1/")
    assert [row["id"] for row in listed("--limit", "1")] == ["TH_20261123_002"]
    assert [row["id"] for row in listed("--conversation", "C1")] == ["TH_20261123_002"]
    assert [row["id"] for row in listed("--soul", "ben")] == ["TH_20261123_003"]


def test_words_are_shown_by_the_rule_of_memory_and_that_is_recorded(memory: Path) -> None:
    assert one(memory, "SELECT count(*) FROM audit") == 0
    private, public = listed("--words")
    assert (private["input"], private["output"]) == ("", "")
    assert (public["input"], public["output"]) == (INPUT, OUTPUT)
    assert one(memory, "SELECT object FROM audit") == "U2"
    private, public = listed("--words", "--private")
    assert private["output"] == public["output"] == OUTPUT
    assert (
        one(memory, "SELECT count(*) FROM audit WHERE object = 'U1' AND detail LIKE 'mind thoughts: 1, private%'") == 1
    )
    assert one(memory, "SELECT count(*) FROM word_readings WHERE soul = 'minoan'") == 2
    assert shown("TH_20261123_001", "--words")["output"] == ""
    assert shown("TH_20261123_001", "--words", "--private")["output"] == OUTPUT


def test_the_words_of_a_thought_are_those_of_all_whom_it_had_heard(memory: Path) -> None:
    for number in range(60):
        turn(memory, OPEN, "U3", "workspace:T1", ts=f"2.{number}")
    assert shown("TH_20261123_002", "--words")["output"] == OUTPUT
    assert one(memory, "SELECT count(*) FROM audit WHERE object = 'U2'") == 1
    assert one(memory, "SELECT count(*) FROM audit WHERE object = 'U3'") == 1


def test_erased_words_and_words_in_passing_are_shown_to_nobody(memory: Path) -> None:
    change(memory, "UPDATE thoughts SET input = '', output = '', emptied = 1 WHERE id LIKE '%1'")
    change(memory, "UPDATE thoughts SET passing = 1 WHERE id LIKE '%2'")
    assert [row["output"] for row in listed("--words", "--private")] == ["", ""]
    assert one(memory, "SELECT count(*) FROM audit") == 0
    change(memory, "DELETE FROM thoughts")
    assert 'mind = "cycle"' in call("mind", "thoughts").output, "how a soul comes to think"
    assert listed() == []


def test_bad_input_is_answered_in_a_sentence_and_in_words_nothing_controls_the_terminal() -> None:
    for arguments, code, answer in (
        (("show", "TH_9"), 70, "there is no thought TH_9"),
        (("show", "x" * 5_000), 70, "there is no thought xxx"),
        (("--conversation", "nowhere"), 70, "there is no conversation nowhere"),
        (("--soul", "zoe"), 70, "no soul 'zoe' is known here"),
        (("--private",), 2, "give --words, too"),
        (("--limit", "0"), 2, "0 is not in the range"),
    ):
        result = call("mind", "thoughts", *arguments)
        assert (result.exit_code, answer in result.output) == (code, True), result.output
    plain = call("mind", "thoughts").output
    assert "TH_20261123_001" in plain
    assert "1 text is not shown: add --words" in plain
    assert "They greet me" not in plain
    worded = call("mind", "thoughts", "--words", "--private").output
    assert worded.splitlines()[0].split() == plain.splitlines()[0].split()
    assert worded.splitlines()[0].startswith("WHEN")
    assert worded.count("thought: They greet me.") == worded.count("said: Hello.") == 2
    whole = call("mind", "thoughts", "show", "TH_20261123_001", "--words", "--private").output
    assert "memory_ops: 2" in whole
    assert "goal_updates: unknown" in whole
    assert "owned" in whole
    assert "\x1b" not in whole + worded


async def test_who_follows_gets_each_new_thought_once(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.cli.thoughts._MOST_AT_ONCE", 2)
    clock = FakeClock(auto=True)
    async with asyncio.timeout(TIMEOUT), open_database(memory, clock) as database:
        thoughts: AsyncIterator[Row] = followed(database, clock, "minoan", "", 1)
        seen = [(await anext(thoughts))["id"]]
        add(memory, 3, conversation="ben/T1/D1/", soul="ben")
        names = [add(memory, number) for number in range(4, 8)]
        seen += [(await anext(thoughts))["id"] for _ in names]
    assert seen == ["TH_20261123_002", *names]
