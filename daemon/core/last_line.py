"""The outermost handler of every loop: it logs an unforeseen error, pauses, and restarts the loop."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

from daemon.core.concurrency import Bell
from daemon.core.errors import ConfigError, DaemonError, SchemaMismatch, StoreBusy, StoreDamaged, StoreError
from daemon.core.ports.services import Clock, Emit
from daemon.core.value import Value

FAULTS: Final = 3
"""Unforeseen failures after which a row is parked as `dead`, to let the others proceed."""

_STORE_PAUSE: Final = 1.0  # seconds; memory.db is most often just busy
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_ENDS_DAEMON: Final = (ConfigError, SchemaMismatch, StoreDamaged)


def ends_daemon(error: Exception) -> bool:
    """Return true if only an admin can help: a wrong setting, a foreign or a damaged memory.db, alone or in a group."""
    if isinstance(error, ExceptionGroup):
        return error.subgroup(_ENDS_DAEMON) is not None
    return isinstance(error, _ENDS_DAEMON)


def in_short(error: Exception) -> str:
    """Return an error as text for memory.db. Of a library's error only the type: its text may quote a user."""
    return error.message if isinstance(error, DaemonError) else type(error).__name__


Loop = Callable[[], Coroutine[object, object, None]]
"""Work that runs until it is cancelled or fails."""


def every(clock: Clock, seconds: float, chore: Callable[[], Awaitable[float | None]], bell: Bell | None = None) -> Loop:
    """Return the loop that does a chore every so many seconds, and early when the bell rings.

    A chore may return another number of seconds to wait.
    """

    async def loop() -> None:
        while True:
            wait = await chore()
            rest = seconds if wait is None else wait
            await (clock.sleep(rest) if bell is None else bell.wait(clock, rest))

    return loop


async def keep_lease(
    clock: Clock, seconds: float, renew: Callable[[], Awaitable[object]], log: Callable[..., None]
) -> None:
    """Renew a lease every so many seconds until cancelled, which keeps other daemons from claiming its row.

    `log` gets the `reason` why it was not renewed just now: the fence holds even if it runs out. Raises LostLease.
    """
    while True:
        await clock.sleep(seconds)
        try:
            await renew()
        except StoreBusy as busy:
            log(reason=busy.message)


class LastLine(Value):
    """The guard that keeps loops alive. Logs `store.failed` for errors of memory.db, `loop.failed` for all others."""

    clock: Clock
    emit: Emit

    async def keep(self, loop: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` until it returns or is cancelled. Restart it after a failure.

        The pauses grow from one second to a minute. They are short again after a run that outlasted the last pause.
        Raises errors that end the daemon.
        """
        pause = 0.0
        while True:
            began = self.clock.monotonic()
            try:
                return await work()
            except Exception as error:  # noqa: BLE001 - the last line of a loop
                at_once = self.clock.monotonic() - began <= pause
                pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, pause * 2 if at_once else 0.0))
                self.tell(loop, error)
                await self.clock.sleep(_STORE_PAUSE if isinstance(error, StoreError) else pause)

    def tell(self, loop: str, error: Exception) -> None:
        """Log an error of a loop, or raise it if it ends the daemon."""
        if ends_daemon(error):
            raise error
        if isinstance(error, StoreError):
            self.emit("store.failed", reason=error.message, hint=error.hint)
        elif isinstance(error, DaemonError):
            self.emit("loop.failed", loop=loop, reason=error.message, hint=error.hint)
        else:
            self.emit("loop.failed", loop=loop, reason=type(error).__name__, error=error)
