"""The files of the library's folders: walk, safe opening, text, and passages."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from daemon.core.concurrency import in_background
from daemon.core.errors import DocumentUnreadable
from daemon.core.ports.library import IndexedFile, IndexedPassage
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import DIRECTORY, closing_handle, open_inside
from daemon.core.value import Value
from daemon.tools.documents.document import Document, DocumentKind, Section, kind_of, readable_instead
from daemon.tools.documents.encodings import decoded
from daemon.tools.documents.reader import read_document

SIZE_CAP = 512 * 1024
"""Bytes of the largest text file that is read. `daemon/tools/documents` bounds documents."""
MOST_FILES = 20_000
"""Files that are read from all folders together."""

DOCUMENTS_READ = "2"
"""The version in the stamp of a document. A new number has all documents read again, by a better reader."""

_DEEPEST = 24
_PASSED_OVER = frozenset({"node_modules", "__pycache__"})
_MARK = "~$"  # the prefix of a lock file of an office program
_DATABASE = re.compile(r"\.(db|sqlite3?)([-.]|$)", re.IGNORECASE)
_HOLDS_KEYS = re.compile(
    r".+\.(env|pem|key|p12|pfx|jks|keystore|kdbx|tfstate)|credentials?(\..*)?|secrets?(\..*)?|id_(rsa|dsa|ecdsa|ed25519).*",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")


class LibraryFile(Value):
    """A file in a folder: `path` as cited, `stamp` its size and time, `inside` the names from the folder to it."""

    path: str
    stamp: str
    folder: Path
    inside: tuple[str, ...]

    @property
    def kind(self) -> DocumentKind | None:
        return kind_of(self.inside[-1])


class Walk(Value):
    """The files of all folders. `missing` folders can't be opened; `overflowed` means more than MOST_FILES."""

    files: tuple[LibraryFile, ...]
    missing: tuple[str, ...]
    overflowed: bool


def name_folders(folders: Sequence[Path]) -> Mapping[str, Path]:
    """Return the folders by the names for citations: their own, with a number for equal names."""
    named: dict[str, Path] = {}
    for folder in dict.fromkeys(folder.absolute() for folder in folders):
        own = folder.resolve().name or "root"
        count = sum(1 for name in named if name == own or name.startswith(f"{own}-"))
        named[f"{own}-{count + 1}" if own in named else own] = folder
    return named


def walk(folders: Mapping[str, Path]) -> Walk:
    """Return all documents and possible text files: not hidden, no databases, texts neither empty nor too large.

    Every directory and file is opened by handle, one name at a time, and no link is followed. A folder that another
    user can write to can't lead out of itself, even during a walk. Databases are never opened: closing a live one would
    drop its locks. Blocks on the disk.
    """
    files: list[LibraryFile] = []
    missing: list[str] = []
    for name, folder in folders.items():
        try:
            # Only this link is followed, which the admin configured.
            handle = os.open(folder.resolve(), DIRECTORY)
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            missing.append(name)
            continue
        with closing_handle(handle):
            files += islice(_inside(handle, name, folder, ()), MOST_FILES + 1 - len(files))
    return Walk(tuple(files[:MOST_FILES]), tuple(missing), len(files) > MOST_FILES)


def read_text(found: LibraryFile) -> tuple[str, str] | None:
    """Return the text of a file without keys, and its encoding if that is a guess.

    None if it is gone, is no text, or is a private key. Blocks on the disk.
    """
    try:
        data = _content(found)
    except (OSError, RuntimeError):
        return None
    text, guess = (len(data) <= SIZE_CAP and decoded(data)) or ("\0", "")
    return None if "\0" in text or holds_private_key(text) else (remove_keys(text), guess)


def holds_private_key(text: str) -> bool:
    return _PRIVATE_KEY.search(text) is not None


def open_plain(found: LibraryFile) -> int:
    """Return a handle for reading a file. Raises OSError if it is gone, not readable, or no plain file."""
    handle = open_inside(found.folder, found.inside)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a plain file")
    return handle


def is_there(folder: Path, inside: Sequence[str]) -> bool:
    """Return True if a folder still holds a file. Blocks on the disk."""
    try:
        os.close(open_inside(folder, inside))
    except (OSError, RuntimeError):
        return False
    return True


def _inside(handle: int, name: str, folder: Path, names: tuple[str, ...]) -> Iterator[LibraryFile]:
    with os.scandir(handle) as entries:
        listed = sorted((entry for entry in entries if _is_fit(entry.name)), key=lambda entry: entry.name)
    for entry in listed:
        inside = (*names, entry.name)
        with suppress(OSError):  # just deleted, or not readable for the daemon
            if entry.is_dir(follow_symlinks=False) and len(inside) < _DEEPEST:
                with closing_handle(os.open(entry.name, DIRECTORY, dir_fd=handle)) as below:
                    yield from _inside(below, name, folder, inside)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                stamp = f"{status.st_size}:{status.st_mtime_ns}"
                if kind_of(entry.name) is not None or readable_instead(entry.name) is not None:
                    yield LibraryFile("/".join((name, *inside)), f"{stamp}:{DOCUMENTS_READ}", folder, inside)
                elif 0 < status.st_size <= SIZE_CAP:
                    yield LibraryFile("/".join((name, *inside)), stamp, folder, inside)


def _is_fit(name: str) -> bool:
    """Return True if a name can be cited, isn't hidden, no lock file of an office program and no key file's."""
    usual = name.isprintable() and not name.startswith((".", _MARK)) and name not in _PASSED_OVER
    return usual and not _DATABASE.search(name) and not _HOLDS_KEYS.fullmatch(name)


def _content(found: LibraryFile) -> bytes:
    """Return the content of a plain file, at most one byte more than the cap. Raises OSError."""
    with os.fdopen(open_plain(found), "rb") as opened:
        return opened.read(SIZE_CAP + 1)


MOST_LINES, MOST_CHARACTERS = 40, 1_500
"""The size limits of a passage."""
MOST_PASSAGES = 2_000
"""Passages of one file. The rest of the file is left out."""

_OPENS = re.compile(
    r"#{1,6}\s|={3,}|(?:@|(?:export |pub |public |private |static |async )*"
    r"(?:def|class|func|fn|function|struct|enum|impl|interface|trait|type|module|namespace|CREATE)\s)"
)


def cut(text: str) -> tuple[IndexedPassage, ...]:
    """Return passages with the number of their first line, from 1.

    Every line that is not blank is in exactly one passage. A line that is too long for a passage is cut into several
    passages, all with its number.
    """
    return tuple(IndexedPassage(line, body) for line, body in islice(_passages(text), MOST_PASSAGES))


def cut_sections(sections: Iterable[Section]) -> Iterator[IndexedPassage]:
    """Yield the passages of a document, numbered from 1, each with its section's place. None spans two sections."""
    bodies = ((one.place, body) for one in sections for _, body in _passages(one.text))
    return (IndexedPassage(number, body, place) for number, (place, body) in enumerate(bodies, start=1))


def _passages(text: str) -> Iterator[tuple[int, str]]:
    held: list[tuple[int, str]] = []
    size = 0
    for number, piece in _pieces(text):
        if held and (
            _is_full(len(held) + 1, size + len(piece)) or (_is_border(held[-1][1], piece) and _is_half(held, size))
        ):
            yield _joined(held)
            held, size = [], 0
        if held or piece.strip():  # a passage never begins with blank lines
            held.append((number, piece))
            size += len(piece) + 1
    if held:
        yield _joined(held)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, counted as editors do: only a line feed ends a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        whole = line.rstrip()
        for start in range(0, max(1, len(whole)), MOST_CHARACTERS):
            yield number, whole[start : start + MOST_CHARACTERS]


def _is_full(lines: int, characters: int) -> bool:
    return lines > MOST_LINES or characters > MOST_CHARACTERS


def _is_half(held: list[tuple[int, str]], characters: int) -> bool:
    return 2 * len(held) >= MOST_LINES or 2 * characters >= MOST_CHARACTERS


def _is_border(before: str, after: str) -> bool:
    return bool(after) and (not before or _OPENS.match(after) is not None)


def _joined(held: list[tuple[int, str]]) -> tuple[int, str]:
    return held[0][0], "\n".join(piece for _, piece in held).rstrip()


async def read_into_passages(file: LibraryFile, kind: DocumentKind) -> IndexedFile:
    """Return a document with its passages, or with a fault. Raises OSError if no process can start."""
    try:
        handle = await in_background(partial(open_plain, file))
    except OSError as error:
        return IndexedFile(file.path, file.stamp, (), fault=f"it can't be opened: {error.strerror}")
    try:
        document = await read_document(kind, handle)
    except DocumentUnreadable as error:
        return IndexedFile(file.path, file.stamp, (), fault=str(error))
    finally:
        os.close(handle)
    return await in_background(partial(_indexed, file, document))


def _indexed(file: LibraryFile, document: Document) -> IndexedFile:
    if any(holds_private_key(one.text) for one in document.sections):
        return IndexedFile(file.path, file.stamp, (), fault="it holds a private key (take the key out)")
    clean = (Section(remove_keys(one.place), remove_keys(one.text)) for one in document.sections)
    passages = tuple(islice(cut_sections(clean), MOST_PASSAGES + 1))
    fault = document.left_out
    if len(passages) > MOST_PASSAGES:
        passages = passages[:MOST_PASSAGES]
        fault = "; ".join(filter(None, (fault, f"it is long: it is searched to {passages[-1].place}")))
    return IndexedFile(file.path, file.stamp, passages, fault)
