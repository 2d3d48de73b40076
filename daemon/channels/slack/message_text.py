"""The text of Slack's messages: markup, forwarded messages, blocks and attachments of alerts."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from daemon.channels.slack.payload import Payload
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


def quoted(message: Payload, own: str, *, alert: bool) -> str:
    """Return a message's attachments and blocks as quoted lines, or an empty string. `own` is the soul's user id.

    Every line begins with `> `, since the author of the message said none of it. Previews of links are left out. Slack
    does not document forwarded messages. The fields are those seen in events. `alert`: the message is a bot's, whose
    text is in attachments and blocks of any kind.
    """
    lines = list[str]()
    if alert:
        said = _plain(message, own)
        lines += [line for line in _of_blocks(message.parts("blocks"), own) if line not in said]
    for attachment in message.parts("attachments"):
        if _is_forward(attachment, message.text("text")):
            lines += _forwarded(attachment, own, 1)
        elif alert:
            lines += _of_alert(attachment, own)
        elif not _is_preview(attachment):
            lines += _tables(attachment, own)
    if not alert and not lines and not message.text("text"):
        lines += _of_blocks(message.parts("blocks"), own)
    carries = bool((alert and message.data.get("attachments")) or message.data.get("blocks"))
    if carries and not lines and not message.text("text") and not message.data.get("files"):
        lines = [f"> {_EMPTY}"]
    return clean(_cut(lines))


def forwarded_files(message: Payload) -> Iterator[object]:
    """Return the files of the messages that were forwarded with a message, as Slack describes them."""
    for attachment in message.parts("attachments"):
        if _is_forward(attachment, message.text("text")):
            yield from attachment.listed("files")


def _is_forward(attachment: Payload, text: str = "") -> bool:
    """Return True for a forwarded message, False for the preview of a message that the text links to."""
    address = attachment.text("from_url").partition("?")[0]
    previewed = attachment.data.get("is_msg_unfurl") and address and address not in text
    return bool(attachment.data.get("is_share") or previewed)


def _forwarded(attachment: Payload, own: str, depth: int) -> list[str]:
    """Return a forwarded message: author and place, then its text. Inner forwards are quoted one level deeper."""
    author = label(attachment.text("author_name", "author_subname")) or _mention(attachment)
    where = _origin(attachment)
    head = "[a message" + (f" of {author}" if author else "") + (f" in {where}" if where else "")
    words = _words_of(attachment, own)
    inner = [line for one in attachment.parts("attachments") if _is_forward(one) for line in _deeper(one, own, depth)]
    inner += [line for one in attachment.parts("attachments") if not _is_forward(one) for line in _of_alert(one, own)]
    files = [file for file in attachment.parts("files") if file.text("mode") not in GONE_FILES]
    named = [f"[with a file: {label(file.text('name'))}]" for file in files]
    return [f"> {head}, forwarded:]", *(words or ([] if inner or named else [f"> {_GONE}"])), *inner, *_quote(named)]


def _deeper(attachment: Payload, own: str, depth: int) -> list[str]:
    if depth == _DEEPEST:
        return [f"> {_LEFT_OUT}"]
    return _quote(_forwarded(attachment, own, depth + 1))


def _origin(attachment: Payload) -> str:
    name, channel = label(attachment.text("channel_name")), attachment.text("channel_id")
    if name:
        return f"#{name}" if channel.startswith(("C", "G")) and " " not in name else name
    if channel.startswith("D"):
        return "a direct message"
    return "another channel" if channel else ""


def _mention(attachment: Payload) -> str:
    author = attachment.text("author_id")
    return f"<@{author}>" if author.isalnum() else ""


def _words_of(attachment: Payload, own: str) -> list[str]:
    if text := attachment.text("text"):
        return _quote(readable(text, own).splitlines())
    blocks = _of_blocks(attachment.parts("blocks"), own)
    for original in attachment.parts("message_blocks"):
        blocks += _of_blocks(original.part("message").parts("blocks"), own)
    told = readable(attachment.text("fallback"), own)
    return blocks or ([] if told.rstrip().endswith(":") else _quote(told.splitlines()))  # `[ts] name: words`


def _of_alert(attachment: Payload, own: str) -> list[str]:
    """Return a bot's attachment: pretext, title, text, fields, blocks and footer."""
    if _is_preview(attachment):
        return []
    lines = [readable(attachment.text(name), own) for name in ("pretext", "author_name", "title", "text")]
    link = attachment.text("title_link")
    lines += [readable(link, own)] if link.startswith(("https://", "http://")) else []
    for field in attachment.parts("fields"):
        lines.append(f"{readable(field.text('title'), own)}: {readable(field.text('value'), own)}")
    lines.append(readable(attachment.text("footer"), own))
    told = _quote([line for text in lines for line in text.splitlines() if line.strip(" :")])
    told += [line for line in _of_blocks(attachment.parts("blocks"), own) if line not in told]
    return told or _quote(readable(attachment.text("fallback"), own).splitlines())


def _is_preview(attachment: Payload) -> bool:
    made = attachment.data.get("is_app_unfurl") or attachment.text("from_url", "original_url")
    return bool(made) or bool(attachment.text("service_name") and not attachment.text("text"))


def _of_blocks(blocks: Sequence[Payload], own: str) -> list[str]:
    """Return the text of Block Kit blocks, one line for each piece, with the labels of buttons and pictures."""
    pieces = list[str]()
    for block in blocks:
        kind = label(block.text("type"))
        if kind in {"rich_text", "table"}:
            pieces += _rich(block, own) if kind == "rich_text" else _rows(block, own)
            continue
        if kind not in _KNOWN:
            pieces.append(_UNKNOWN.format(kind=kind or "no kind"))
        texts = (block.data.get("text"), block.data.get("title"), *block.listed("fields"), *block.listed("elements"))
        pieces += [_piece(part, own) for part in texts]
        pieces.append(readable(block.text("alt_text"), own))
    return _quote([line for piece in pieces for line in piece.splitlines() if line.strip()])


def _piece(part: object, own: str) -> str:
    if isinstance(part, str):
        return readable(part, own)
    found = Payload.of(part)
    return readable(found.text("text") or found.part("text").text("text"), own)


def _rich(block: Payload, own: str) -> list[str]:
    """Return the lines of a rich text block: sections, list items, quotations and code each begin a line."""
    lines = list[str]()
    for section in block.parts("elements"):
        parts = section.parts("elements")
        if section.text("type") == "rich_text_list":
            first = section.number("offset") + 1 if section.text("style") == "ordered" else None
            indent = "  " * min(section.number("indent"), _INDENTS)
            for number, item in enumerate(parts, first or 0):
                mark = "-" if first is None else f"{number}."
                lines.append(f"{indent}{mark} {_run(item.parts('elements'), own)}")
        else:
            lines.append(_run(parts, own))
    return lines


def _tables(attachment: Payload, own: str) -> list[str]:
    """Return the tables that a user pasted, which Slack keeps in the blocks of an attachment."""
    blocks = [one for one in attachment.parts("blocks") if one.text("type") == "table"]
    return _of_blocks(blocks, own)


def _rows(block: Payload, own: str) -> list[str]:
    rows = [row if isinstance(row, list) else [] for row in block.listed("rows")]
    return [" | ".join(" ".join(_cell(cell, own)) for cell in map(Payload.of, row)) for row in rows]


def _cell(cell: Payload, own: str) -> list[str]:
    rich = cell.text("type") == "rich_text"
    return _rich(cell, own) if rich else [" ".join(readable(cell.text("text"), own).split())]


def _run(parts: Sequence[Payload], own: str) -> str:
    return "".join(_part(part, own) for part in parts)


def _part(part: Payload, own: str) -> str:
    """Return an element of rich text, or its kind if it has no text."""
    kind = part.text("type")
    if kind in _FORMS:
        name, form = _FORMS[kind]
        return form.format(label(part.text(name)))
    match kind:
        case "text":
            return part.text("text")
        case "user" if (person := part.text("user_id")).isalnum():
            return "" if person == own else f"<@{person}>"
        case "link":
            text, address = part.text("text"), part.text("url")
            return f"{text} ({address})" if text and text != address else address
        case "date" if (at := part.number("timestamp")) and not part.text("fallback"):
            return _moment(at)
    return part.text(*_WORDS_OF_PART) or _UNKNOWN.format(kind=label(kind) or "no kind")


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


def _plain(message: Payload, own: str) -> frozenset[str]:
    """Return the lines of a message's own text, quoted, which blocks mostly repeat."""
    return frozenset(_quote([line for line in readable(message.text("text"), own).splitlines() if line.strip()]))
