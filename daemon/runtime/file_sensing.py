"""Fetches and reads the files that messages show, each once; what fails concerns that file alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from daemon.core.errors import DaemonError, FileRefused, NotDelivered, StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.channel import Channel
from daemon.core.ports.files import FileReader
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import Sentence
from daemon.memory.knowledge.senses import Senses, SentFile

_AT_ONCE: Final = 2  # files of all conversations together; each may take a process and a core


class FileSensing:
    """Reads files from a channel into the store."""

    def __init__(self, channel: Channel, reader: FileReader, senses: Senses, emit: Emit) -> None:
        self._channel, self._reader, self._senses, self._emit = channel, reader, senses, emit
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def read(self, conversation: ConversationKey, files: Sequence[SentFile]) -> list[SentFile]:
        """The files with what was found in each; those that wait are fetched and read first. Raises StoreError."""
        return [await self._read(conversation, one) for one in files]

    async def _read(self, conversation: ConversationKey, file: SentFile) -> SentFile:
        if file.state != "waiting":
            return file
        async with self._slots:
            try:
                file = replace(file, file=await self._channel.described(conversation, file.file))
                data = await self._channel.fetch(conversation, file.file)
                read = await self._reader.read(file.file.name, data)
            except FileRefused as error:
                return await self._refused(file, error, error.args[0] if isinstance(error.args[0], Sentence) else None)
            except NotDelivered as error:
                return await self._refused(file, error, Sentence("file_late"))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001  # a library's fault in one file is no fault of the talk
                return await self._refused(file, error, Sentence("file_damaged"))
        self._emit("file.read", kind=read.kind, size=len(data))
        return await self._senses.keep(file, read)

    async def _refused(self, file: SentFile, error: Exception, why: Sentence | None) -> SentFile:
        why = why or Sentence("file_damaged")
        hint = error.hint if isinstance(error, DaemonError) else ""
        foreseen = isinstance(error, DaemonError)
        self._emit("file.refused", reason=str(why), hint=hint, error=None if foreseen else error)
        await self._senses.refuse(file, why)
        return replace(file, state="refused", reason=why)
