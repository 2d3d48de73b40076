"""The library that everybody who may be heard can ask: the admin's folders, indexed again while the daemon lives."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from daemon.core.errors import StoreError
from daemon.core.ports import Clock, Emit, Passage
from daemon.tools.library.files import LibraryFile, name_folders, read_text, walk
from daemon.tools.library.passages import cut

EVERY = 300.0
"""Seconds between two looks at the folders."""

_BATCH = 200  # passages that one transaction writes, about; a long file is written alone

File = tuple[str, str, tuple[tuple[int, str], ...]]
"""Path as cited, stamp, and the passages with the number of their first line."""


class Index(Protocol):
    """Where passages are kept and searched; `daemon.memory.knowledge.library` has it in memory.db."""

    async def stamps(self) -> Mapping[str, str]:
        """The stamp of every file by its path."""

    async def put(self, files: Sequence[File]) -> None:
        """Keep these files in place of what was known of them, all or none."""

    async def remove(self, paths: Collection[str]) -> None:
        """Forget files."""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The passages that fit best, best first."""


@dataclass(slots=True)
class IndexCounts:
    """What one look at the folders came to."""

    files: int = 0
    changed: int = 0
    removed: int = 0
    passages: int = 0


class FolderLibrary:
    """Implements `Library` over folders; passages are cited as `folder/inside/file.md:line`."""

    def __init__(self, folders: Sequence[Path], index: Index, clock: Clock, emit: Emit) -> None:
        self._folders = name_folders(folders)
        self._index = index
        self._clock = clock
        self._emit = emit
        self._troubles: tuple[object, ...] = ((), False)

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The passages that fit best, best first; empty when nothing fits. Raises StoreError."""
        return await self._index.search(query, limit) if self._folders else ()

    async def keep_indexed(self) -> None:
        """Index now and every few minutes until cancelled; without folders only what is left of them is removed."""
        while True:
            try:
                tally = await self.index()
                if tally.changed or tally.removed:
                    self._emit(
                        "library.indexed",
                        files=tally.files,
                        changed=tally.changed,
                        removed=tally.removed,
                        passages=tally.passages,
                    )
            except (StoreError, OSError) as error:  # the next look makes up for it; answers come from what is indexed
                self._emit("library.index_stale", error=error)
            else:
                if not self._folders:
                    return
            await self._clock.sleep(EVERY)

    async def index(self) -> IndexCounts:
        """Bring the index up to what the folders hold now. Raises StoreError."""
        known = await self._index.stamps()
        found = await asyncio.to_thread(walk, self._folders)
        self._tell(found.missing, found.overflowed)
        gone = sorted(known.keys() - {file.path for file in found.files})
        tally = IndexCounts(files=len(found.files), removed=len(gone))
        for start in range(0, len(gone), _BATCH):
            await self._index.remove(gone[start : start + _BATCH])
        batch: list[File] = []
        for file in found.files:
            if known.get(file.path) == file.stamp:
                continue
            read = await asyncio.to_thread(_read, file)
            if batch and _size(batch) + _size([read]) > _BATCH:
                await self._index.put(batch)
                batch = []
            batch.append(read)
            tally.changed += 1
            tally.passages += len(read[2])
        if batch:
            await self._index.put(batch)
        return tally

    def _tell(self, missing: tuple[str, ...], overflowed: bool) -> None:
        """Say what can't be indexed, once for as long as it stays so."""
        if (missing, overflowed) == self._troubles:
            return
        self._troubles = (missing, overflowed)
        for name in missing:
            self._emit("library.folder_missing", folder=name)
        if overflowed:
            self._emit("library.files_refused", reason="the folders hold too many files")


def _read(file: LibraryFile) -> File:
    """A file that can't be read is kept without passages, so that it is not read again until it changes."""
    return file.path, file.stamp, cut(read_text(file) or "")


def _size(files: Sequence[File]) -> int:
    return sum(1 + len(passages) for _, _, passages in files)
