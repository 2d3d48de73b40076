"""The status line: shown only when it takes a moment, kept alive, and gone on every way out."""

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
    """What was set, once it was set so often."""
    calls = await control.until(lambda: control.calls("assistant.threads.setStatus"), number)
    return [call["args"]["status"] for call in calls]


async def test_an_instant_reply_costs_no_call(open_channel: Open, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    channel = open_channel(FakeClock())
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        pass
    assert await control.calls("assistant.threads.setStatus") == []


async def test_it_is_refreshed_before_slack_lets_it_vanish_and_cleared_in_the_end(
    open_channel: Open, control: WorkspaceControl
) -> None:
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
async def test_it_is_cleared_on_errors_and_cancellation_which_come_out_unchanged(
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


async def test_a_task_that_is_cut_off_takes_its_status_with_it(open_channel: Open, control: WorkspaceControl) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel, inside = open_channel(clock), asyncio.Event()

    async def think() -> None:
        async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
            inside.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(think())
        await inside.wait()
        await clock.sleepers()
        await clock.advance(0.2)
        await shown(control, 1)
        task.cancel()
    assert task.cancelled()
    assert (await shown(control, 2))[-1] == ""


async def test_a_status_that_slack_refuses_disturbs_nobody(
    open_channel: Open, control: WorkspaceControl, events: Events
) -> None:
    root, clock = await control.say("Ada", "dm", "hi"), FakeClock()
    channel = open_channel(clock)
    await control.fail("assistant.threads.setStatus", times=2, body={"ok": False, "error": "missing_scope"})
    async with channel.thinking(perception(channel="D0ADA", ts=root, place=Place.DM)):
        await clock.sleepers()
        await clock.advance(0.2)
        await events.until("slack.status_failed")
    assert len(events.named("slack.status_failed")) == 2


@pytest.mark.parametrize("goes_on", [True, False])
async def test_while_the_channel_listens_lines_are_cleared_beside_the_reply_and_at_its_end(
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


async def test_it_says_what_is_being_done_at_its_own_pace(open_channel: Open, control: WorkspaceControl) -> None:
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
