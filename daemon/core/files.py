"""Files below a folder, each written whole or not at all and through no link, and secrets in files."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from daemon.core.errors import ConfigError, StoreError
from daemon.core.ports.services import Emit

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


class PathBlocked(StoreError):
    """Raised when a link or another obstacle blocks the path of a file. Nothing was written."""


def write_file(root: Path, path: str, content: bytes, *, durable: bool = True) -> bool:
    """Write a file below a folder, unless its content is already there. Return true if it was written.

    For many files: pass `durable=False` and call `os.sync` at the end. Raises PathBlocked where a link blocks the path,
    OSError where the file can't be written.
    """
    target = _inside(root, path)
    with suppress(OSError):
        if not target.is_symlink() and target.stat().st_size == len(content) and target.read_bytes() == content:
            return False
    _make_folder(target.parent)
    fresh = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, _FILE_MODE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(handle)
        fresh.replace(target)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    return True


def remove_file(root: Path, path: str) -> None:
    """Delete a file below a folder, and the folders that are empty then. Raises as `write_file` does."""
    target = _inside(root, path)
    target.unlink(missing_ok=True)
    for parent in target.parents:
        if parent == root or not parent.is_relative_to(root):
            return
        try:
            parent.rmdir()
        except OSError:
            return


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)


def _inside(root: Path, path: str) -> Path:
    """Return the path below the folder. Raises PathBlocked for a path that leads out of it."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} or "\x00" in part for part in parts):
        raise PathBlocked(f"{path!r} leads out of its folder", hint="nothing to do: nothing was written")
    step = root
    for part in parts[:-1]:
        step = step / part
        if step.is_symlink():
            raise PathBlocked(f"{step} is a link", hint="files are written into plain folders: move the link away")
    return step / parts[-1]


_SHORTEST: Final = 16  # characters; a shorter secret is a torn file or a guess


def kept_secret(path: Path, emit: Emit, *, hint: str = "make the home folder writable for the daemon") -> str:
    """Return the secret in a file, which the first call makes. Safe for two processes at once. Blocks shortly.

    A secret that other users could read is replaced. Raises ConfigError with the hint.
    """
    try:
        if not path.exists():
            _make(path)
        return _read(path, emit)
    except OSError as error:
        raise ConfigError(f"{path} can't be read or made: {error.strerror}", hint=hint) from error


def _make(path: Path) -> None:
    """Put a complete new secret in place, unless another process was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it never replaces a secret that another process has given out
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path, emit: Emit) -> str:
    found = path.stat()
    if found.st_mode & 0o077:
        if path.stat().st_ino == found.st_ino:  # else another process has just replaced it
            path.unlink()
        _make(path)
        note = "other users could read the secret, so that it is void; the file has a new one, which clients need"
        emit("secrets.seen", file=path.name, note=note)
    try:
        secret = path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        secret = ""
    if len(secret) < _SHORTEST or not secret.isprintable() or " " in secret:
        raise ConfigError(f"{path} holds no valid secret", hint="delete it; the next start makes a new one")
    return secret
