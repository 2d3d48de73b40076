"""The admin's list of MCP servers, `{"mcpServers": {"name": {…}}}`, and the reading of tools and their output."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from daemon.core.config import environment
from daemon.core.config.sources import written_by_others
from daemon.core.errors import ConfigError
from daemon.core.http import is_clear_text_abroad
from daemon.core.ports.library import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp import types
    from mcp.shared.message import SessionMessage


_KINDS = {"env_files": "env", "header_files": "headers"}


def with_keys(entry: dict[str, object], *, read: bool) -> tuple[dict[str, object], list[str]]:
    """Return an entry with the values of `env_files` and `header_files` in `env` and `headers`, and its errors.

    A file is named by its path, or as `name` if systemd gave the service a credential `tools_name`. Without `read` the
    files are left alone, to check the list from outside the service.
    """
    entry, problems = dict(entry), list[str]()
    for field, target in _KINDS.items():
        files = entry.pop(field, {})
        values = entry.get(target, {})
        if not isinstance(files, dict) or not isinstance(values, dict):
            problems.append(f"{field}: must be an object of names and files")
            continue
        for name, file in files.items():
            if not isinstance(file, str) or not file:
                problems.append(f"{field}.{name}: must be the name of a file")
            elif read:
                try:
                    values = values | {name: _path(file).read_text(encoding="utf-8").strip()}
                except (OSError, UnicodeDecodeError, RuntimeError) as error:
                    reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
                    problems.append(f"{field}.{name}: {_path(file)} can't be read: {(reason or '').lower()}")
        if files and read:
            entry[target] = values
    return entry, problems


def _path(file: str) -> Path:
    if "/" in file:
        return Path(file).expanduser()
    return Path(environment().get("CREDENTIALS_DIRECTORY", "")) / f"tools_{file}"


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
    """The options of every server. `env_files` and `header_files` of the list name files that hold keys.

    `reads` names the tools that change and disclose nothing. All others ask for a click. With `trust_annotations` the
    server's own hints count too. `approvers` are the Slack ids of the users who may click. Without any, those of
    SOUL_APPROVERS may. `timeout` is the seconds that a call may take.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: tuple[str, ...] = ()
    trust_annotations: bool = False
    approvers: tuple[SlackUser, ...] = ()
    timeout: float = Field(30.0, gt=0, le=600)


class StdioServer(_Entry):
    """A program that the daemon starts and talks to over standard input and output.

    Its environment is `env` and the usual variables (HOME, PATH, USER and the like), nothing else. It works in a new
    empty folder unless `cwd` names one. `memory_mb` is its memory limit, in MiB.
    """

    command: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\x00]+$")]
    args: tuple[Text, ...] = ()
    env: dict[VariableName, Annotated[Text, AfterValidator(_filled_in)]] = Field(default_factory=dict)
    cwd: Path | None = None
    memory_mb: int = Field(1024, ge=32, le=1_048_576)
    type: Annotated[str, StringConstraints(pattern=r"^stdio$")] = "stdio"

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self.env.values())


class HttpServer(_Entry):
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^/?#\s]+[^\s]*$"), AfterValidator(_private)]
    headers: dict[HeaderName, Annotated[Line, AfterValidator(_filled_in)]] = Field(default_factory=dict)
    type: Annotated[str, AfterValidator(_streamable)] = "http"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*self.headers.values(), self.url)


Server = StdioServer | HttpServer


class _RepeatedKey(ValueError):
    """A key occurs twice in one object. JSON readers would silently take the last."""


def read_servers(path: Path, *, keys: bool = True) -> Mapping[str, Server]:
    """Return the servers by name. Without `keys`, files that hold keys are not read.

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
    """Return the `mcpServers` section, whose entries are not checked yet."""
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


_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_VARIATION_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_HANGUL_FILLERS = (0x115F, 0x1160, 0x3164, 0xFFA0)
_INVISIBLE = frozenset(map(chr, (*_VARIATION_SELECTORS, *_HANGUL_FILLERS)))
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"))
_LOOK_AHEAD = 4  # times the limit: the part of a text that is searched for visible characters


def clean(text: str, limit: int) -> str:
    """Return at most `limit` visible characters of a text. A note gives the number of characters left out.

    Line breaks and tabs stay. Removed are controls, bidirectional and zero-width marks, tags, private and unassigned
    characters, and variation selectors. All of them can carry text that a reader doesn't see.
    """
    window = text[: _LOOK_AHEAD * limit].replace("\r\n", "\n").translate(_LINE_ENDS)
    visible = "".join(filter(_is_visible, window)).strip()
    missing = len(text) - _LOOK_AHEAD * limit if len(text) > _LOOK_AHEAD * limit else 0
    missing += max(0, len(visible) - limit)
    return f"{visible[:limit]}\n… [{missing} more characters left out]" if missing else visible


def short_line(text: str, limit: int) -> str:
    """Return visible characters like `clean`, on one line and cut without a note, for names, reasons and log lines."""
    return " ".join(clean(text[: _LOOK_AHEAD * limit], _LOOK_AHEAD * limit).split())[:limit].rstrip()


def _is_visible(character: str) -> bool:
    if character in "\n\t":
        return True
    return character not in _INVISIBLE and unicodedata.category(character) not in _INVISIBLE_CATEGORIES


LONGEST_OUTPUT = 6_000
"""Characters of a tool's output that are kept."""
MOST_TOOLS = 100
"""Tools of one server. The rest are left out."""

_LONGEST_DESCRIPTION = 1_000
_MOST_NAMED = 8  # reasons in a log line, and tools for each
_LONGEST_SCHEMA = 16_000  # characters, as JSON
_TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,127}")  # the names that the protocol allows


def drop_malformed(message: "SessionMessage | Exception", version: str, dropped: dict[str, str]) -> None:
    """Remove the tools from a list for which the SDK would refuse the whole list, and record the reason for each."""
    from mcp_types import JSONRPCResponse, methods

    answer = None if isinstance(message, Exception) else message.message
    listed = answer.result.get("tools") if isinstance(answer, JSONRPCResponse) else None
    if not isinstance(answer, JSONRPCResponse) or not isinstance(listed, list):
        return
    try:
        methods.validate_server_result("tools/list", version, answer.result)
    except ValidationError as error:
        faults = {
            int(nth): f"{'.'.join(map(str, place)) or 'it'}: {one['msg'][:1].lower()}{one['msg'][1:]}"
            for one in reversed(error.errors(include_input=False, include_url=False))
            for kind, nth, *place in [one["loc"]]
            if kind == "tools"
        }
        answer.result["tools"] = [tool for nth, tool in enumerate(listed) if nth not in faults]
        for nth, fault in faults.items():
            called = listed[nth].get("name") if isinstance(listed[nth], dict) else None
            dropped[str(called or f"number {nth + 1}")] = fault


def read_offer(
    name: str, tools: "Iterable[types.Tool]", server: "Server"
) -> "tuple[tuple[Tool, ...], Mapping[str, str]]":
    """Return the tools of one server that a model may see, each once, and the reasons for the omitted ones by name."""
    found: dict[str, Tool] = {}
    left_out: dict[str, str] = {}
    for tool in tools:
        parameters = _harmless(tool.input_schema)
        if f"{name}/{tool.name}" in found:
            left_out[tool.name] = "it is listed twice"
        elif len(found) == MOST_TOOLS:
            left_out[tool.name] = f"there are {MOST_TOOLS} before it"
        elif not _TOOL_NAME.fullmatch(tool.name):
            left_out[tool.name] = "its name may hold A-Z, a-z, 0-9 and _ . / - alone, and 128 of them"
        elif len(json.dumps(parameters)) > _LONGEST_SCHEMA:
            left_out[tool.name] = f"the schema of its arguments has more than {_LONGEST_SCHEMA:,} characters"
        elif isinstance(parameters, dict):
            known = Tool(
                name=f"{name}/{tool.name}",
                description=clean(tool.description or tool.title or "", _LONGEST_DESCRIPTION),
                parameters=parameters,
                writes=not _only_reads(tool, server),
                fingerprint=_fingerprint(tool),
                destroys=tool.annotations is not None and tool.annotations.destructive_hint is True,
                approvers=server.approvers,
            )
            found[known.name] = known
    return tuple(found.values()), left_out


def left_out_line(left_out: "Mapping[str, str]") -> str:
    """Return the omitted tools for the log: each reason once, with its first tools."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(short_line(reason, 200), []).append(short_line(name, 60))
    return "; ".join(f"{_named(names)}: {reason}" for reason, names in list(by_reason.items())[:_MOST_NAMED])


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _only_reads(tool: "types.Tool", server: "Server") -> bool:
    """Return True if a tool may be used without a click. The admin decides, since a tool's own hints are untrusted.

    A tool with a destructive hint always asks. If the admin trusts a server's hints, a tool with an open-world hint
    asks too: its arguments leave the machine.
    """
    hints = tool.annotations
    if hints is not None and hints.destructive_hint is True:
        return False
    if tool.name in server.reads:
        return True
    trusted = server.trust_annotations and hints is not None
    return trusted and hints is not None and hints.read_only_hint is True and hints.open_world_hint is not True


def _fingerprint(tool: "types.Tool") -> str:
    """Return a hash of all that steers the use of a tool: name, texts, schema of the arguments, and hints."""
    said = tool.model_dump(
        mode="json", by_alias=True, include={"name", "title", "description", "input_schema", "annotations"}
    )
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def read_output(result: "types.CallToolResult") -> str:
    """Return all texts of a result, joined. Other parts are only named. Without any, the structured content as JSON."""
    text = "\n\n".join(filter(None, map(_text_of, result.content)))
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False, indent=1)
    return clean(text, LONGEST_OUTPUT) or "(no output)"


def _text_of(block: "types.ContentBlock") -> str:
    if block.type == "text":
        return block.text
    if block.type == "resource":
        text = getattr(block.resource, "text", None)
        return f"{block.resource.uri}\n{text}" if text is not None else f"[a file: {block.resource.uri}]"
    if block.type == "resource_link":
        return f"[a link: {short_line(block.name, 200)} {block.uri}]"
    return f"[{block.type}: {short_line(block.mime_type, 100)}, about {len(block.data) * 3 // 4096} KiB]"


def _harmless(value: object) -> object:
    if isinstance(value, str):
        return clean(value, _LONGEST_DESCRIPTION)
    if isinstance(value, dict):
        return {clean(str(name), _LONGEST_DESCRIPTION): _harmless(inner) for name, inner in value.items()}
    return [_harmless(inner) for inner in value] if isinstance(value, list) else value
