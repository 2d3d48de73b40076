"""The sockets: the states that the SDK's client never leaves, repeated disconnects, readiness and health."""

import asyncio

import pytest

from tests.fakes import FakeIntake, TurnableClock
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, caught_up, listening

PING = 0.2
CALM = 0.6  # where sockets are counted: a busy machine that pauses for four of them makes the SDK open another one


async def opens(control: Control) -> int:
    return len(await control.calls("apps.connections.open"))


async def still_hears(control: Control, intake: FakeIntake) -> bool:
    before = len(intake.arrivals)
    await control.say("Ada", "dm", "still there?")
    await intake.until(before + 1)
    return True


async def test_two_sockets_share_the_events(open_channel: Open, intake: FakeIntake, control: Control) -> None:
    channel = open_channel(slack_sockets=2)
    async with listening(channel, intake):
        await control.until(control.sockets, 2)
        for number in range(6):
            await control.say("Ada", "dm", f"message {number}")
        await intake.until(6)
        assert channel.healthy()
    assert await control.sockets() == []


@pytest.mark.parametrize("order", [{"socket": "close"}, {"socket": "disconnect", "reason": "refresh_requested"}])
async def test_a_closed_connection_is_replaced_at_once_and_the_gap_is_read(on: Wire, order: dict[str, object]) -> None:
    channel = on.open(TurnableClock(), ping_interval=CALM)
    async with caught_up(channel, on.intake, on.events):
        before = await opens(on.control)
        await on.control.do("fault_socket", **order)
        await on.events.until("slack.caught_up", 2)
        assert await opens(on.control) == before + 1
        assert await still_hears(on.control, on.intake)


@pytest.mark.parametrize("dead", [1, pytest.param(8, marks=pytest.mark.slow)])
async def test_a_refused_url_is_tried_once_and_a_socket_is_open_again_within_a_minute(on: Wire, dead: int) -> None:
    clock = TurnableClock(4)
    channel = on.open(clock, ping_interval=CALM)
    async with caught_up(channel, on.intake, on.events):
        before, began = await opens(on.control), clock.monotonic()
        await on.control.do("fault_socket", socket="dead_tickets", times=dead)
        await on.control.do("fault_socket", socket="disconnect", reason="refresh_requested")
        await on.events.until("slack.lost")
        await on.events.until("slack.connected", 2)
        assert clock.monotonic() - began < 60
        assert await opens(on.control) == before + dead + 1
        assert await still_hears(on.control, on.intake)


async def test_the_url_that_proved_the_token_opens_the_first_socket(on: Wire) -> None:
    async with listening(on.open(), on.intake):
        assert await opens(on.control) == 1


async def test_an_old_url_opens_no_socket(open_channel: Open, intake: FakeIntake, control: Control) -> None:
    clock = TurnableClock()
    channel = open_channel(clock)
    await channel.identify()
    clock.turn(21)
    async with listening(channel, intake):
        assert await opens(control) == 2


async def test_a_silent_socket_is_replaced(on: Wire) -> None:
    channel = on.open(TurnableClock(), ping_interval=PING)
    async with caught_up(channel, on.intake, on.events):
        await on.control.do("fault_socket", socket="silence", on=True)
        await on.events.until("slack.lost")
        assert not channel.healthy()
        await on.control.do("fault_socket", socket="silence", on=False)
        await on.events.until("slack.connected", 2)
        assert await still_hears(on.control, on.intake)


async def test_a_connection_without_a_hello_is_closed(on: Wire) -> None:
    channel = on.open(TurnableClock(20))
    await on.control.do("fault_socket", socket="silence", on=True)
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(channel.listen(on.intake, ready))
        await on.events.until("slack.silent")
        assert not ready.is_set()
        assert not channel.healthy()
        await on.control.do("fault_socket", socket="silence", on=False)
        task.cancel()


async def test_repeated_disconnects_are_met_with_a_back_off(on: Wire) -> None:
    clock = TurnableClock(20)
    channel = on.open(clock, ping_interval=PING)
    async with caught_up(channel, on.intake, on.events):
        before, began = await opens(on.control), clock.monotonic()
        await on.control.do("fault_socket", socket="greet", reason="too_many_websockets", times=1000)
        await on.control.do("fault_socket", socket="disconnect", reason="refresh_requested")
        await on.control.until(lambda: on.control.calls("apps.connections.open"), before + 4)
        assert clock.monotonic() - began >= 0 + 1 + 2 + 4
        await on.control.do("clear_faults")
        assert await still_hears(on.control, on.intake)


async def test_a_long_outage_is_logged(on: Wire) -> None:
    channel = on.open(TurnableClock(200), ping_interval=PING)
    async with caught_up(channel, on.intake, on.events):
        await on.control.do("fault_socket", socket="refuse_handshakes", times=1000)
        await on.control.do("fault_socket", socket="close")
        await on.events.until("slack.lost")
        await on.events.until("slack.stuck")
        await on.control.do("clear_faults")
        await on.events.until("slack.connected", 2)


async def test_malformed_frames_do_no_harm(open_channel: Open, intake: FakeIntake, control: Control) -> None:
    channel = open_channel()
    async with listening(channel, intake):
        for text in ("{", "[]", "null", "", '{"type": "events_api"}', '{"type": "hello", "payload": []}'):
            await control.do("fault_socket", socket="frame", text=text)
        assert await still_hears(control, intake)
        assert channel.healthy()
