"""Text as Slack stores it, timelines, the movable clock, rate limits and faults."""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.model import AppIdentity, mentions, rich_text
from daemon.local_slack.state import Timeline, seeded
from tests.fakes import FakeClock

STATE = seeded(AppIdentity(), "Soul", 1_700_000_000)


def test_typed_text_becomes_the_stored_form() -> None:
    for text, expected in (
        ("@Ada and @ben", "<@U0ADA> and <@U0BEN>"),
        ("@Ada Byron!", "<@U0ADA>!"),
        ("@adamant me@ada.org", "@adamant me@ada.org"),
        ("<@U0ADA> & co", "&lt;@U0ADA&gt; &amp; co"),
        ("see #general, #nowhere", "see <#C0GENERAL|>, #nowhere"),
        ("@here @channel @hereabouts", "<!here> <!channel> @hereabouts"),
        ("go to https://a.example/x?y=1&z=2.", "go to <https://a.example/x?y=1&amp;z=2>."),
    ):
        assert STATE.typed(text) == expected, text


@given(st.text())
def test_only_known_targets_get_brackets_in_any_text(text: str) -> None:
    words = STATE.typed(text)
    block = rich_text(words)["elements"][0]["elements"]
    assert words.count("<") == words.count(">") == sum(element["type"] != "text" for element in block)


def test_rich_text_knows_every_kind_of_token() -> None:
    elements = rich_text("hi <@U1> <#C1|g> <!here> <https://a&amp;b> end")["elements"][0]["elements"]
    assert [e["type"] for e in elements if e["type"] != "text"] == ["user", "channel", "broadcast", "link"]
    assert elements[7]["url"] == "https://a&b"
    found = {text: mentions(text, "U1") for text in ("hi <@U1>", "hi <@U1|ada>", "hi <@U12>")}
    assert found == {"hi <@U1>": True, "hi <@U1|ada>": True, "hi <@U12>": False}


@given(st.lists(st.floats(0, 2_000_000_000), max_size=50))
def test_ts_values_increase_even_when_the_clock_does_not(times: list[float]) -> None:
    timeline = Timeline()
    order = [tuple(map(int, timeline.next_ts(time).split("."))) for time in times]
    assert all(earlier < later for earlier, later in itertools.pairwise(order))


async def test_the_clock_can_be_moved_and_never_goes_back() -> None:
    clock = WorkspaceClock(FakeClock())
    called: list[float] = []
    start = clock.now()
    clock.after(10, lambda: clock.after(10, lambda: called.append(clock.now() - start)))
    clock.advance(30)
    assert called == [pytest.approx(20)]
    assert clock.now() - start == pytest.approx(30)
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)


async def test_a_wait_ends_when_the_clock_is_moved_past_it_and_a_cancelled_one_leaves_no_timer() -> None:
    clock = WorkspaceClock(FakeClock())
    before = clock.now_ms(), clock.monotonic()
    async with asyncio.TaskGroup() as tasks:
        night = tasks.create_task(clock.sleep(8 * 3600))
        week = tasks.create_task(clock.sleep(7 * 86_400))
        await clock.sleep(0)
        clock.advance(9 * 3600)
        await night
        week.cancel()
    assert clock.now_ms() - before[0] == 9 * 3600 * 1000
    assert clock.monotonic() - before[1] == 9 * 3600
    assert clock._timers == []
