"""How expectations are decided, until when they last, and how well a soul foresees in a world of known odds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.expectations import (
    NOTHING_SCORED,
    Came,
    Check,
    Forecast,
    Noticed,
    Outcome,
    Sums,
    bins_of,
    decided,
    when_over,
)
from daemon.core.timeframes import DAY_MS, EXCHANGES_LAST_MS, timeframe
from daemon.core.words import holds_whole

NOW = 1_764_000_000_000  # Monday, 24 November 2025, 16:00 UTC
HOUR_MS = 3_600_000
FAR = 10**13


def test_a_timeframe_is_read_and_an_unreadable_one_is_a_day() -> None:
    table = {
        10 / 3_600: ["next 10 seconds"],
        3 / 60: ["the next few minutes"],
        0.5: ["in half an hour"],
        1: ["within an hour", "in the next hour", "by 5pm"],
        1.5: ["by 17:30", "bis um 17:30 Uhr", "innerhalb der nächsten anderthalb Stunden"],
        2: ["in 2h", "innerhalb von 2 Stunden"],
        2.5: ["2h30m"],
        8: ["today", "end of day", "by end of today", "bis zum Feierabend", "this evening"],
        17: ["tomorrow before 9"],
        20: ["tomorrow morning", "this morning"],
        24: ["", "when the moon is full", "in 400 days", "-3h"],
        26: ["by tomorrow afternoon"],
        32: ["tomorrow", "morgen"],
        48: ["next couple of days"],
        56 - 1 / 60: ["Wednesday evening"],
        72: ["in 3 Tagen"],
        104: ["by Friday", "bis Freitag"],
        152: ["this week", "by the end of the month"],
        168: ["in a week"],
    }
    for hours, words in table.items():
        for said in words:
            found = timeframe(said, NOW)
            assert (found.until_ms - NOW, found.exchanges) == (int(hours * HOUR_MS), None), said


def test_a_timeframe_may_be_a_number_of_exchanges_and_a_day_ends_where_the_person_lives() -> None:
    english = {"next few exchanges": 3, "next exchange": 1, "the next reply": 1, "next 5 messages": 5}
    table = {**english, "next 0 turns": 1, "nächste Antwort": 1, "9999 messages": 50}
    assert {said: timeframe(said, NOW).exchanges for said in table} == table
    assert {timeframe(said, NOW).until_ms for said in table} == {NOW + EXCHANGES_LAST_MS}
    assert timeframe("today", NOW, "Asia/Tokyo").until_ms == NOW + 23 * HOUR_MS
    assert timeframe("today", NOW, "Nowhere/At_all").until_ms == NOW + 8 * HOUR_MS


@given(said=st.text(max_size=80), now=st.integers(10**12, 2 * 10**12), zone=st.sampled_from(["", "Asia/Tokyo", "x"]))
def test_whatever_a_timeframe_says_it_ends(said: str, now: int, zone: str) -> None:
    found = timeframe(said, now, zone)
    assert now < found.until_ms <= now + 366 * DAY_MS


def test_words_are_found_whole_in_any_script() -> None:
    table = {
        ("the cat sat", "CAT"): True,
        ("concatenate", "cat"): False,
        ("完成了导入工作", "导入"): True,
        ("die GRÖSSE", "größe"): True,
        ("हिन्दी भाषा", "हिन्द"): False,
        ("हिन्दी भाषा", "हिन्दी"): True,
        ("C++ is old", "c++"): True,
        ("import_done", "import"): False,
        ("it is 👍 now", "👍"): True,
        ("anything", "  "): False,
        ("cat concat cat2", "cat"): True,
        ("two  words", "two words"): True,
    }
    assert {(text, words): holds_whole(text, words) for text, words in table} == table


def test_a_reading_decides_by_its_name_and_words_and_else_the_time() -> None:
    readings = Came((Noticed(1, "the build is red", sense="ci"), Noticed(2, "disk full", sense="host")))
    assert decided(Check("sense", name="CI"), readings, FAR) is Outcome.HIT
    assert decided(Check("sense", name="ci", words=("green", "red")), readings, FAR) is Outcome.HIT
    assert decided(Check("sense", name="ci", words=("green",)), readings, FAR) is None
    assert decided(Check("sense", name="monitor"), readings, FAR) is None
    assert decided(Check("reply"), readings, FAR) is None, "a reading is no reply"
    assert decided(Check("silence"), readings, FAR) is None
    ends = dict.fromkeys(("reply", "mention", "goal", "tool", "sense"), Outcome.MISS)
    for kind, expected in (*ends.items(), ("silence", Outcome.HIT), ("none", Outcome.UNRESOLVED)):
        check = Check(kind, words=("x",), name="x", id="G1")  # type: ignore[arg-type]  # each of the kinds
        assert decided(check, Came(), FAR) is None, kind
        assert when_over(check) is expected, kind


def _world(odds: list[float], sure: list[float], seed: int) -> list[Forecast]:
    """A world where each thing comes true with known odds."""
    chance = random.Random(seed)
    return [Forecast(one, chance.random() < odd, "reply") for odd, one in zip(odds, sure, strict=True)]


SHARES = st.floats(0, 1, allow_nan=False)


@given(pairs=st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=200), seed=st.integers(0, 10**6))
def test_calibration_in_a_world_of_known_odds_equals_an_independent_computation(
    pairs: list[tuple[float, float]], seed: int
) -> None:
    world = _world([odd for odd, _ in pairs], [sure for _, sure in pairs], seed)
    outcomes = [1.0 if one.hit else 0.0 for one in world]
    rate = sum(outcomes) / len(world)
    brier = sum((one.confidence - came) ** 2 for one, came in zip(world, outcomes, strict=True)) / len(world)
    of_rate = sum((rate - came) ** 2 for came in outcomes) / len(world)
    found = Sums.of(world)
    assert found.brier == pytest.approx(brier)
    assert found.brier_base == pytest.approx(of_rate)
    assert found.skill is None if rate in (0.0, 1.0) else found.skill == pytest.approx(1 - brier / of_rate)
    bins = bins_of(world)
    assert (len(bins), sum(one["n"] or 0 for one in bins)) == (10, len(world))
    for number, one in enumerate(bins):
        inside = [
            each
            for each in world
            if number <= each.confidence * 10 < number + 1 or (number == 9 and each.confidence == 1)
        ]
        assert (one["n"], one["hits"]) == (len(inside), sum(each.hit for each in inside))


def test_a_soul_learns_how_well_it_foresees_from_twenty_on() -> None:
    bold = _world([0.5] * 400, [0.9] * 400, 1)
    meek = _world([0.9] * 400, [0.5] * 400, 1)
    wise = [*_world([0.2] * 400, [0.2] * 400, 1), *_world([0.9] * 400, [0.9] * 400, 1)]
    assert "You are too sure" in Sums.of(bold).in_words
    assert "not sure enough" in Sums.of(meek).in_words
    assert Sums.of(wise).in_words.endswith("sure.")
    assert Sums.of(bold[:19]).in_words == NOTHING_SCORED.in_words == ""
    assert Sums.of(bold[:20]).in_words
    skill = Sums.of(wise).skill
    assert skill is not None
    assert skill > 0.3 > (Sums.of(bold).skill or 0)
