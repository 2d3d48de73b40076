"""The last line of every loop: an error that it did not foresee is logged, the loop pauses, and everything goes on."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import ConfigError, DaemonError, SchemaMismatch, StoreDamaged, StoreError
from daemon.core.ports.services import Clock, Emit

FAULTS: Final = 3
"""Failures that were not foreseen after which a row is parked as `dead`, so that it can't hold up the others."""

_STORE_PAUSE: Final = 1.0  # seconds; memory.db is most often just busy
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_ENDS_DAEMON: Final = (ConfigError, SchemaMismatch, StoreDamaged)


def ends_daemon(error: Exception) -> bool:
    """Whether only an admin can help: a wrong setting, a foreign or a damaged memory.db, alone or in a group."""
    if isinstance(error, ExceptionGroup):
        return error.subgroup(_ENDS_DAEMON) is not None
    return isinstance(error, _ENDS_DAEMON)


def in_short(error: Exception) -> str:
    """An error for memory.db; of a library's error only the type, since its text may quote a user."""
    return error.message if isinstance(error, DaemonError) else type(error).__name__


@dataclass(frozen=True, slots=True)
class LastLine:
    """Keeps loops alive. `loop.failed` tells of an error that was not foreseen, `store.failed` of one of memory.db."""

    clock: Clock
    emit: Emit

    async def keep(self, loop: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` until it returns or is cancelled; after a failure it begins again.

        The pauses grow from one second to a minute, and are short again once it ran for longer than the last one.
        Raises what ends the daemon.
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
        """Log an error of a loop, or raise it when it ends the daemon."""
        if ends_daemon(error):
            raise error
        if isinstance(error, StoreError):
            self.emit("store.failed", reason=error.message, hint=error.hint)
        elif isinstance(error, DaemonError):
            self.emit("loop.failed", loop=loop, reason=error.message, hint=error.hint)
        else:
            self.emit("loop.failed", loop=loop, reason=type(error).__name__, error=error)
