"""Reads the admin's list of servers, `{"mcpServers": {"name": {…}}}`, and reports all errors in it at once."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from daemon.core.config.sources import written_by_others
from daemon.core.errors import ConfigError
from daemon.core.network import is_clear_text_abroad
from daemon.tools.mcp.key_files import with_keys

SIZE_CAP = 256 * 1024
"""Bytes of the largest file that is read."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_HINT = 'the form is {"mcpServers": {"name": {"command": "…", "args": ["…"]} or {"url": "https://…"}}}'
_SECTION = "mcpServers"

Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[^=\x00]+$")]
SlackUser = Annotated[str, StringConstraints(pattern=r"^[UW][A-Z0-9]{1,20}$")]
Text = Annotated[str, StringConstraints(pattern=r"^[^\x00]*$")]


def _filled_in(value: str) -> str:
    if found := re.search(r"\$\{[A-Za-z_]\w*", value):
        raise ValueError(
            f"{found[0]}}} is not filled in here; write the value, or name its file in env_files or header_files"
        )
    return value


def _streamable(kind: str) -> str:
    if kind not in {"http", "streamable-http", "streamableHttp"}:
        raise ValueError("must be http; for sse give the server's address of streamable HTTP, which often ends in /mcp")
    return kind


def _private(url: str) -> str:
    _filled_in(url)
    if is_clear_text_abroad(url):
        raise ValueError("must begin with https://; http:// is for this machine alone")
    return url


class _Entry(BaseModel):
    """Options of every server; `env_files` and `header_files` of the list name files that hold keys.

    `reads` names the tools that change and disclose nothing; all others ask for a click. With `trust_annotations` the
    server's own word counts too. `approvers` are the Slack ids of the users who may click; without any, those of
    SOUL_APPROVERS may. `timeout` is the seconds that a call may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: tuple[str, ...] = ()
    trust_annotations: bool = False
    approvers: tuple[SlackUser, ...] = ()
    timeout: float = Field(30.0, gt=0, le=600)


class StdioServer(_Entry):
    """A program that the daemon starts and talks to over standard input and output.

    Its environment is `env` plus what every program needs (HOME, PATH, USER and the like), nothing else. It works in an
    empty folder of its own unless `cwd` names one. `memory_mb` is the most memory that it may have, in MiB.
    """

    command: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]
    args: tuple[Text, ...] = ()
    env: dict[VariableName, Annotated[Text, AfterValidator(_filled_in)]] = Field(default_factory=dict)
    cwd: Path | None = None
    memory_mb: int = Field(1024, ge=32, le=1_048_576)
    type: Annotated[str, StringConstraints(pattern=r"^stdio$")] = "stdio"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that may be keys, for redaction."""
        return tuple(self.env.values())


class HttpServer(_Entry):
    """A server at a URL, over streamable HTTP."""

    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s]+[^\s]*$"), AfterValidator(_private)]
    headers: dict[HeaderName, Annotated[Line, AfterValidator(_filled_in)]] = Field(default_factory=dict)
    type: Annotated[str, AfterValidator(_streamable)] = "http"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that may be keys, for redaction; a URL can hold one too."""
        return (*self.headers.values(), self.url)


Server = StdioServer | HttpServer


class _RepeatedKey(ValueError):
    """A key occurs twice in one object; JSON readers would silently take the last."""


def read_servers(path: Path, *, keys: bool = True) -> Mapping[str, Server]:
    """The servers by name; without `keys`, files that hold keys are not read.

    Raises ConfigError with the file, and with the server and field of every error.
    """
    if fault := written_by_others(path):
        hint = f"it names programs that the daemon starts; if you know what it holds: chmod 600 {path}"
        raise ConfigError(f"{path} {fault}, so that it can't be trusted", hint=hint)
    entries = _entries(path)
    servers: dict[str, Server] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            problems.append(f"{name!r} can't be a server's name: use letters, digits, _ . and -, at most 40")
        elif not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
            problems.append(f"{name}: must have either a command or a url")
        else:
            kind = StdioServer if "command" in entry else HttpServer
            complete, faults = with_keys(entry, read=keys)
            problems += [f"{name}: {fault}" for fault in faults]
            try:
                servers[name] = kind.model_validate(complete)
            except ValidationError as error:
                # the input may be a key and is never repeated
                errors = error.errors(include_input=False, include_url=False)
                problems += [f"{name}: {'.'.join(map(str, one['loc']))}: {_plain(one['msg'])}" for one in errors]
    if problems:
        raise ConfigError(f"{path} is not valid: {'; '.join(problems)}", hint=_HINT)
    return servers


def _entries(path: Path) -> Mapping[str, object]:
    """The `mcpServers` section; its entries are not checked yet."""
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
    except _RepeatedKey as error:
        raise ConfigError(f"{path} names {str(error)!r} twice in one place", hint=_HINT) from None
    section = content.get(_SECTION) if isinstance(content, dict) else None
    if not isinstance(section, dict):
        raise ConfigError(f"{path} has no section {_SECTION!r}", hint=_HINT)
    return section


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _RepeatedKey(name)
        found[name] = value
    return found


def _plain(message: str) -> str:
    return "has an invalid form" if "pattern" in message else message[:1].lower() + message[1:]
