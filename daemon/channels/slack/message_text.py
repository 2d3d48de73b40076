"""The text of Slack's messages: markup, forwarded messages, blocks and attachments of alerts."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from daemon.core.text import one_line, storable

LONGEST: Final = 40_000  # characters; Slack's own cap for one message
_CUT: Final = " […]"

_ANGLE: Final = re.compile(r"<([^<>\s][^<>\n]{0,3000})>")
_PERSON: Final = re.compile(r"<@([A-Za-z0-9]{2,24})(?:\|[^<>]*)?>")
_GROUP: Final = re.compile(r"<!subteam\^([A-Za-z0-9]+)(?:\|[^<>]*)?>")
_UNWANTED: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ENTITIES: Final[Mapping[str, str]] = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ENTITY: Final = re.compile("|".join(_ENTITIES))


def clean(text: str) -> str:
    """Return text without lone surrogates and control characters, cut to `LONGEST`."""
    whole = _UNWANTED.sub("", storable(text).replace("\r\n", "\n").replace("\r", "\n"))
    return whole if len(whole) <= LONGEST else whole[: LONGEST - len(_CUT)] + _CUT


def label(text: str, limit: int = 80) -> str:
    return one_line(clean(text))[:limit].strip()


def people_in(raw: str) -> tuple[str, ...]:
    return tuple(_PERSON.findall(raw))


def groups_in(raw: str) -> tuple[str, ...]:
    return tuple(_GROUP.findall(raw))


def for_others(raw: str, own: str, own_groups: Collection[str] = ()) -> bool:
    """Return True if raw markup begins with a mention of another user, or mentions others but not `own`.

    A mention of one of `own_groups`, which hold the soul, is a mention of the soul.
    """
    start = raw.lstrip()
    first, first_group = _PERSON.match(start), _GROUP.match(start)
    if (first_group and first_group[1] not in own_groups) or (first and first[1] != own):
        return True
    people, groups = people_in(raw), groups_in(raw)
    return own not in people and not set(own_groups).intersection(groups) and bool(people or groups)


def readable(raw: str, own: str) -> str:
    """Return raw markup as plain text: mentions of `own` removed, `<@U2>` kept, links as `label (url)`."""
    text = _without(clean(raw), own)
    pieces, end = [], 0
    for token in _ANGLE.finditer(text):
        pieces.append(_unescape(text[end : token.start()]))
        pieces.append(_token(token[1]))
        end = token.end()
    pieces.append(_unescape(text[end:]))
    return clean("".join(pieces)).strip()


def _without(text: str, own: str) -> str:
    mention = rf"<@{re.escape(own)}(?:\|[^<>]*)?>"
    return re.sub(rf"[ \t]?{mention}", "", re.sub(rf"\A\s*{mention}[\s,:]*", "", text))


def _token(inner: str) -> str:
    """Return one `<…>` of Slack's markup as plain text."""
    target, _, shown = inner.partition("|")
    target, shown = _unescape(target), _unescape(shown)
    if target.startswith("@"):
        return f"<{target}>"
    if target.startswith("#"):
        return f"#{shown or target[1:]}"
    if target.startswith("!"):
        return _command(target[1:], shown)
    address = target.removeprefix("mailto:")
    return (
        address if not shown or shown in (address, target) or address.endswith(f"//{shown}") else f"{shown} ({address})"
    )


def _command(name: str, shown: str) -> str:
    if name.startswith("date^"):
        return shown or name
    if not shown and _GROUP.fullmatch(f"<!{name}>"):
        return f"<!{name}>"  # its handle is looked up later, like users' names
    word = shown or name.partition("^")[0]
    return word if word.startswith("@") else f"@{word}"


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text)


_DEEPEST: Final = 3  # forwards within forwards
_INDENTS: Final = 8  # levels of a list
_LINES: Final = 200
_LONGEST: Final = 8_000  # characters of all attachments and blocks of one message
_LEFT_OUT: Final = "[more of it was left out here]"
_UNKNOWN: Final = "[a part of it is of a kind that can't be read here: {kind}]"
_KNOWN: Final = frozenset(
    {"actions", "context", "context_actions", "divider", "file", "header", "image", "input", "markdown", "section"}
    | {"video", "alert", "card", "carousel", "plan", "task_card"}
)  # blocks whose text is in fields that are read, or that have none
_WORDS_OF_PART: Final = ("text", "fallback", "value", "name", "team_id")  # of rich text; a color has a value
_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "channel": ("channel_id", "#{}"),
    "emoji": ("name", ":{}:"),
    "broadcast": ("range", "@{}"),
    "usergroup": ("usergroup_id", "<!subteam^{}>"),
}  # elements of rich text that hold an id or a name
_EMPTY: Final = "[it holds nothing that can be read as text]"
_GONE: Final = "[nothing of it can be read here: it may have been deleted since, or hold no words]"
GONE_FILES: Final = frozenset({"tombstone", "hidden_by_limit"})
"""Modes of files that were deleted, or that Slack no longer shows."""

Json = Mapping[str, object]


def quoted(message: Json, own: str, *, alert: bool) -> str:
    """Return a message's attachments and blocks as quoted lines, or an empty string. `own` is the soul's user id.

    Every line begins with `> `, since the author of the message said none of it. Previews of links are left out. Slack
    does not document forwarded messages. The fields are those seen in events. `alert`: the message is a bot's, whose
    text is in attachments and blocks of any kind.
    """
    lines = list[str]()
    if alert:
        said = _plain(message, own)
        lines += [line for line in _of_blocks(message.get("blocks"), own) if line not in said]
    for attachment in _attachments(message):
        if _is_forward(attachment, _text(message, "text")):
            lines += _forwarded(attachment, own, 1)
        elif alert:
            lines += _of_alert(attachment, own)
        elif not _is_preview(attachment):
            lines += _tables(attachment, own)
    if not alert and not lines and not _text(message, "text"):
        lines += _of_blocks(message.get("blocks"), own)
    carries = bool((alert and message.get("attachments")) or message.get("blocks"))
    if carries and not lines and not _text(message, "text") and not message.get("files"):
        lines = [f"> {_EMPTY}"]
    return clean(_cut(lines))


def forwarded_files(message: Json) -> Iterator[object]:
    """Return the files of the messages that were forwarded with a message, as Slack describes them."""
    for attachment in _attachments(message):
        if _is_forward(attachment, _text(message, "text")):
            yield from _list(attachment, "files")


def _is_forward(attachment: Json, text: str = "") -> bool:
    """Return True for a forwarded message, False for the preview of a message that the text links to."""
    address = _text(attachment, "from_url").partition("?")[0]
    return bool(attachment.get("is_share") or (attachment.get("is_msg_unfurl") and address and address not in text))


def _forwarded(attachment: Json, own: str, depth: int) -> list[str]:
    """Return a forwarded message: author and place, then its text. Inner forwards are quoted one level deeper."""
    author = label(_text(attachment, "author_name") or _text(attachment, "author_subname")) or _mention(attachment)
    where = _origin(attachment)
    head = "[a message" + (f" of {author}" if author else "") + (f" in {where}" if where else "")
    words = _words_of(attachment, own)
    inner = [line for one in _attachments(attachment) if _is_forward(one) for line in _deeper(one, own, depth)]
    inner += [line for one in _attachments(attachment) if not _is_forward(one) for line in _of_alert(one, own)]
    files = (file for file in _list(attachment, "files") if _text(_mapping(file), "mode") not in GONE_FILES)
    named = [f"[with a file: {label(_text(file, 'name'))}]" for file in map(_mapping, files)]
    return [f"> {head}, forwarded:]", *(words or ([] if inner or named else [f"> {_GONE}"])), *inner, *_quote(named)]


def _deeper(attachment: Json, own: str, depth: int) -> list[str]:
    if depth == _DEEPEST:
        return [f"> {_LEFT_OUT}"]
    return _quote(_forwarded(attachment, own, depth + 1))


def _origin(attachment: Json) -> str:
    name, channel = label(_text(attachment, "channel_name")), _text(attachment, "channel_id")
    if name:
        return f"#{name}" if channel.startswith(("C", "G")) and " " not in name else name
    if channel.startswith("D"):
        return "a direct message"
    return "another channel" if channel else ""


def _mention(attachment: Json) -> str:
    author = _text(attachment, "author_id")
    return f"<@{author}>" if author.isalnum() else ""


def _words_of(attachment: Json, own: str) -> list[str]:
    if text := _text(attachment, "text"):
        return _quote(readable(text, own).splitlines())
    blocks = _of_blocks(attachment.get("blocks"), own)
    for original in map(_mapping, _list(attachment, "message_blocks")):
        blocks += _of_blocks(_mapping(original.get("message")).get("blocks"), own)
    told = readable(_text(attachment, "fallback"), own)
    return blocks or ([] if told.rstrip().endswith(":") else _quote(told.splitlines()))  # `[ts] name: words`


def _of_alert(attachment: Json, own: str) -> list[str]:
    """Return a bot's attachment: pretext, title, text, fields, blocks and footer."""
    if _is_preview(attachment):
        return []
    lines = [readable(_text(attachment, name), own) for name in ("pretext", "author_name", "title", "text")]
    link = _text(attachment, "title_link")
    lines += [readable(link, own)] if link.startswith(("https://", "http://")) else []
    for field in map(_mapping, _list(attachment, "fields")):
        lines.append(f"{readable(_text(field, 'title'), own)}: {readable(_text(field, 'value'), own)}")
    lines.append(readable(_text(attachment, "footer"), own))
    told = _quote([line for text in lines for line in text.splitlines() if line.strip(" :")])
    told += [line for line in _of_blocks(attachment.get("blocks"), own) if line not in told]
    return told or _quote(readable(_text(attachment, "fallback"), own).splitlines())


def _is_preview(attachment: Json) -> bool:
    made = attachment.get("is_app_unfurl") or _text(attachment, "from_url") or _text(attachment, "original_url")
    return bool(made) or bool(_text(attachment, "service_name") and not _text(attachment, "text"))


def _of_blocks(blocks: object, own: str) -> list[str]:
    """Return the text of Block Kit blocks, one line for each piece, with the labels of buttons and pictures."""
    pieces = list[str]()
    for block in map(_mapping, blocks if isinstance(blocks, list) else ()):
        kind = label(_text(block, "type"))
        if kind in {"rich_text", "table"}:
            pieces += _rich(block, own) if kind == "rich_text" else _rows(block, own)
            continue
        if kind not in _KNOWN:
            pieces.append(_UNKNOWN.format(kind=kind or "no kind"))
        for part in (block.get("text"), block.get("title"), *_list(block, "fields"), *_list(block, "elements")):
            pieces.append(_piece(part, own))
        pieces.append(readable(_text(block, "alt_text"), own))
    return _quote([line for piece in pieces for line in piece.splitlines() if line.strip()])


def _piece(part: object, own: str) -> str:
    if isinstance(part, str):
        return readable(part, own)
    found = _mapping(part)
    text = found.get("text")
    return readable(text, own) if isinstance(text, str) else readable(_text(_mapping(text), "text"), own)


def _rich(block: Json, own: str) -> list[str]:
    """Return the lines of a rich text block: sections, list items, quotations and code each begin a line."""
    lines = list[str]()
    for section in map(_mapping, _list(block, "elements")):
        parts = _list(section, "elements")
        if section.get("type") == "rich_text_list":
            first = _number(section, "offset") + 1 if section.get("style") == "ordered" else None
            indent = "  " * min(_number(section, "indent"), _INDENTS)
            for number, item in enumerate(parts, first or 0):
                mark = "-" if first is None else f"{number}."
                lines.append(f"{indent}{mark} {_run(_list(_mapping(item), 'elements'), own)}")
        else:
            lines.append(_run(parts, own))
    return lines


def _tables(attachment: Json, own: str) -> list[str]:
    """Return the tables that a user pasted, which Slack keeps in the blocks of an attachment."""
    blocks = [one for one in map(_mapping, _list(attachment, "blocks")) if one.get("type") == "table"]
    return _of_blocks(blocks, own)


def _rows(block: Json, own: str) -> list[str]:
    rows = [row if isinstance(row, list) else [] for row in _list(block, "rows")]
    return [" | ".join(" ".join(_cell(_mapping(cell), own)) for cell in row) for row in rows]


def _cell(cell: Json, own: str) -> list[str]:
    return (
        _rich(cell, own) if cell.get("type") == "rich_text" else [" ".join(readable(_text(cell, "text"), own).split())]
    )


def _run(parts: Sequence[object], own: str) -> str:
    return "".join(_part(_mapping(part), own) for part in parts)


def _part(part: Json, own: str) -> str:
    """Return an element of rich text, or its kind if it has no text."""
    kind = _text(part, "type")
    if kind in _FORMS:
        name, form = _FORMS[kind]
        return form.format(label(_text(part, name)))
    match kind:
        case "text":
            return _text(part, "text")
        case "user" if (person := _text(part, "user_id")).isalnum():
            return "" if person == own else f"<@{person}>"
        case "link":
            text, address = _text(part, "text"), _text(part, "url")
            return f"{text} ({address})" if text and text != address else address
        case "date" if (at := _number(part, "timestamp")) and not _text(part, "fallback"):
            return _moment(at)
    words = next((text for name in _WORDS_OF_PART if (text := _text(part, name))), "")
    return words or _UNKNOWN.format(kind=label(kind) or "no kind")


def _moment(at: int) -> str:
    try:
        return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return _UNKNOWN.format(kind="date")


def _quote(lines: Sequence[str]) -> list[str]:
    return [f"> {line}" for line in lines]


def _cut(lines: Sequence[str]) -> str:
    kept, size = list[str](), 0
    for line in lines:
        if len(kept) == _LINES or size + len(line) > _LONGEST:
            return "\n".join((*kept, f"> {_LEFT_OUT}"))
        kept.append(line)
        size += len(line)
    return "\n".join(kept)


def _plain(message: Json, own: str) -> frozenset[str]:
    """Return the lines of a message's own text, quoted, which blocks mostly repeat."""
    return frozenset(_quote([line for line in readable(_text(message, "text"), own).splitlines() if line.strip()]))


def _attachments(message: Json) -> list[Json]:
    return [_mapping(one) for one in _list(message, "attachments")]


def _list(mapping: Json, name: str) -> list[object]:
    value = mapping.get(name)
    return value if isinstance(value, list) else []


def _number(mapping: Json, name: str) -> int:
    value = mapping.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _text(mapping: Json, name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
