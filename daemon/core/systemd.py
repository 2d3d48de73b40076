"""What systemd is told: readiness, status, the watchdog's beat, and exit codes that say if a restart could help."""

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, Self

from daemon.core.errors import (
    ChannelError,
    ConfigError,
    LostLease,
    ModelUnavailable,
    SchemaMismatch,
    SoulError,
    StoreBusy,
    StoreFull,
)
from daemon.core.text import one_line


class ExitCode(IntEnum):
    """How the process ends (BSD's sysexits, as systemd shows them); the units don't restart after CONFIGURATION."""

    OK = 0
    FAULT = 70
    TEMPORARY = 75
    CONFIGURATION = 78


@dataclass(frozen=True, slots=True)
class ServiceEnvironment:
    """What the service manager tells a process: where to notify, how often to beat, which stream is its journal."""

    notify_socket: str = ""
    watchdog_usec: int | None = None
    journal_stream: str = ""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Read it once; a watchdog meant for another process is none of ours (systemd: sd_watchdog_enabled)."""
        ours = environ.get("WATCHDOG_PID") in {None, "", str(os.getpid())}
        usec = environ.get("WATCHDOG_USEC", "")
        return cls(
            notify_socket=environ.get("NOTIFY_SOCKET", ""),
            watchdog_usec=int(usec) if ours and usec.isdecimal() and int(usec) > 0 else None,
            journal_stream=environ.get("JOURNAL_STREAM", ""),
        )


class Waits(Protocol):
    """The part of a Clock that the watchdog needs."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class ServiceManager:
    """Speaks to systemd over the datagram socket that `NOTIFY_SOCKET` names; without one every call does nothing.

    `address` is a path, or an abstract name that begins with `@`. No call raises: a manager that can't be told is not a
    reason to stop, and a missing beat is noticed by its watchdog anyway.
    """

    def __init__(self, address: str = "") -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def ready(self, status: str) -> bool:
        """The daemon can do its work now; `systemctl start` returns."""
        return self._send("READY=1", _status(status))

    def status(self, status: str) -> bool:
        """One line for `systemctl status`."""
        return self._send(_status(status))

    def beat(self) -> bool:
        """Still alive."""
        return self._send("WATCHDOG=1")

    def stopping(self, status: str) -> bool:
        """The daemon has begun to shut down."""
        return self._send("STOPPING=1", _status(status))

    def extend_timeout(self, seconds: float) -> bool:
        """Ask for so much more time, from now, for the start or stop that is under way."""
        return self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, *assignments: str) -> bool:
        """Whether the manager was reached. Never waits: a full queue at the other end loses this one message."""
        if not self._address.startswith(("/", "\0")):
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as door:
                door.connect(self._address)
                door.send("\n".join(assignments).encode())
        except OSError:
            return False
        return True


class Watchdog:
    """Beats for the manager from the event loop, so that a wedged loop or a lost connection ends in a restart."""

    def __init__(self, manager: ServiceManager, watchdog_usec: int | None) -> None:
        self._manager = manager
        self._interval = watchdog_usec / 2_000_000 if watchdog_usec else None

    async def feed(self, healthy: Callable[[], bool], clock: Waits) -> None:
        """Beat at half of what the manager allows while `healthy()` holds, until cancelled.

        Returns at once when no watch is kept. What `healthy` raises is raised here.
        """
        while self._interval is not None:
            if healthy():
                self._manager.beat()
            await clock.sleep(self._interval)


def exit_code(error: BaseException | None) -> ExitCode:
    """The code that tells the service manager whether starting again could help.

    Configuration, soul or schema faults can't heal by a restart; what is busy, full or unreachable may. In a group any
    fault that only a person can mend decides.
    """
    if error is None:
        return ExitCode.OK
    if isinstance(error, BaseExceptionGroup):
        codes = {exit_code(inner) for inner in error.exceptions}
        order = (ExitCode.CONFIGURATION, ExitCode.FAULT, ExitCode.TEMPORARY)
        return next(code for code in order if code in codes)
    if isinstance(error, ConfigError | SoulError | SchemaMismatch):
        return ExitCode.CONFIGURATION
    if isinstance(error, StoreBusy | StoreFull | LostLease | ModelUnavailable | ChannelError):
        return ExitCode.TEMPORARY
    return ExitCode.FAULT


def _status(text: str) -> str:
    """A status on one line; a line break in it would begin another assignment."""
    return f"STATUS={one_line(text)}"
