"""Rate limits, drafts and the cache are bounded in calls, seconds and size; the manifest requests what is used."""

import asyncio

import pytest

from daemon.channels.slack.api import Pacing
from daemon.channels.slack.installation import (
    AGENT_SCOPE,
    BOT_EVENTS,
    COMMANDS_SCOPE,
    CUSTOMIZE_SCOPE,
    FILES_SCOPE,
    GROUPS_SCOPE,
    MARKS_SCOPE,
    OPEN_DM_SCOPE,
    REACTIONS_SCOPE,
    REQUIRED_SCOPES,
    SHARE_SCOPE,
    manifest,
)
from daemon.channels.slack.refusals import TimedCache
from daemon.channels.slack.speech import Drafts
from daemon.local_slack.server import SCOPES
from tests.fakes import FakeClock


async def test_rate_limits_and_drafts_are_kept_for_the_latest_only() -> None:
    pacing, drafts = Pacing(FakeClock()), Drafts(FakeClock())
    for number in range(1_001):
        pacing.throttled("chat.postMessage", f"C{number}", 30)
        drafts.opened("C1", f"{number}.0", "x", in_chunks=False)
    assert [pacing.pause_needed("chat.postMessage", channel) for channel in ("C0", "C1000")] == [0, 30]
    assert [drafts.text("C1", f"{number}.0") for number in (0, 500, 501, 1_000)] == [None, None, "x", "x"]


async def test_a_429_of_a_method_holds_it_in_all_channels_and_a_429_of_posts_in_one() -> None:
    pacing = Pacing(FakeClock())
    pacing.throttled("chat.update", "C1", 30)
    pacing.throttled("chat.appendStream", "C1", 30)
    pacing.throttled("chat.postMessage", "C1", 30)
    assert [pacing.pause_needed("chat.update", channel) for channel in ("C1", "C2", "")] == [30, 30, 30]
    assert [pacing.pause_needed("chat.postMessage", channel) for channel in ("C1", "C2")] == [30, 0]
    assert pacing.pause_needed("chat.stopStream", "C1") == 0, "a reply that grows keeps no other from ending"


async def test_concurrent_gets_share_one_look_up_and_answers_expire() -> None:
    asked: list[str] = []
    clock, answered = FakeClock(), asyncio.Event()

    async def ask(key: str) -> str:
        asked.append(key)
        await answered.wait()
        return key.upper()

    known = TimedCache(ask, clock, ttl=10, size=2)
    async with asyncio.TaskGroup() as group:
        gets = [group.create_task(known.get("a")) for _ in range(3)]
        await asyncio.sleep(0)
        answered.set()
    assert ([get.result() for get in gets], asked) == (["A", "A", "A"], ["a"])
    await known.get("b")
    await known.get("c")
    await known.get("a")
    assert asked == ["a", "b", "c", "a"]
    await clock.advance(11)
    await known.get("a")
    assert asked[-2:] == ["a", "a"]


async def test_a_failed_look_up_is_not_cached() -> None:
    fails = [True]

    async def ask(key: str) -> str:
        if fails.pop():
            fails.append(False)
            raise ValueError(key)
        return key

    known = TimedCache(ask, FakeClock())
    with pytest.raises(ValueError, match="a"):
        await known.get("a")
    assert await known.get("a") == "a"


async def test_an_answer_that_is_forgotten_while_it_is_fetched_is_fetched_again() -> None:
    answers, asked, may_answer = iter(["old", "new"]), asyncio.Event(), asyncio.Event()

    async def ask(_: str) -> str:
        answer = next(answers)
        asked.set()
        await may_answer.wait()
        return answer

    known = TimedCache(ask, FakeClock())
    async with asyncio.TaskGroup() as group:
        get = group.create_task(known.get("a"))
        await asked.wait()
        known.forget("a")
        may_answer.set()
    assert get.result() == "new"
    assert known.peek("a", None) == "new"


def test_the_manifest_requests_the_agent_view_socket_mode_and_the_used_scopes() -> None:
    app = manifest("x" * 50, "y" * 400)
    assert app["display_information"] == {"name": "x" * 35, "description": "y" * 140}
    features, settings = app["features"], app["settings"]
    assert isinstance(features, dict)
    assert isinstance(settings, dict)
    assert "agent_view" in features
    assert "assistant_view" not in features
    assert len(features["agent_view"]["suggested_prompts"]) <= 4
    assert len(features["agent_view"]["agent_description"]) == 300
    assert settings["socket_mode_enabled"] is True
    assert settings["event_subscriptions"] == {"bot_events": list(BOT_EVENTS)}
    scopes = [*REQUIRED_SCOPES, AGENT_SCOPE, CUSTOMIZE_SCOPE, OPEN_DM_SCOPE, FILES_SCOPE, SHARE_SCOPE, COMMANDS_SCOPE]
    scopes += [GROUPS_SCOPE, REACTIONS_SCOPE]
    assert app["oauth_config"] == {"scopes": {"bot": scopes}}
    assert set(scopes) <= SCOPES


def test_a_manifest_asks_for_marks_only_where_that_is_wanted() -> None:
    assert MARKS_SCOPE in str(manifest(marks=True)["oauth_config"])
    assert MARKS_SCOPE not in str(manifest())


def test_a_plain_manifest_asks_for_no_agent_features() -> None:
    app = manifest(plain=True)
    assert "agent_view" not in str(app)
    assert AGENT_SCOPE not in str(app)
    assert str(app["settings"]) == str(manifest()["settings"])
