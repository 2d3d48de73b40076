"""Fetches and reads the files that messages show, each once; a failure concerns that file alone."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.errors import ChannelRefused, DaemonError, FileRefused, NotDelivered, StoreError
from daemon.core.lru import Lru
from daemon.core.perception import ConversationKey, Modality, Perception
from daemon.core.ports.services import Emit, GateDecision, ReadBytes, SharedFile
from daemon.core.sensing import SOURCE_PARAM
from daemon.core.sentences import Sentence
from daemon.memory.knowledge.senses import Senses, SentFile
from daemon.memory.queues.source_events import SourceEvents

_KEPT: Final = 20  # files that are kept nowhere else, for the next question about them
_AT_ONCE: Final = 2  # files of all conversations together; each may take a process and a core


class FileSensing:
    """The reader of files from a channel into the store, or into memory alone for files that are kept nowhere."""

    def __init__(self, channels: Channels, read: ReadBytes, senses: Senses, emit: Emit) -> None:
        self._channels, self._read_bytes, self._senses, self._emit = channels, read, senses, emit
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._kept = Lru[tuple[str, SharedFile], SentFile](_KEPT)

    async def read(self, conversation: ConversationKey, files: Sequence[SentFile]) -> list[SentFile]:
        """Return the files with their contents. Waiting files are fetched and read first. Raises StoreError."""
        return [await (self._read if one.seq else self._once)(conversation, one) for one in files]

    async def _once(self, conversation: ConversationKey, file: SentFile) -> SentFile:
        key = (conversation.workspace, file.file)
        if file.state == "waiting" and key not in self._kept:
            read = await self._read(conversation, file)
            if read.reason == Sentence("file_late"):
                return read
            self._kept[key] = read
        return replace(self._kept[key], ts=file.ts) if file.state == "waiting" else file

    async def _read(self, conversation: ConversationKey, file: SentFile) -> SentFile:
        if file.state != "waiting":
            return file
        async with self._slots:
            try:
                channel = self._channels.of(conversation)
                file = replace(file, file=await channel.described(conversation, file.file))
                data = await channel.fetch(conversation, file.file)
                read = await self._read_bytes(file.file.name, data)
            except FileRefused as error:
                return await self._refused(file, error, error.args[0] if isinstance(error.args[0], Sentence) else None)
            except NotDelivered as error:
                return await self._refused(file, error, Sentence("file_late"))
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001  # a library's fault in one file is no fault of the talk
                return await self._refused(file, error, Sentence("file_damaged"))
        self._emit("file.read", kind=read.kind, size=len(data))
        return await self._senses.keep(file, read) if file.seq else replace(file, state="read", read=read)

    async def _refused(self, file: SentFile, error: Exception, why: Sentence | None) -> SentFile:
        why = why or Sentence("file_damaged")
        hint = error.hint if isinstance(error, DaemonError) else ""
        foreseen = isinstance(error, DaemonError)
        self._emit("file.refused", reason=str(why), hint=hint, error=None if foreseen else error)
        if file.seq:
            await self._senses.refuse(file, why)
        return replace(file, state="refused", reason=why)


async def admit(channels: Channels, events: SourceEvents, perception: Perception) -> GateDecision:
    """Ask a person's channel. A program is never a member, and admitted only while the soul is in its room.

    Raises NotDelivered when the platform is unreachable.
    """
    if perception.modality is not Modality.EVENT:
        return await channels.of(perception.conversation).admit(perception)
    source = await events.still(str(perception.params.get(SOURCE_PARAM, "")))
    if source is None or source.conversation != perception.conversation:
        return GateDecision(admitted=False, reason="its source has ended")
    try:
        await channels.main.find_room(source.room)
    except ChannelRefused as refused:
        return GateDecision(admitted=False, reason=refused.code)
    return GateDecision(admitted=True, name=source.name)
