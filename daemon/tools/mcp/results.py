"""Reads what an MCP server sends, all of it foreign text: its list of tools, and the output of a call."""

import hashlib
import json
import re
from typing import TYPE_CHECKING

from pydantic import ValidationError

from daemon.core.ports.tools import Tool
from daemon.tools.mcp.clean_text import clean, short_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp import types
    from mcp.shared.message import SessionMessage

    from daemon.tools.mcp.server_config import Server

LONGEST_OUTPUT = 6_000
"""Characters of a tool's output that are kept."""
MOST_TOOLS = 100
"""Tools of one server; the rest are left out."""

_LONGEST_DESCRIPTION = 1_000
_MOST_NAMED = 8  # reasons in a line of the log, and tools for each
_LONGEST_SCHEMA = 16_000  # characters, as JSON
_TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,127}")  # the names that the protocol allows


def drop_malformed(message: "SessionMessage | Exception", version: str, dropped: dict[str, str]) -> None:
    """Leave out of a list of tools those for which the SDK would refuse the whole list, and say why for each."""
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
    """The tools of one server that a model may see, each once; and why the others are left out, by name."""
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
    """Which tools were left out and why, for the log: each reason once, with the first tools that have it."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(short_line(reason, 200), []).append(short_line(name, 60))
    return "; ".join(f"{_named(names)}: {reason}" for reason, names in list(by_reason.items())[:_MOST_NAMED])


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _only_reads(tool: "types.Tool", server: "Server") -> bool:
    """Whether a tool may be used without a click: the admin says so, never the tool alone (its hints are untrusted).

    One that says of itself that it destroys always asks. Where the admin trusts a server's hints, one that says that it
    reaches out into the world asks too: what it is given leaves the house.
    """
    hints = tool.annotations
    if hints is not None and hints.destructive_hint is True:
        return False
    if tool.name in server.reads:
        return True
    trusted = server.trust_annotations and hints is not None
    return trusted and hints is not None and hints.read_only_hint is True and hints.open_world_hint is not True


def _fingerprint(tool: "types.Tool") -> str:
    """Stands for all that steers the use of a tool: its name, its words, the schema of its arguments and its hints."""
    said = tool.model_dump(
        mode="json", by_alias=True, include={"name", "title", "description", "input_schema", "annotations"}
    )
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def read_output(result: "types.CallToolResult") -> str:
    """All texts of a result, joined; other parts are only named. Without any, the structured content as JSON."""
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
    """JSON with every text and every key in it cleaned."""
    if isinstance(value, str):
        return clean(value, _LONGEST_DESCRIPTION)
    if isinstance(value, dict):
        return {clean(str(name), _LONGEST_DESCRIPTION): _harmless(inner) for name, inner in value.items()}
    return [_harmless(inner) for inner in value] if isinstance(value, list) else value
