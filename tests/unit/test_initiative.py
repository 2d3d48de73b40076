"""When a soul may speak unasked: the pure rules, at random consent, zones, refusals and clocks that move."""

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as some

from daemon.core.initiative import (
    DAY_MS,
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    MOST_UNASKED,
    NEVER_QUIET,
    QuietHours,
    SayingUnasked,
    next_pause,
    state_of,
)

HOUR_MS: Final = 3_600_000
NOON: Final = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp() * 1_000)  # the night before clocks change in Europe
ZONES: Final = (
    *("", "UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"),
    *("Africa/Lagos", "Pacific/Apia", "America/New_York", "no/zone"),
)
HOURS: Final = ("20:00-08:00", "00:00-23:59", "12:00-13:30", "", "08:00-08:00", "02:30-03:15")


def minute_in(zone: str, at_ms: int) -> int:
    """The minute of the day in a zone, reckoned apart from the code."""
    there = ZoneInfo(zone) if zone and zone != "no/zone" else ZoneInfo("UTC")
    local = datetime.fromtimestamp(at_ms / 1_000, there)
    return local.hour * 60 + local.minute


def is_quiet(hours: str, zone: str, at_ms: int) -> bool:
    """Whether it is quiet, reckoned apart from the code."""
    if not hours:
        return False
    begin, end = (int(one[:2]) * 60 + int(one[3:]) for one in hours.split("-"))
    minute = minute_in(zone, at_ms)
    return (begin <= minute < end) if begin < end else begin != end and (minute >= begin or minute < end)


STEPS: Final = some.lists(
    some.one_of(
        some.tuples(some.just("pass"), some.integers(-2 * HOUR_MS, 40 * HOUR_MS)),
        some.tuples(some.sampled_from(("speak", "answer", "invite", "decline", "not now", "read again")), some.just(0)),
    ),
    max_size=60,
)


@given(steps=STEPS, zone=some.sampled_from(ZONES), hours=some.sampled_from(HOURS))
def test_nothing_is_said_uninvited_too_often_in_quiet_hours_in_a_pause_or_twice(
    steps: list[tuple[str, int]], zone: str, hours: str
) -> None:
    quiet, now = QuietHours.parse(hours), NOON
    invited, paused_to, pause, unanswered = False, 0, 0, False
    said = list[int]()
    faults = {"uninvited": 0, "over_rate": 0, "in_quiet": 0, "doubled": 0, "in_pause": 0}
    for step, span in steps:
        match step:
            case "pass":
                now += span
            case "invite":
                invited, paused_to, pause, unanswered = True, 0, 0, False
            case "decline":
                invited = False
            case "answer":
                unanswered = False
            case "not now":
                pause = next_pause(pause)
                assert FIRST_PAUSE_MS <= pause <= LONGEST_PAUSE_MS
                paused_to = now + pause
            case _:
                standing = SayingUnasked(invited, paused_to, tuple(said), MOST_UNASKED, unanswered)
                if standing.why_silent(now, quiet.over(now, zone)):
                    continue
                faults["uninvited"] += not invited
                faults["over_rate"] += sum(one > now - DAY_MS for one in said) >= MOST_UNASKED
                faults["in_quiet"] += is_quiet(hours, zone, now)
                faults["doubled"] += unanswered
                faults["in_pause"] += now < paused_to
                said.append(now)
                unanswered = True
    assert not any(faults.values()), faults


@given(
    said=some.lists(some.integers(-3 * DAY_MS, HOUR_MS), max_size=5),
    pause=some.integers(-DAY_MS, 3 * DAY_MS),
    zone=some.sampled_from(ZONES),
    hours=some.sampled_from(HOURS),
    later=some.integers(0, 5 * DAY_MS),
)
def test_the_next_moment_is_the_first_at_which_something_may_be_said(
    said: list[int], pause: int, zone: str, hours: str, later: int
) -> None:
    quiet = QuietHours.parse(hours)
    standing = SayingUnasked(invited=True, paused_to_ms=NOON + pause, said_ms=tuple(NOON + one for one in said))
    found = standing.next_ms(NOON, lambda at: quiet.over(at, zone))
    assert found is not None
    assert found >= NOON
    assert not standing.why_silent(found, quiet.over(found, zone))
    if NOON + later < found:
        assert standing.why_silent(NOON + later, quiet.over(NOON + later, zone))


def test_the_reason_that_comes_first_is_told_and_pauses_double_from_a_day_to_thirty() -> None:
    assert SayingUnasked().next_ms(NOON, lambda at: at) is None
    assert SayingUnasked(invited=True, said_ms=(NOON,), unanswered=True).next_ms(NOON, lambda at: at) is None
    both = {"said_ms": (NOON,), "unanswered": True}
    assert SayingUnasked(**both).why_silent(NOON, NOON + 1) == "not_invited"  # type: ignore[arg-type]  # as keywords
    assert SayingUnasked(invited=True, paused_to_ms=NOON + 1).why_silent(NOON, NOON + 1) == "not_now"
    assert SayingUnasked(invited=True, said_ms=(NOON, NOON)).why_silent(NOON, NOON + 1) == "rate"
    assert SayingUnasked(invited=True).why_silent(NOON, NOON + 1) == "quiet"
    assert SayingUnasked(invited=True).why_silent(NOON, NEVER_QUIET.over(NOON, "")) == ""
    said = SayingUnasked(invited=True, said_ms=(NOON, NOON + HOUR_MS))
    assert said.why_silent(NOON - 10 * DAY_MS, 0) == "rate", "a clock that was set back frees nothing"
    pauses, pause = list[int](), 0
    for _ in range(7):
        pause = next_pause(pause)
        pauses.append(pause // DAY_MS)
    assert pauses == [1, 2, 4, 8, 16, 30, 30]
    assert [state_of("invited", NOON + until, NOON) for until in (1, 0)] == ["paused", "invited"]
    assert [state_of("declined", NOON + 1, NOON), state_of("unasked", NOON + 1, NOON)] == ["declined", "unasked"]
