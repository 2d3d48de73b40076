"""The library: the admin's folders, indexed again every few minutes, for every admitted user to search."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from daemon.core.concurrency import in_background
from daemon.core.errors import StoreError
from daemon.core.ports.library import IndexedFile, Library, Passage, PassageIndex
from daemon.core.ports.services import Clock, Emit
from daemon.core.text import one_line, shortened
from daemon.tools.documents.document import DocumentKind, readable_instead
from daemon.tools.documents.encodings import guessed
from daemon.tools.library import LibraryFile, cut, is_there, name_folders, read_into_passages, read_text, walk

EVERY = 300.0

Tell = Callable[[str], Awaitable[None]]

_BATCH = 200  # about as many passages are written in one transaction; a long file is written alone
_NAMED = 5  # files that a summary of changes names
_LONGEST_NAME = 120  # characters
_DOCUMENTS = 25  # read in one round: changes of other files are noticed between two rounds


@dataclass(slots=True)
class IndexCounts:
    """The counts of one round of indexing. `left` documents wait for the next round.

    `names` are the paths of read files, `gone` those of removed files.
    """

    files: int = 0
    passages: int = 0
    left: int = 0
    names: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    @property
    def changed(self) -> int:
        return len(self.names)

    @property
    def removed(self) -> int:
        return len(self.gone)

    def add(self, file: IndexedFile) -> None:
        self.names.append(file.path)
        self.passages += len(file.passages)


class FolderLibrary:
    """A `Library` over folders. Passages are cited as `folder/file.md:line` or `folder/file.pdf, page 3`."""

    def __init__(
        self,
        folders: Sequence[Path],
        index: PassageIndex,
        clock: Clock,
        emit: Emit,
        *,
        open_to_all: Sequence[Path] = (),
        tell: Tell | None = None,
    ) -> None:
        """Create the library. `tell` receives a sentence about the changes of a run of indexing."""
        self._folders = name_folders((*folders, *open_to_all))
        opened = {folder.absolute() for folder in open_to_all}
        # Non-members may be answered from these too.
        self.open_folders = frozenset(name for name, folder in self._folders.items() if folder in opened)
        self._index = index
        self._clock = clock
        self._emit = emit
        self._tell = tell
        self._untold = IndexCounts()
        self._reported: tuple[object, ...] = ((), False)
        self._sizes: Mapping[str, int] = {}

    @property
    def folders(self) -> Mapping[str, int]:
        return self._sizes

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """Return the best passages, best first, or none. Raises StoreError."""
        return await self._index.search(query, limit) if self._folders else ()

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """Return the next passages, or none if the document was deleted since the last round of indexing."""
        name, *inside = document.split("/")
        folder = self._folders.get(name)
        if folder is None or not inside or not await in_background(partial(is_there, folder, inside)):
            return ()
        return await self._index.read_on(document, line, most)

    def open_part(self) -> Library | None:
        """Return the folders from which non-members may be answered too, or None."""
        return _OpenFolders(self, self._index, self.open_folders) if self.open_folders else None

    async def keep_indexed(self) -> None:
        """Index now and every few minutes until cancelled. Without folders, clear the index and return."""
        while True:
            try:
                counts = await self.index()
                if counts.changed or counts.removed:
                    self._emit(
                        "library.indexed",
                        files=counts.files,
                        changed=counts.changed,
                        removed=counts.removed,
                        passages=counts.passages,
                    )
                await self._tell_of(counts)
            except (StoreError, OSError) as error:  # the next round tries again; searches use the old index
                self._emit("library.index_stale", error=error)
            else:
                if not self._folders:
                    return
                if counts.left:
                    continue
            await self._clock.sleep(EVERY)

    async def _tell_of(self, counts: IndexCounts) -> None:
        """Report the changes, once all documents are read. Raises StoreError, and then the next run reports them."""
        self._untold.names += counts.names
        self._untold.gone += counts.gone
        if self._tell is None or counts.left or not (self._untold.names or self._untold.gone):
            return
        await self._tell(_changes(self._untold))
        self._untold = IndexCounts()

    async def index(self) -> IndexCounts:
        """Update the index to the present files of the folders. Raises StoreError."""
        known = await self._index.stamps()
        if not self._sizes:  # the first round may take long
            self._sizes = self._count(known)
        found = await in_background(partial(walk, self._folders))
        self._sizes = self._count(file.path for file in found.files)
        self._report(found.missing, found.overflowed)
        gone = sorted(known.keys() - {file.path for file in found.files})
        counts = IndexCounts(files=len(found.files), gone=gone)
        for start in range(0, len(gone), _BATCH):
            await self._index.remove(gone[start : start + _BATCH])
        changed = [file for file in found.files if known.get(file.path) != file.stamp]
        await self._index_texts([file for file in changed if file.kind is None], counts)
        documents = [(file, kind) for file in changed if (kind := file.kind) is not None]
        await self._index_documents(documents[:_DOCUMENTS], counts)
        counts.left = len(documents[_DOCUMENTS:])
        return counts

    async def _index_texts(self, files: Sequence[LibraryFile], counts: IndexCounts) -> None:
        batch: list[IndexedFile] = []
        for file in files:
            read = await in_background(partial(_read, file))
            if batch and _size(batch) + _size([read]) > _BATCH:
                await self._put(batch)
                batch = []
            batch.append(read)
            counts.add(read)
        if batch:
            await self._put(batch)

    async def _index_documents(self, files: Sequence[tuple[LibraryFile, DocumentKind]], counts: IndexCounts) -> None:
        """Read documents one after the other, and write each at once: a read document is not read again."""
        for file, kind in files:
            read = await read_into_passages(file, kind)
            await self._put([read])
            counts.add(read)

    async def _put(self, files: Sequence[IndexedFile]) -> None:
        """Write files. A fault is logged once, since the file is not read again until it changes."""
        await self._index.put(files)
        for file in files:
            if file.fault:
                event = "library.file_shortened" if file.passages else "library.file_refused"
                self._emit(event, path=file.path, reason=file.fault)

    def _count(self, paths: Iterable[str]) -> Mapping[str, int]:
        counted = Counter(map(_folder, paths))
        return {name: counted[name] for name in self._folders if counted[name]}

    def _report(self, missing: tuple[str, ...], overflowed: bool) -> None:
        """Log what can't be indexed, once until it changes."""
        if (missing, overflowed) == self._reported:
            return
        self._reported = (missing, overflowed)
        for name in missing:
            self._emit("library.folder_missing", folder=name)
        if overflowed:
            self._emit("library.files_refused", reason="the folders hold too many files")


class _OpenFolders:
    """The `Library` of the folders that all users may read."""

    def __init__(self, whole: Library, index: PassageIndex, names: frozenset[str]) -> None:
        self._whole = whole
        self._index = index
        self._names = names

    @property
    def folders(self) -> Mapping[str, int]:
        return {name: many for name, many in self._whole.folders.items() if name in self._names}

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        found = await self._index.search(query, limit, folders=self._names)
        return tuple(replace(one, members_only=False) for one in found)

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        found = await self._whole.read_on(document, line, most) if _folder(document) in self._names else ()
        return tuple(replace(one, members_only=False) for one in found)


def _read(file: LibraryFile) -> IndexedFile:
    if (found := read_text(file)) is None:
        suffix = readable_instead(file.path)
        fault = f"documents of its format are not read (save it as {suffix})" if suffix else ""
        return IndexedFile(file.path, file.stamp, (), fault)
    text, guess = found
    return IndexedFile(file.path, file.stamp, cut(text), guessed(guess) if guess else "")


def _changes(counts: IndexCounts) -> str:
    told = (("new or changed", counts.names), ("removed", counts.gone))
    return "; ".join(f"{len(names)} {what}: {_named(names)}" for what, names in told if names)


def _named(names: Sequence[str]) -> str:
    shown = [shortened(one_line(name), _LONGEST_NAME) for name in sorted(names)[:_NAMED]]
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return ", ".join((*shown, *more))


def _folder(path: str) -> str:
    return path.partition("/")[0]


def _size(files: Sequence[IndexedFile]) -> int:
    return sum(1 + len(file.passages) for file in files)
