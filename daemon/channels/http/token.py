"""The bearer token of the HTTP door: taken from the settings, or made at the first start and kept in the home."""

import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.ports import Emit

FILE: Final = "http.token"
_SHORTEST: Final = 16  # characters; less is a torn file or a guess
_HINT: Final = "set SOUL_HTTP_TOKEN, or make the home writable for the daemon"


def bearer_token(settings: Settings, emit: Emit) -> str:
    """The token in force. Reads and writes a small file; two daemons that start at once agree. Raises ConfigError."""
    if settings.http_token is not None:
        return settings.http_token.get_secret_value()
    path = settings.home / FILE
    try:
        if not path.exists():
            _make(path)
        return _read(path, emit)
    except OSError as error:
        raise ConfigError(f"{path} can't be read or made: {error.strerror}", hint=_HINT) from error


def same(token: str, given: str) -> bool:
    """Whether they are equal, in a time that tells nothing about the token."""
    return hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogateescape"))


def _make(path: Path) -> None:
    """Put a whole new token in place, unless somebody else was faster."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{FILE}-{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it never replaces the token that another start has handed out
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path, emit: Emit) -> str:
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
        emit("http.secrecy_lost", file=FILE, note="others could read the token; delete the file to have a new one made")
    try:
        token = path.read_text(encoding="ascii").strip()
    except UnicodeDecodeError:
        token = ""
    if len(token) < _SHORTEST or not token.isprintable() or " " in token:
        raise ConfigError(f"{path} holds no token", hint="delete it; the next start makes a new one")
    return token
