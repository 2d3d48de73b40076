"""Secrets that the daemon makes for itself and keeps in its home folder, each in a file that only its account reads."""

import os
import secrets
from pathlib import Path
from typing import Final

from daemon.core.errors import ConfigError
from daemon.core.ports.telemetry import Emit

_SHORTEST: Final = 16  # characters; a shorter secret is a torn file or a guess


def kept_secret(path: Path, emit: Emit, *, hint: str = "make the home folder writable for the daemon") -> str:
    """The secret in a file, made by the first who asks; two processes that ask at once agree. Blocks shortly.

    One that others could read is void: a new one takes its place. Raises ConfigError with the hint.
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
        if path.stat().st_ino == found.st_ino:  # else another process has replaced it meanwhile
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
