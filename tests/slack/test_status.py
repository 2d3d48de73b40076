"""The status line: shown after a moment, refreshed, and always cleared."""

import asyncio

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.concurrency import alongside
from daemon.core.errors import ModelUnavailable
from daemon.core.perception import Place
from tests.fakes import Events, FakeClock
from tests.given import perception
from tests.slack.conftest import Open
from tests.slack.parts import WorkspaceControl


async def shown(control: WorkspaceControl, number: int) -> list[str]:
    """The texts that were set, once there are `number` of them."""
    calls = await control.until(lambda: control.calls("assistant.threads.setStatus"), number)
    return [call["args"]["status"] for call in calls]


async def test_an_instant_reply_costs_no_call(open_channel: Open, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    channel = open_channel(FakeClock())
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        pass
    assert await control.calls("assistant.threads.setStatus") == []


async def test_the_status_is_refreshed_and_finally_cleared(open_channel: Open, control: WorkspaceControl) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel = open_channel(clock)
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        await clock.sleepers()
        await clock.advance(0.2)
        await shown(control, 1)
        await clock.sleepers()
        await clock.advance(90)
        await shown(control, 2)
    assert await shown(control, 3) == ["is thinking…", "is thinking…", ""]


@pytest.mark.parametrize("ending", [ModelUnavailable("gone"), asyncio.CancelledError()])
async def test_errors_and_cancellation_clear_the_status_and_pass_through(
    open_channel: Open, control: WorkspaceControl, ending: BaseException
) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel: SlackChannel = open_channel(clock)

    async def think() -> None:
        async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
            await clock.sleepers()
            await clock.advance(0.2)
            await shown(control, 1)
            raise ending

    with pytest.raises(type(ending)):
        await think()
    assert (await shown(control, 2))[-1] == ""


async def test_a_status_that_the_app_may_not_set_is_logged_once(
    open_channel: Open, control: WorkspaceControl, events: Events
) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel = open_channel(clock)
    await control.fail("assistant.threads.setStatus", times=2, body={"ok": False, "error": "missing_scope"})
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        await clock.sleepers()
        await clock.advance(0.2)
        await events.until("slack.status_failed")
    assert len(events.named("slack.status_failed")) == 1


@pytest.mark.parametrize("goes_on", [True, False])
async def test_the_status_is_cleared_in_the_background_and_at_the_latest_when_the_channel_stops(
    open_channel: Open, control: WorkspaceControl, goes_on: bool
) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel = open_channel(clock)
    async with alongside(channel._status.run()):
        await asyncio.sleep(0)
        async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
            await clock.sleepers()
            await clock.advance(0.2)
            await shown(control, 1)
        if goes_on:
            await shown(control, 2)
    assert await shown(control, 2) == ["is thinking…", ""]


async def test_the_status_shows_the_newest_task_at_its_own_pace(open_channel: Open, control: WorkspaceControl) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel = open_channel(clock)
    line = channel._status
    line.say("D0ADA", root, "is early…")
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        await clock.sleepers()
        await clock.advance(0.2)
        await shown(control, 1)
        await clock.sleepers()
        line.say("D0ADA", root, "is reading…")
        line.say("D0ADA", root, "is searching…")
        line.say("D0ADA", root, "is searching…")
        await clock.sleepers()
        assert len(await control.calls("assistant.threads.setStatus")) == 1
        await clock.advance(0.7)
        await shown(control, 2)
        await clock.sleepers()
        await clock.advance(90)
        await shown(control, 3)
    line.say("D0ADA", root, "is late…")
    assert await shown(control, 4) == ["is thinking…", "is searching…", "is searching…", ""]
