"""Reads what an MCP server sends, all of it foreign text: its list of tools, and the output of a call."""

import json
import re
from typing import TYPE_CHECKING

from daemon.core.ports import Tool
from daemon.tools.mcp.clean_text import clean, short_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp import types

LONGEST_OUTPUT = 16_000
"""Characters of a tool's output that are shown."""
MOST_TOOLS = 100
"""Tools of one server; the rest are left out."""

_LONGEST_DESCRIPTION = 1_000
_LONGEST_SCHEMA = 16_000  # characters, as JSON
_TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,127}")  # the names that the protocol allows


def read_offer(server: str, tools: "Iterable[types.Tool]", reads: "Sequence[str]") -> tuple[Tool, ...]:
    """The tools of one server that a model may see, each once.

    A tool writes unless it declares itself read-only or the admin does (`reads`). A tool with an invalid name or an
    overlong schema is left out.
    """
    found: dict[str, Tool] = {}
    for tool in tools:
        if len(found) == MOST_TOOLS:
            break
        parameters = _harmless(tool.input_schema)
        fits = _TOOL_NAME.fullmatch(tool.name) and len(json.dumps(parameters)) <= _LONGEST_SCHEMA
        if fits and isinstance(parameters, dict):
            reading = tool.name in reads or (tool.annotations is not None and tool.annotations.read_only_hint is True)
            name = f"{server}/{tool.name}"
            description = clean(tool.description or tool.title or "", _LONGEST_DESCRIPTION)
            found.setdefault(name, Tool(name, description, parameters, writes=not reading))
    return tuple(found.values())


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
