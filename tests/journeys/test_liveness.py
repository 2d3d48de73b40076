"""A daemon that is outdated ends; one that only lost Slack lives on; a stop doesn't wait for courtesies."""

import asyncio
import socket
from pathlib import Path

import pytest

from daemon.core.errors import SchemaMismatch
from daemon.core.systemd import ExitCode, exit_code
from daemon.memory.database import schema
from tests.fakes import TIMEOUT
from tests.given import tagged
from tests.journeys.house import House

OUTDATED = (SchemaMismatch, ExceptionGroup)
"""What ends a daemon whose schema is older: two of its loops may meet the newer file in the same moment."""


async def test_a_daemon_whose_schema_is_older_than_the_file_ends_and_leaves_slack_at_once(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    daemon = house.running
    await house.change(f"PRAGMA user_version = {schema.SCHEMA + 1}")
    house.clock.turn(11)  # no message is needed: the next heartbeat meets the newer schema
    await daemon.events.until("daemon.outdated")
    with pytest.raises(OUTDATED) as raised:
        async with asyncio.timeout(TIMEOUT):
            await daemon._life
    assert exit_code(raised.value) is ExitCode.CONFIGURATION
    assert await house.people.sockets() == 0


async def test_a_read_that_fails_on_a_newer_file_ends_the_daemon_too(house: House) -> None:
    daemon = house.running
    await house.change(f"PRAGMA user_version = {schema.SCHEMA + 1}")
    with pytest.raises(SchemaMismatch):
        await house.built.store.database.rows("SELECT gone FROM presence")
    await daemon.events.until("daemon.outdated")
    with pytest.raises(OUTDATED) as raised:
        await daemon._life
    assert exit_code(raised.value) is ExitCode.CONFIGURATION


async def test_the_work_is_drained_while_slack_hangs_on_the_status_lines(empty_house: House) -> None:
    daemon = await empty_house.start()
    flows = [empty_house.flow() for _ in range(3)]
    for person in ("Ada", "Ben", "Chloe"):
        await empty_house.say(person, "dm", "hello")
    for flow in flows:
        await asyncio.wait_for(flow.asked.wait(), TIMEOUT)

    async def shown() -> bool:
        return len(await empty_house.people.calls("assistant.threads.setStatus")) == 3

    await empty_house.until(shown)
    await empty_house.people.fault("assistant.threads.setStatus", delay=50, times=100)
    empty_house.clock.stand_still()
    for flow in flows:
        flow.end(tagged("Done."))
    for room in ("D0ADA", "D0BEN", "D0CHLOE"):
        await empty_house.reply(room, "Done.")
    stopping = asyncio.create_task(daemon.stop())
    await daemon.events.until("daemon.drained", finished=True)
    assert daemon.events.named("slack.status_failed") == []
    await _over_within(empty_house, stopping, 10)


async def test_what_hangs_on_slack_when_the_drain_is_over_ends_then(empty_house: House) -> None:
    daemon = await empty_house.start(drain=0.1)
    flow = empty_house.flow()
    await empty_house.say("Ada", "dm", "hello")
    await asyncio.wait_for(flow.asked.wait(), TIMEOUT)
    await empty_house.people.fault("*", delay=50, times=1000)
    flow.say('<external_dialogue verb="said">', "These are the first words of a reply that will never end. " * 2)
    await empty_house.row("SELECT * FROM outbox WHERE state = 'drafting'")  # it is noted just before the request
    empty_house.clock.stand_still()
    stopping = asyncio.create_task(daemon.stop())
    await daemon.events.until("daemon.draining")
    await _over_within(empty_house, stopping, 20)
    assert daemon.events.named("daemon.drained") == [{"finished": False}]


async def _over_within(house: House, stopping: asyncio.Task[None], seconds: int) -> None:
    """The stop ends after so many seconds on the clock, while Slack would answer after fifty."""
    for _ in range(seconds):
        house.clock.turn(1)
        await asyncio.wait((stopping,), timeout=0.05)
    async with asyncio.timeout(TIMEOUT):
        await stopping


async def test_the_watchdog_is_fed_while_slack_is_away_and_status_says_so(empty_house: House, tmp_path: Path) -> None:
    house, address = empty_house, str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as manager:
        manager.bind(address)
        daemon = await house.start_under(address, watchdog_usec=60_000_000)
        house.clock.turn(11)
        await daemon.events.until("heartbeat", connected=True)
        await house.people.fault(socket="refuse_handshakes", times=10_000)
        await house.people.fault(socket="reset")
        await daemon.events.until("slack.lost")
        _received(manager)
        for _ in range(12):
            house.clock.turn(10)
            await asyncio.sleep(0.02)
        await daemon.events.until("heartbeat", connected=False)
        said = _received(manager)
    assert said.count("WATCHDOG=1") >= 3
    assert "STATUS=not connected to Slack; it tries again" in said


def _received(manager: socket.socket) -> list[str]:
    messages = []
    while True:
        try:
            messages.append(manager.recv(4096).decode())
        except BlockingIOError:
            return messages
