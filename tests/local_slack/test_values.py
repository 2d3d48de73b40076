"""Text as Slack stores it, timelines, the movable clock, rate limits and faults."""

import asyncio
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.limits import Profile, RateLimits, Tier
from daemon.local_slack.model import AppIdentity, WorkspaceMessage
from daemon.local_slack.seed import seeded
from daemon.local_slack.text import escape, mentions, rich_text, typed, unescape
from daemon.local_slack.timeline import Span, Timeline, bound
from tests.fakes import FakeClock

STATE = seeded(AppIdentity(), "Soul", 1_700_000_000)


def stored(text: str) -> str:
    return typed(text, STATE.people.values(), STATE.channels.values(), {"soul": STATE.app.user})


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
        assert stored(text) == expected, text


@given(st.text())
def test_only_known_targets_get_brackets_in_any_text(text: str) -> None:
    words = stored(text)
    block = rich_text(words)["elements"][0]["elements"]
    assert words.count("<") == words.count(">") == sum(element["type"] != "text" for element in block)


@given(st.text())
def test_escaping_can_be_undone(text: str) -> None:
    assert unescape(escape(text)) == text


def test_rich_text_knows_every_kind_of_token() -> None:
    elements = rich_text("hi <@U1> <#C1|g> <!here> <https://a&amp;b> end")["elements"][0]["elements"]
    assert [e["type"] for e in elements if e["type"] != "text"] == ["user", "channel", "broadcast", "link"]
    assert elements[7]["url"] == "https://a&b"


def test_a_mention_is_found_with_and_without_a_label() -> None:
    assert mentions("hi <@U1>", "U1")
    assert mentions("hi <@U1|ada>", "U1")
    assert not mentions("hi <@U12>", "U1")


@given(st.lists(st.floats(0, 2_000_000_000), max_size=50))
def test_ts_values_increase_even_when_the_clock_does_not(times: list[float]) -> None:
    timeline = Timeline()
    order = [tuple(map(int, timeline.next_ts(time).split("."))) for time in times]
    assert all(earlier < later for earlier, later in itertools.pairwise(order))


def test_a_removed_message_leaves_the_timeline() -> None:
    timeline = Timeline()
    root = WorkspaceMessage("C", "U", "root", ts=timeline.next_ts(1_700_000_000))
    reply = WorkspaceMessage("C", "U", "reply", ts=timeline.next_ts(1_700_000_000), thread_ts=root.ts, broadcast=True)
    timeline.put(root)
    timeline.put(reply)
    assert root.ts == "1700000000.000000"
    assert timeline.history(Span()) == [root.ts, reply.ts]
    timeline.remove(reply.ts)
    assert (timeline.history(Span()), timeline.replies(root.ts), timeline.newest) == ([root.ts], [], root.ts)


def test_time_bounds_compare_with_ts_values_and_malformed_ones_are_refused() -> None:
    assert (bound("0"), bound("1700000000.5")) == ("0000000000.000000", "1700000000.500000")
    for text in ("now", "1.x", "-1", ""):
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            bound(text)


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


async def test_due_timers_are_called_in_order() -> None:
    clock = WorkspaceClock(FakeClock(auto=True))
    called: list[str] = []
    async with asyncio.TaskGroup() as tasks:
        runner = tasks.create_task(clock.run())
        clock.after(20, lambda: called.append("late"))
        clock.after(5, lambda: called.append("early"))
        await clock.sleep(30)
        runner.cancel()
    assert called == ["early", "late"]


def test_tier_one_lets_a_burst_of_sockets_open() -> None:
    limits = RateLimits(Profile.SLACK)
    waits = [limits.check("apps.connections.open", Tier.ONE, "", 0.0) for _ in range(11)]
    assert waits == [0] * 10 + [60]
    assert limits.check("auth.test", Tier.FREE, "", 0.0) == 0


def test_a_counted_fault_ends_after_its_count() -> None:
    faults = Faults()
    faults.duplicates = 1
    assert faults.spend("duplicates")
    assert not faults.spend("duplicates")
    assert faults.take("chat.update") is None


def test_ids_are_readable_and_unique() -> None:
    assert STATE.new_id("U", "Zoë Quinn") == "U0ZOQUINN"
    assert STATE.new_id("U", "Ada") != "U0ADA"
    assert STATE.new_id("F") != STATE.new_id("F")


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
