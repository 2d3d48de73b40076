"""The systemd protocol: readiness, status, watchdog beats, and exit codes that say whether a restart can help."""

import os
import socket
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Self

from daemon.core.errors import (
    ChannelError,
    ConfigError,
    LostLease,
    ModelUnavailable,
    SchemaMismatch,
    SoulError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
)
from daemon.core.ports.services import Clock
from daemon.core.text import one_line
from daemon.core.value import Value


class ExitCode(IntEnum):
    """The exit codes of the process (BSD's sysexits). The systemd units don't restart after CONFIGURATION."""

    OK = 0
    FAULT = 70
    TEMPORARY = 75
    CONFIGURATION = 78


class ServiceEnvironment(Value):
    """The service manager's variables: its socket, the watchdog's interval (µs), the stream to its journal."""

    notify_socket: str = ""
    watchdog_usec: int | None = None
    journal_stream: str = ""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Read the variables. A watchdog meant for another process is ignored (systemd: sd_watchdog_enabled)."""
        ours = environ.get("WATCHDOG_PID") in {None, "", str(os.getpid())}
        usec = environ.get("WATCHDOG_USEC", "")
        return cls(
            notify_socket=environ.get("NOTIFY_SOCKET", ""),
            watchdog_usec=int(usec) if ours and usec.isdecimal() and int(usec) > 0 else None,
            journal_stream=environ.get("JOURNAL_STREAM", ""),
        )


class ServiceManager:
    """The sender of notifications to the datagram socket in `NOTIFY_SOCKET`. Without one every call does nothing.

    `address` is a path, or an abstract name that begins with `@`. Each call returns whether systemd was reached and
    never raises: an unreachable systemd is no reason to stop, and its watchdog notices a missing beat.
    """

    def __init__(self, address: str = "") -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address

    def ready(self, status: str) -> bool:
        """Report that the daemon works: `systemctl start` returns."""
        return self._send("READY=1", _status(status))

    def status(self, status: str) -> bool:
        return self._send(_status(status))

    def beat(self) -> bool:
        return self._send("WATCHDOG=1")

    def stopping(self, status: str) -> bool:
        return self._send("STOPPING=1", _status(status))

    def extend_timeout(self, seconds: float) -> bool:
        """Ask for more time, counted from now, for the current start or stop."""
        return self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, *assignments: str) -> bool:
        """Send without waiting: a full queue at the other end loses the message."""
        if not self._address.startswith(("/", "\0")):
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as link:
                link.connect(self._address)
                link.send("\n".join(assignments).encode())
        except OSError:
            return False
        return True


class Watchdog:
    """The beats for systemd's watchdog from the event loop: a stuck loop or a silent memory.db ends in a restart.

    A lost connection to Slack does not: a restart can't mend it.
    """

    def __init__(self, manager: ServiceManager, watchdog_usec: int | None) -> None:
        self._manager = manager
        self._interval = watchdog_usec / 4_000_000 if watchdog_usec else None

    async def feed(self, healthy: Callable[[], bool], clock: Clock) -> None:
        """Beat at a quarter of the watchdog's interval while `healthy()` holds, until cancelled.

        Returns at once when systemd set no watchdog. Raises what `healthy` raises.
        """
        while self._interval is not None:
            if healthy():
                self._manager.beat()
            await clock.sleep(self._interval)


def exit_code(error: BaseException | None) -> ExitCode:
    """Return the exit code, which says whether a restart can help.

    No restart helps after a fault of the configuration, a soul, the schema or the file. One may help after something
    busy, full or unreachable. In a group a fault that only an admin can mend decides.
    """
    if error is None:
        return ExitCode.OK
    if isinstance(error, BaseExceptionGroup):
        codes = {exit_code(inner) for inner in error.exceptions}
        order = (ExitCode.CONFIGURATION, ExitCode.FAULT, ExitCode.TEMPORARY)
        return next(code for code in order if code in codes)
    if isinstance(error, ConfigError | SoulError | SchemaMismatch | StoreDamaged):
        return ExitCode.CONFIGURATION
    if isinstance(error, StoreBusy | StoreFull | LostLease | ModelUnavailable | ChannelError):
        return ExitCode.TEMPORARY
    return ExitCode.FAULT


def _status(text: str) -> str:
    return f"STATUS={one_line(text)}"
