"""The health of this daemon: its event loop and memory.db; and its reader of files."""

from collections import deque
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from daemon.app.side_calls import CountedTranscriber, endpoint_of, side_calls
from daemon.core.channels import Channels
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.extensions import ExtensionFault
from daemon.core.ports.services import Clock, Emit
from daemon.ism.machine import action_named
from daemon.llm.media import build_transcriber
from daemon.memory.knowledge.senses import Senses
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.store import Store
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.file_sensing import FileSensing
from daemon.soul import KnownNames
from daemon.tools.file_reader import SentFiles

_TICK = 1.0
_KEPT = 60  # measurements
_STORE_SILENT = 75.0  # seconds; a heartbeat comes every ten, or within a minute after it failed
_TICKS_WATCHED = 5
_LOOP_STUCK = 10.0  # seconds of lag; acknowledgements are due after three


class Health:
    """The measurement of the event loop's lag, and the time of memory.db's last answer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answered_at = clock.monotonic()
        self._lags: deque[float] = deque(maxlen=_KEPT)

    async def measure(self) -> None:
        """Measure until cancelled how late a sleeping task is woken."""
        while True:
            due = self._clock.monotonic() + _TICK
            await self._clock.sleep(_TICK)
            self._lags.append(max(0.0, self._clock.monotonic() - due))

    def worst_lag(self, ticks: int = _KEPT) -> float:
        """Return the longest lag, in seconds, among the last measurements, one a second."""
        return max(list(self._lags)[-ticks:], default=0.0)

    def store_answered(self) -> None:
        """Note that a write to memory.db was done or refused."""
        self._answered_at = self._clock.monotonic()

    def works(self) -> bool:
        """Return true if the watchdog may be fed. False means that a restart may help."""
        silent = self._clock.monotonic() - self._answered_at
        return silent < _STORE_SILENT and self.worst_lag(_TICKS_WATCHED) < _LOOP_STUCK


SWEEP_EVERY_S: Final = 30.0
"""Seconds between two looks for unreferenced pictures."""

_MB: Final = 1_000_000


@dataclass(slots=True)
class Eyes:
    """The store of pictures and records, and the reader of files, for all souls together."""

    senses: Senses
    sensing: FileSensing
    emit: Emit
    swept: bool = False

    async def sweep(self) -> None:
        """Delete unreferenced pictures, first those that a crash has left."""
        try:
            gone = await self.senses.sweep(everything=not self.swept)
        except StoreError as error:  # tried again at the next sweep, not a second later
            self.emit("store.failed", reason=error.message, hint=error.hint)
            return
        if gone:
            self.emit("senses.swept", files=gone)
        self.swept = True


def build_eyes(
    settings: Settings, store: Store, channels: Channels, emit: Emit, stack: AsyncExitStack, *, clock: Clock
) -> Eyes:
    """Build the reader of files for one daemon, closed with the stack."""
    senses = Senses(store.database, clock, SenseBytes(settings.home), settings.senses_mb * _MB)
    transcriber = build_transcriber(settings)
    to = endpoint_of("transcribe", settings.stt_url, settings.stt_model, by_text=False)
    if transcriber is not None and to is not None:
        transcriber = CountedTranscriber(transcriber, side_calls(settings, store.database, clock, emit), to)
    reader = SentFiles(transcriber)
    stack.push_async_callback(reader.aclose)
    return Eyes(senses, FileSensing(channels, reader.read, senses, emit), emit)


def known_names() -> KnownNames:
    """Return all names. An action of another package is imported when a soul names it."""
    return KnownNames(PROCESSES, SUBPROCESSES, why_not_extended)


def why_not_extended(name: str) -> str:
    """Return why an action of another package can't be used; empty if it can."""
    try:
        action_named(name)
    except ExtensionFault as fault:
        return f"{fault.message}; {fault.hint}"
    return ""
