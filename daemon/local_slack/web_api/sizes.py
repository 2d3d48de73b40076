"""Slack's size limits of a message, and its error names for a message that is too large or malformed."""

import json
import re
from typing import Final

from daemon.local_slack.model import Json
from daemon.local_slack.web_api.call import SlackError

TEXT: Final = 40_000
UPDATE_TEXT: Final = 4_000  # bytes after escaping
STREAM: Final = 10_600  # bytes of a stream's text and titles, and twice those of its details
MARKDOWN: Final = 12_000
ALL_BLOCKS: Final = 13_200
BLOCKS: Final = 50
VIEW_BLOCKS: Final = 100
SECTION: Final = 3_000
HEADER: Final = 150
IDENTIFIER: Final = 255
BUTTON: Final = 75
VALUE: Final = 2_000
NAME: Final = 80
METADATA: Final = 16_000
_AMPERSAND: Final = re.compile(r"&(?!(?:amp|lt|gt);)")
_ELEMENTS: Final = {"actions": 25, "context": 10, "context_actions": 5}


def check_markdown(text: str) -> None:
    """Raise `msg_too_long` beyond 12,000 characters."""
    if len(text) > MARKDOWN:
        raise SlackError("msg_too_long")


def check_update(text: str) -> None:
    """Raise `msg_too_long` beyond 4,000 bytes after escaping."""
    if bytes_of(text) > UPDATE_TEXT:
        raise SlackError("msg_too_long")


def check_stream(text: str, chunks: tuple[Json, ...]) -> None:
    """Raise `msg_too_long` for a stream that shows more than its budget."""
    once = sum(bytes_of(str(chunk.get("title", ""))) for chunk in chunks)
    twice = sum(bytes_of(str(chunk.get(name, ""))) for chunk in chunks for name in ("details", "output"))
    if len(text.encode()) + once + 2 * twice > STREAM:
        raise SlackError("msg_too_long")


def bytes_of(text: str) -> int:
    """Return the bytes of a text after Slack's escaping of what isn't escaped yet."""
    return (
        len(text.encode("utf-8", "replace"))
        + 4 * len(_AMPERSAND.findall(text))
        + 3 * (text.count("<") + text.count(">"))
    )


def check_blocks(blocks: tuple[Json, ...], most: int = BLOCKS) -> None:
    """Raise `invalid_blocks` for a malformed list, `msg_blocks_too_long` for too much text in all."""
    if len(blocks) > most:
        raise _invalid(f"no more than {most} items allowed [json-pointer:/blocks]")
    for place, block in enumerate(blocks):
        _check_block(block, f"/blocks/{place}")
    markdown = sum(len(str(block.get("text", ""))) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN or sum(_length(block) for block in blocks) > ALL_BLOCKS:
        raise SlackError("msg_blocks_too_long")


def check_metadata(metadata: object) -> Json | None:
    """Return the metadata of a message, or None. Raises `invalid_metadata_format`, `metadata_too_large`."""
    if metadata is None:
        return None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
        raise SlackError("invalid_metadata_format")
    if not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format")
    if len(json.dumps(metadata)) > METADATA:
        raise SlackError("metadata_too_large")
    return metadata


def _check_block(block: Json, pointer: str) -> None:
    kind = block.get("type")
    if not isinstance(kind, str) or not kind:
        raise _invalid(f"missing required field: type [json-pointer:{pointer}]")
    if len(str(block.get("block_id", ""))) > IDENTIFIER:
        raise _invalid(f"must be less than 256 characters [json-pointer:{pointer}/block_id]")
    text = block.get("text")
    words = str(text.get("text", "")) if isinstance(text, dict) else ""
    most = {"section": SECTION, "header": HEADER}.get(kind)
    if most is not None and len(words) > most:
        raise _invalid(f"must be less than {most + 1} characters [json-pointer:{pointer}/text/text]")
    elements = block.get("elements")
    if kind in _ELEMENTS and (not isinstance(elements, list) or not 0 < len(elements) <= _ELEMENTS[kind]):
        raise _invalid(f"1 to {_ELEMENTS[kind]} items needed [json-pointer:{pointer}/elements]")
    if kind == "actions":
        _check_elements(block["elements"], f"{pointer}/elements")
    if kind == "markdown" and not isinstance(text, str):
        raise _invalid(f"must be a string [json-pointer:{pointer}/text]")
    if kind == "section" and not words and not block.get("fields"):
        raise _invalid(f"missing required field: text or fields [json-pointer:{pointer}]")


def _check_elements(elements: list[Json], pointer: str) -> None:
    ids = [element.get("action_id") for element in elements if element.get("action_id")]
    if len(set(ids)) < len(ids):
        raise _invalid(f"action_id already exists for another element [json-pointer:{pointer}]")
    for element in elements:
        words = str((element.get("text") or {}).get("text", ""))
        if element.get("type") == "button" and not 0 < len(words) <= BUTTON:
            raise _invalid(f"1 to {BUTTON} characters needed [json-pointer:{pointer}/text]")
        if len(str(element.get("accessibility_label", ""))) > BUTTON or len(str(element.get("value", ""))) > VALUE:
            raise _invalid(f"must be shorter [json-pointer:{pointer}]")
        if element.get("style") not in (None, "primary", "danger"):
            raise _invalid(f"unknown style [json-pointer:{pointer}/style]")


def _length(value: object) -> int:
    if isinstance(value, dict):
        return sum(len(v) if k == "text" and isinstance(v, str) else _length(v) for k, v in value.items())
    return sum(_length(item) for item in value) if isinstance(value, list) else 0


def _invalid(reason: str) -> SlackError:
    return SlackError("invalid_blocks", errors=[reason], response_metadata={"messages": [f"[ERROR] {reason}"]})
