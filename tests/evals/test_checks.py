"""Each check of a turn passes on what it wants, and fails on anything else."""

from pathlib import Path
from typing import Any

import pytest

from evals.checks import states_of
from evals.memory import Rows, Spoken
from evals.scenario import Category
from evals.seen import Score, figures_of
from tests.evals.parts import call, failing, played, scenario, step, turn

HOUR_MS = 3_600_000
NINE_IN_ATHENS = 1_763_881_200_000  # 23 November 2025, 07:00 UTC
SPOKEN = (Spoken("reply", ""),)


EXPECTED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("It is a Tuesday.", "C'est un mardi, et il est dans la semaine.", {"language": "en"}),
    ("Yes, blue.", "Yes, red.", {"says": ("blue",)}),
    ("Yes, red.", "Yes, green.", {"says_one_of": ("blue", "red")}),
    ("Yes.", "As an AI, yes.", {"never_says": ("as an ai",)}),
    ("one two three", "one two", {"at_least_words": 3}),
    ("one two", "one two three", {"at_most_words": 2}),
    ("one\ntwo", "one two", {"at_least_lines": 2}),
    ("Really?", "Really? Why? How?", {"at_most_questions": 1}),
    ("It is so (b.md).", "It is so.", {"cites": ("b.md",), "sources": ("a/b.md", "a/b.md:3")}),
)


def test_a_reply_is_held_against_what_is_expected_and_a_source_that_is_not_there_is_none() -> None:
    for good, bad, expected in EXPECTED:
        assert failing(turn(good, **expected)) == [], good
        assert len(failing(turn(bad, **expected))) == 1, bad
    for reply, wanted in SOURCES:
        assert failing(turn(reply, sources=("a/b.md", "a/b.md:3"))) == wanted, reply


def test_no_reply_an_apology_and_a_lost_form_fail_unless_silence_is_wanted() -> None:
    assert failing(turn("")) == ["it answers"]
    assert failing(turn("I'm sorry.", Rows(spoken=(Spoken("apology", ""),)))) == ["it answers"]
    assert failing(turn("Half of it", Rows(spoken=(Spoken("cut", ""),)))) == []
    assert failing(turn("", Rows(), silence=True)) == []
    assert failing(turn("Me too!", silence=True)) == ["it says nothing"]
    rows = Rows(calls=(call("malformed"), call(step="external_dialog")), spoken=SPOKEN)
    assert failing(turn("Good day.", rows)) == ["the model keeps the form"]


def test_the_path_is_what_was_entered_or_stayed_in_and_no_refusal() -> None:
    path = (
        step("enter", "engaged", "greeting"),
        step("refuse", "greeting", "ready"),
        step("move", "greeting", "poetic"),
        step("stay", "poetic", "poetic"),
    )
    assert states_of(path) == ("greeting", "poetic", "poetic")
    rows = Rows(path=path, spoken=SPOKEN)
    assert failing(turn("Rain.", rows, through=("poetic",), avoids=("ready",))) == []
    wanted = ["the words lead to ready", "the words do not lead to poetic"]
    assert failing(turn("Rain.", rows, through=("ready",), avoids=("poetic",))) == wanted


SOURCES: tuple[tuple[str, list[str]], ...] = (
    ("So it is (a/b.md:3).", []),
    ("So it is [1].\n\n[1] `a/b.md:3`", []),
    ("So it is, see c.md.", ["every file that it names exists"]),
    ("So it is [1].\n\n[1] `c.md:3`", ["every file that it names exists"]),
    ("So it is [2].\n\n[1] `a/b.md:3`", ["every mark that it cites stands for a source"]),
    ("There are four [1].\n\n[1] `depot/stock`", []),
    ("You said so [m1].\n\n[m1] `Ada, on 3 May`", []),
    ("So it is [m2].\n\n[m1] `a/b.md:3`", ["every mark that it cites stands for a source"]),
    ("So it is [m1].\n\n[m1] `a/b.md:999`", ["every file that it names exists"]),
)


def test_reminders_and_deeds_count_by_what_was_done_and_not_by_the_words() -> None:
    expected: dict[str, Any] = {"reminder": {"at": "09:00", "days": 1, "zone": "Europe/Athens"}}
    right = Rows(spoken=SPOKEN, reminders=((NINE_IN_ATHENS, "plumber"),))
    late = Rows(spoken=SPOKEN, reminders=((NINE_IN_ATHENS + 2 * HOUR_MS, "plumber"),))
    assert failing(turn("It is set.", right, **expected)) == []
    assert failing(turn("It is set.", late, **expected)) == ["a reminder is set for 2025-11-23 07:00 UTC"]
    assert failing(turn("It is set.", **expected)) == ["a reminder is set for 2025-11-23 07:00 UTC"]
    assert failing(turn("When?", reminder="none")) == []
    assert failing(turn("When?", right, reminder="none")) == ["no reminder is set"]
    assert failing(turn("Four.", uses=("depot/stock",), tools=("depot/stock",))) == []
    assert failing(turn("Four.", uses=("depot/stock",))) == ["it uses depot/stock"]
    reserved = turn("Done.", uses_not=("depot/reserve",), tools=("depot/reserve",))
    assert failing(reserved) == ["it does not use depot/reserve"]
    asked = Rows(spoken=SPOKEN, permissions=("depot/reserve",))
    assert failing(turn("May I?", asked, asks_permission=True)) == []
    assert failing(turn("Done.", asks_permission=True)) == ["it asks for permission"]


def test_figures_sum_calls_tokens_money_and_scores(tmp_path: Path) -> None:
    one = scenario(tmp_path)
    total = figures_of([played(one), played(one)])
    assert (total.messages, total.calls) == (2, 2)
    assert (total.tokens_in, total.tokens_cached, total.tokens_out) == (2000, 800, 100)
    assert total.usd == pytest.approx(0.002)
    assert total.scores[Category.FORM] == Score()
    assert total.scores[Category.FORM].share is None
