"""`soul mind predictions` and `calibration`: the fields that others build on, and words where they are asked for."""

from pathlib import Path

import pytest

from tests.cli.conftest import as_json, call, printed
from tests.cli.stocked import CONVERSATION, NOW, one, stock
from tests.cli.stored_mind import CHECK, converse, expect, score

KEYS = (
    *("id", "soul", "conversation", "audience", "what", "confidence", "timeframe", "check", "made_ms", "due_ms"),
    *("state", "scored_by", "surprise", "scored_ms", "thought"),
)
FIGURES = ("scored", "hits", "brier", "base_rate", "brier_base", "skill")


@pytest.fixture
def stocked(home: Path) -> Path:
    return stock(home / "memory.db")


@pytest.fixture
def path(stocked: Path) -> Path:
    for number in range(1, 6):
        expect(stocked, number, **({"exchanges": 3} if number == 2 else {}))
    score(stocked, 3, "hit", 0.25)
    score(stocked, 4, "miss", 0.75)
    score(stocked, 5, "unresolved", None)
    return stocked


def test_each_expectation_has_its_fields_and_words_where_they_are_asked_for_on_record(path: Path) -> None:
    found = as_json("mind", "predictions")
    assert [tuple(each) for each in found] == [KEYS] * 5
    assert [each["id"] for each in found] == ["P1", "P2", "P3", "P4", "P5"]
    assert [each["state"] for each in found] == ["open", "open", "hit", "miss", "unresolved"]
    assert (found[0]["due_ms"], found[1]["due_ms"]) == (NOW + 1_000, None)
    assert (found[0]["scored_by"], found[2]["scored_by"], found[3]["surprise"]) == (None, "rule", 0.75)
    assert {each["what"] for each in found} == {""}
    assert found[0]["check"] == {"kind": "reply"}
    assert [each["id"] for each in as_json("mind", "predictions", "--state", "open", "--limit", "1")] == ["P2"]
    found = as_json("mind", "predictions", "--words")
    assert [each["what"] for each in found] == ["they answer 1", "", "they answer 3", "", "they answer 5"]
    assert found[0]["check"] == CHECK
    every = as_json("mind", "predictions", "--words", "--private", "--conversation", CONVERSATION)
    assert [each["what"] for each in every] == [f"they answer {number}" for number in range(1, 6)]
    assert one(path, "SELECT count(*) FROM audit WHERE detail LIKE 'mind predictions: %'") == 2
    assert "P1: they answer 1" in printed("mind", "predictions", "--words")


def test_calibration_has_the_fields_that_others_build_on(path: Path) -> None:
    found = as_json("mind", "calibration")
    assert tuple(found) == ("soul", *FIGURES, "bins", "by_check", "unresolved", "open")
    assert (found["soul"], found["scored"], found["hits"], found["base_rate"]) == ("minoan", 2, 1, 0.5)
    assert (found["brier"], found["brier_base"], found["skill"]) == (0.3125, 0.25, -0.25)
    assert found["bins"][7] == {"from": 0.7, "to": 0.8, "n": 2, "confidence": 0.75, "hits": 1}
    assert found["bins"][0] == {"from": 0.0, "to": 0.1, "n": 0, "confidence": None, "hits": 0}
    assert found["by_check"] == {"reply": {key: found[key] for key in FIGURES}}
    assert (found["unresolved"], found["open"]) == (1, 2)
    assert "70%-80%" in printed("mind", "calibration")
    assert as_json("mind", "calibration", "--since", "999999999w" * 40)["scored"] == 2, "of all time"
    there = converse(path, "cleo")
    expect(path, 6, soul="cleo", conversation=there)
    found = as_json("mind", "predictions", "--conversation", there)
    assert [(each["soul"], each["id"]) for each in found] == [("cleo", "P6")]
    assert "P6" in printed("mind", "predictions", "--conversation", there)
    assert len(as_json("mind", "predictions")) == 5


def test_where_nothing_was_scored_there_are_no_figures_and_bad_input_is_told_in_a_sentence(stocked: Path) -> None:
    found = as_json("mind", "calibration", "--since", "6h")
    assert [found[key] for key in FIGURES] == [0, 0, None, None, None, None]
    assert (found["by_check"], len(found["bins"])) == ({}, 10)
    assert "Nothing was scored yet" in printed("mind", "calibration")
    assert "Nothing is expected" in printed("mind", "predictions")
    for arguments, says in (
        (("mind", "calibration", "--since", "a while"), "is not a time span: write 20m"),
        (("mind", "calibration", "--soul", "nemo"), "no soul 'nemo' is known here"),
        (("mind", "predictions", "--soul", "nemo"), "no soul 'nemo' is known here"),
        (("mind", "predictions", "--private"), "give --words, too"),
        (("mind", "predictions", "--conversation", "C99"), "C99"),
        (("mind", "predictions", "--state", "gone"), "gone"),
    ):
        assert says in call(*arguments).output, arguments
