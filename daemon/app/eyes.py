"""What reads the files that users send, and keeps their pictures."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from daemon.app.side_calls import CountedTranscriber, endpoint_of, side_calls
from daemon.core.channels import Channels
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.llm.transcriber import build_transcriber
from daemon.memory.knowledge.sense_bytes import SenseBytes
from daemon.memory.knowledge.senses import Senses
from daemon.memory.store import Store
from daemon.runtime.file_sensing import FileSensing
from daemon.tools.file_reader import SentFiles

_SWEEP_EVERY_S: Final = 30.0
_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Eyes:
    """The store of pictures and records, and the reader of files, for all souls together."""

    senses: Senses
    sensing: FileSensing
    clock: Clock
    emit: Emit

    async def keep(self) -> None:
        """Delete the pictures that no file refers to any more, first those that a crash has left, until cancelled."""
        everything = True
        while True:
            try:
                if gone := await self.senses.sweep(everything=everything):
                    self.emit("senses.swept", files=gone)
                everything = False
            except StoreError as error:
                self.emit("store.failed", reason=error.message, hint=error.hint)
            await self.clock.sleep(_SWEEP_EVERY_S)


def build_eyes(
    settings: Settings, store: Store, channels: Channels, emit: Emit, stack: AsyncExitStack, *, clock: Clock
) -> Eyes:
    """The reader of files for one daemon; what it opens is closed with the stack."""
    senses = Senses(store.database, clock, SenseBytes(settings.home), settings.senses_mb * _MB)
    transcriber = build_transcriber(settings)
    to = endpoint_of("transcribe", settings.stt_url, settings.stt_model, by_text=False)
    if transcriber is not None and to is not None:
        transcriber = CountedTranscriber(transcriber, side_calls(settings, store.database, clock, emit), to)
    reader = SentFiles(transcriber)
    stack.push_async_callback(reader.aclose)
    return Eyes(senses, FileSensing(channels, reader.read, senses, emit), clock, emit)
