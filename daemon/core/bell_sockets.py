"""The sockets by which processes that share SOUL_HOME ring each other, and which tell whether a process still listens.

A datagram socket that a process has bound refuses every sender from the moment of that process's death on, of whatever
user or namespace both are. So a refusal is a proof of death that needs no /proc, on one host and boot.
"""

import os
import secrets
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "bells"
"""Of SOUL_HOME: one socket a process."""

STATE: Final = b"s"
"""What souls and people share has changed."""

WORK: Final = b"w"
"""There is something to do: a message, a post or a job waits."""

_LONGEST_PATH: Final = 100  # bytes; systems allow 104 to 108
_MOST_DATAGRAMS: Final = 1_000  # read at once
_SIZE: Final = 16
_UNREADY: Final = "."  # what the name of a socket begins with that is not bound yet


def hang(folder: Path, stem: str) -> tuple[socket.socket, Path] | None:
    """Bind a socket that hears rings, named by `stem` and a random end.

    None where the file system allows none. It gets its name when it is bound already, so that no one who looks in
    between finds a socket that refuses.
    """
    path = folder / f"{stem}-{secrets.token_hex(2)}"
    unready = folder / f"{_UNREADY}{path.name}"
    try:
        own = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own.setblocking(False)
        with _address(unready) as address:
            own.bind(address)
        unready.chmod(0o600)
        unready.rename(path)
    except OSError:
        own.close()
        return None
    return own, path


def take_in(own: socket.socket) -> bytes:
    """The words of all rings that have arrived."""
    words = b""
    with suppress(BlockingIOError):
        for _ in range(_MOST_DATAGRAMS):
            words += own.recv(_SIZE)
    return words


def bells_in(folder: Path, stem: str = "") -> list[Path]:
    """The sockets in a folder whose names begin with `stem`; those of dead processes, too."""
    try:
        return [bell for bell in folder.iterdir() if bell.name.startswith(stem) and not bell.name.startswith(_UNREADY)]
    except OSError:
        return []


def ring_all(bells: Iterable[Path], word: bytes) -> list[str]:
    """Ring bells; gives the names of those that refused, since their processes are dead."""
    return [bell.name for bell in bells if _try(bell, word) is False]


def listens(bell: Path) -> bool | None:
    """Whether a process listens at a bell, which is not rung; None where that can't be seen from here."""
    return _try(bell, b"")


@contextmanager
def _address(path: Path) -> Iterator[str]:
    """The path, or where it is too long for a socket a short one to the same place. Raises OSError."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _try(bell: Path, word: bytes) -> bool | None:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line, _address(bell) as address:
            line.setblocking(False)
            if word:
                line.sendto(word, address)
            else:
                line.connect(address)
    except ConnectionRefusedError:
        return False
    except BlockingIOError:  # its queue is full: it has rings to take in
        return True
    except OSError:  # it has just gone, belongs to another user, or no socket can be had now
        return None
    return True
