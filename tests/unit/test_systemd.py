"""Notifications to systemd on real datagram sockets, and exit codes."""

import asyncio
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.core.errors import (
    ConfigError,
    DeliveryUncertain,
    ModelUnavailable,
    SchemaMismatch,
    SoulError,
    StoreBusy,
    StoreError,
)
from daemon.core.systemd import ExitCode, ServiceManager, Watchdog, exit_code
from tests.fakes import FakeClock


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)

    def received(self) -> list[str]:
        messages = []
        while True:
            try:
                messages.append(self._socket.recv(4096).decode())
            except BlockingIOError:
                return messages

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    at = Manager(str(tmp_path / "notify") if request.param == "path" else f"@soul-test-{uuid.uuid4()}")
    yield at
    at.close()


def test_each_notification_arrives_as_systemd_s_assignments(manager: Manager) -> None:
    service = ServiceManager(manager.address)
    assert service.status("waiting for Slack") is True
    assert service.ready("connected\nREADY=0") is True
    assert service.beat() is True
    assert service.extend_timeout(1.5) is True
    assert service.stopping("draining") is True
    assert manager.received() == [
        "STATUS=waiting for Slack",
        "READY=1\nSTATUS=connected READY=0",
        "WATCHDOG=1",
        "EXTEND_TIMEOUT_USEC=1500000",
        "STOPPING=1\nSTATUS=draining",
    ]
    sent = [service.beat() for _ in range(5000)]
    assert (sent[0], sent[-1]) == (True, False), "a full queue never blocks the sender"


async def test_without_systemd_or_a_watchdog_nothing_happens(manager: Manager) -> None:
    for address in ("", "relative", "/nobody/listens/here", "@soul-test-nobody", "/" + "x" * 200):
        assert ServiceManager(address).ready("connected") is False
    for usec in (None, 0):
        await Watchdog(ServiceManager(manager.address), usec).feed(lambda: True, FakeClock())
        assert manager.received() == [], usec
    with pytest.raises(ZeroDivisionError):
        await Watchdog(ServiceManager(manager.address), 1).feed(lambda: 1 // 0 == 0, FakeClock())
    assert manager.received() == []


async def test_the_watchdog_beats_at_a_quarter_of_its_time_and_only_while_healthy(manager: Manager) -> None:
    clock = FakeClock()
    health = [True]
    feeding = asyncio.ensure_future(
        Watchdog(ServiceManager(manager.address), 60_000_000).feed(lambda: health[0], clock)
    )
    await clock.sleepers()
    assert manager.received() == ["WATCHDOG=1"]
    await clock.advance(14.9)
    assert manager.received() == []
    await clock.advance(0.2)
    assert manager.received() == ["WATCHDOG=1"]
    health[0] = False
    await clock.advance(60)
    assert manager.received() == []
    health[0] = True
    await clock.advance(16)
    assert manager.received() == ["WATCHDOG=1"]
    feeding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await feeding
    assert set(clock.slept) == {15.0}


def test_the_exit_code_says_whether_a_restart_can_help() -> None:
    for error, code in (
        (None, ExitCode.OK),
        (ConfigError("no token"), 78),
        (SoulError("no soul"), 78),
        (SchemaMismatch("newer"), 78),
        (StoreBusy("busy"), 75),
        (ModelUnavailable("away"), 75),
        (DeliveryUncertain("?"), 75),
        (StoreError("broken"), 70),
        (ValueError("a bug"), 70),
        (ExceptionGroup("tasks", [StoreBusy("busy")]), 75),
        (ExceptionGroup("tasks", [StoreBusy("busy"), ValueError("a bug")]), 70),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [ConfigError("no")]), ValueError("a bug")]), 78),
    ):
        assert exit_code(error) == code
