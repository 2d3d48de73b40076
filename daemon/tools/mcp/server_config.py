"""Reads the admin's list of servers, `{"mcpServers": {"name": {…}}}`, and tells every fault of it at once."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from daemon.core.errors import ConfigError

SIZE_CAP = 256 * 1024
"""Bytes the file may have."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_HINT = 'the form is {"mcpServers": {"name": {"command": "…", "args": ["…"]} or {"url": "https://…"}}}'
_SECTION = "mcpServers"

Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[^=\x00]+$")]
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]


class _Entry(BaseModel):
    """What every server may say: `reads` names tools that change nothing, `timeout` the seconds a call may take."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: tuple[str, ...] = ()
    timeout: float = Field(30.0, gt=0, le=600)


class StdioServer(_Entry):
    """A program that is started and spoken to over its standard input and output.

    It gets `env` and what every program needs to run (HOME, PATH, USER and the like), nothing else of ours.
    """

    command: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]
    args: tuple[Text, ...] = ()
    env: dict[VariableName, Text] = Field(default_factory=dict)
    cwd: Path | None = None
    type: Annotated[str, StringConstraints(pattern=r"^stdio$")] = "stdio"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that may be keys, for redaction."""
        return tuple(self.env.values())


class HttpServer(_Entry):
    """A server that is reached at an address, by streamable HTTP."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s]+[^\s]*$")]
    headers: dict[HeaderName, Line] = Field(default_factory=dict)
    type: Annotated[str, StringConstraints(pattern=r"^(http|streamable-http|streamableHttp)$")] = "http"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that may be keys, for redaction; an address can carry one too."""
        return (*self.headers.values(), self.url)


Server = StdioServer | HttpServer


class _Twice(ValueError):
    """One object of the file names something twice, of which only the last would count."""


def read_servers(path: Path) -> Mapping[str, Server]:
    """The servers by name. Raises ConfigError that names the file and, of every fault, the server and the field."""
    entries = _entries(path)
    servers: dict[str, Server] = {}
    faults: list[str] = []
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            faults.append(f"{name!r} can't be a server's name: use letters, digits, _ . and -, at most 40")
        elif not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
            faults.append(f"{name}: must have either a command or a url")
        else:
            kind = StdioServer if "command" in entry else HttpServer
            try:
                servers[name] = kind.model_validate(entry)
            except ValidationError as error:
                # what was typed may be a key and is never repeated
                told = error.errors(include_input=False, include_url=False)
                faults += [f"{name}: {'.'.join(map(str, fault['loc']))}: {_plain(fault['msg'])}" for fault in told]
    if faults:
        raise ConfigError(f"{path} is not valid: {'; '.join(faults)}", hint=_HINT)
    return servers


def _entries(path: Path) -> Mapping[str, object]:
    """The section of the file, unchecked inside."""
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_CAP + 1)
        if len(data) > SIZE_CAP:
            raise ConfigError(f"{path} is larger than {SIZE_CAP // 1024} KiB", hint=_HINT)
        content = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_without_repeats)
    except OSError as error:
        hint = "check SOUL_MCP_SERVERS, and that the daemon's user may read the file"
        raise ConfigError(f"{path} can't be read: {(error.strerror or str(error)).lower()}", hint=hint) from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{path} is not valid JSON: {error.msg.lower()} in {where}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text in UTF-8", hint=_HINT) from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply", hint=_HINT) from None
    except _Twice as error:
        raise ConfigError(f"{path} names {str(error)!r} twice in one place", hint=_HINT) from None
    section = content.get(_SECTION) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise ConfigError(f"{path} has no section {_SECTION!r}", hint=_HINT)
    return section


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(name)
        found[name] = value
    return found


def _plain(message: str) -> str:
    return "is written in a way that can't be used" if "pattern" in message else message[:1].lower() + message[1:]
