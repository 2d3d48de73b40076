"""The status line: shown after a moment, refreshed, and always cleared."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.concurrency import alongside
from daemon.core.errors import ModelUnavailable
from daemon.core.perception import Place
from tests.fakes import Events, FakeClock
from tests.given import perception
from tests.slack.conftest import Open
from tests.slack.parts import Control


async def shown(control: Control, number: int) -> list[str]:
    calls = await control.until(lambda: control.calls("assistant.threads.setStatus"), number)
    return [call["args"]["status"] for call in calls]


class Line:
    """A channel that thinks about a message of Ada's, on a clock that the test advances."""

    def __init__(self, channel: SlackChannel, clock: FakeClock, control: Control, root: str) -> None:
        self.channel, self.clock, self.root, self.control = channel, clock, root, control

    def thinking(self) -> AbstractAsyncContextManager[object]:
        return self.channel.thinking(perception(channel="D0ADA", ts=self.root, place=Place.DM))

    async def first(self) -> None:
        await self.clock.sleepers()
        await self.clock.advance(0.2)
        await shown(self.control, 1)
        await self.clock.sleepers()


@pytest.fixture
async def line(open_channel: Open, control: Control) -> Line:
    clock = FakeClock()
    return Line(open_channel(clock), clock, control, await control.say("Ada", "dm", "hi"))


async def test_the_status_is_refreshed_and_finally_cleared(line: Line, control: Control) -> None:
    async with line.thinking():
        await line.first()
        await line.clock.advance(90)
        await shown(control, 2)
    assert await shown(control, 3) == ["is thinking…", "is thinking…", ""]


@pytest.mark.parametrize("ending", [ModelUnavailable("gone"), asyncio.CancelledError()])
async def test_errors_and_cancellation_clear_the_status(line: Line, control: Control, ending: BaseException) -> None:
    async def think() -> None:
        async with line.thinking():
            await line.first()
            raise ending

    with pytest.raises(type(ending)):
        await think()
    assert (await shown(control, 2))[-1] == ""


async def test_a_status_that_the_app_may_not_set_is_logged_once(line: Line, control: Control, events: Events) -> None:
    await control.fail("assistant.threads.setStatus", times=2, body={"ok": False, "error": "missing_scope"})
    async with line.thinking():
        await line.clock.sleepers()
        await line.clock.advance(0.2)
        await events.until("slack.status_failed")
    assert len(events.named("slack.status_failed")) == 1


@pytest.mark.parametrize("goes_on", [True, False])
async def test_the_status_is_cleared_beside_the_work_or_at_the_end(line: Line, control: Control, goes_on: bool) -> None:
    async with alongside(line.channel._status.run()):
        await asyncio.sleep(0)
        async with line.thinking():
            await line.first()
        if goes_on:
            await shown(control, 2)
    assert await shown(control, 2) == ["is thinking…", ""]


async def test_the_status_shows_the_newest_task_at_its_own_pace(line: Line, control: Control) -> None:
    status = line.channel._status
    status.say("D0ADA", line.root, "is early…")
    async with line.thinking():
        await line.first()
        for task in ("is reading…", "is searching…", "is searching…"):
            status.say("D0ADA", line.root, task)
        await line.clock.sleepers()
        assert len(await control.calls("assistant.threads.setStatus")) == 1
        await line.clock.advance(0.7)
        await shown(control, 2)
        await line.clock.sleepers()
        await line.clock.advance(90)
        await shown(control, 3)
    status.say("D0ADA", line.root, "is late…")
    assert await shown(control, 4) == ["is thinking…", "is searching…", "is searching…", ""]
