"""What of a reply reads better as a file: long code, drafts and drawings in code blocks, and large tables.

It is decided by form and length alone. What is taken out stays in the outbox as the markdown that it was, so that it
can still be posted as text where Slack takes no file; `content_of` makes the file of it.
"""

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from daemon.core.ports.posts import Post, ReplyFile
from daemon.core.sentences import Words

MOST_FILES: Final = 5
"""Files of one reply; what else is long stays in the message."""

_LONG_LINES: Final = 60
_LONG: Final = 4_000  # characters
_ROWS, _COLUMNS = 25, 10  # of a table that a message still shows well
_FENCE: Final = re.compile(r" {0,3}(?P<mark>`{3,32}|~{3,32})[ \t]*(?P<info>[^`\n]{0,128})")
_ROW: Final = re.compile(r" {0,3}\|.*\|[ \t]*")
_RULE: Final = re.compile(r" {0,3}\|[ \t:|-]*-[ \t:|-]*\|[ \t]*")
_CELL_END: Final = re.compile(r"(?<!\\)\|")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so may be run by a spreadsheet
_NUMBER: Final = re.compile(r"[+-]?[\d.,]+ ?%?")
_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{name: name for name in ("c", "cpp", "css", "csv", "diff", "go", "h", "html", "ini", "java", "json", "jsx")},
        **{name: name for name in ("kt", "lua", "md", "php", "r", "sql", "svg", "swift", "toml", "tsv", "tsx", "xml")},
        "py": "py",
        "python": "py",
        "js": "js",
        "javascript": "js",
        "ts": "ts",
        "typescript": "ts",
        "rb": "rb",
        "ruby": "rb",
        "rs": "rs",
        "rust": "rs",
        "sh": "sh",
        "bash": "sh",
        "shell": "sh",
        "yaml": "yaml",
        "yml": "yaml",
        "markdown": "md",
        "kotlin": "kt",
        "csharp": "cs",
        "cs": "cs",
        "patch": "diff",
    }
)
_DRAFTS: Final = ("md", "txt")
_TABLES: Final = ("csv", "tsv")


def with_files(reply: str, key: str, words: Words) -> tuple[str, tuple[ReplyFile, ...]]:
    """A reply in which a line stands for each part that reads better as a file, and those files.

    `key` is the reply's own: the name of a file is made of it, so that no other post has it.
    """
    kept, files = list[str](), list[ReplyFile]()
    for block in _blocks(reply.split("\n")):
        kind = _kind(block) if len(files) < MOST_FILES else ""
        if not kind:
            kept += block
            continue
        mark = hashlib.sha256(f"{key} {len(files)}".encode()).hexdigest()[:10]
        name = f"{_stem(kind)}-{mark}.{kind}"
        files.append(ReplyFile(name, "\n".join(block)))
        kept.append(words.say("file_below", name=name))
    return ("\n".join(kept), tuple(files)) if files else (reply, ())


def content_of(post: Post) -> bytes:
    """The bytes of a post's file: what stands within its fence, its table as CSV, else the body as it is."""
    lines = post.body.split("\n")
    if _is_table(lines):
        return _as_csv(lines).encode()
    return "\n".join((*lines[1:-1], "") if is_markdown(post) else lines).encode()


def is_markdown(post: Post) -> bool:
    """Whether the body of a post with a file can be posted as text, too, since it was a part of a reply."""
    lines = post.body.split("\n")
    return _is_table(lines) or (len(lines) > 1 and _FENCE.fullmatch(lines[0]) is not None)


def _is_table(lines: Sequence[str]) -> bool:
    return len(lines) > 1 and _ROW.fullmatch(lines[0]) is not None and _RULE.fullmatch(lines[1]) is not None


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines in groups: a closed code block, a table, any other line by itself; what never closes is the rest."""
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        end = _end_of_fence(lines, at, opening["mark"]) if opening else _end_of_table(lines, at) or at + 1
        if not end:
            yield from ([line] for line in lines[at:])
            return
        yield list(lines[at:end])
        at = end


def _end_of_fence(lines: Sequence[str], at: int, mark: str) -> int:
    """Where the code block ends that begins here with a mark; 0 where it is never closed."""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    return next((number + 1 for number in range(at + 1, len(lines)) if closing.fullmatch(lines[number])), 0)


def _end_of_table(lines: Sequence[str], at: int) -> int:
    """Where the table ends that begins here; 0 where none does."""
    if at + 1 >= len(lines) or not (_ROW.fullmatch(lines[at]) and _RULE.fullmatch(lines[at + 1])):
        return 0
    return next((number for number in range(at + 2, len(lines)) if not _ROW.fullmatch(lines[number])), len(lines))


def _kind(block: Sequence[str]) -> str:
    """The ending of the file that a block becomes; empty where it stays in the message."""
    opening = _FENCE.fullmatch(block[0])
    if len(block) > 1 and opening is not None:
        language = (opening["info"].split() or [""])[0].lower()
        kind = _ENDINGS.get(language, "txt")
        inside = len(block) - 2
        rows = kind in _TABLES and inside > _ROWS
        return kind if rows or kind == "svg" or inside > _LONG_LINES or sum(map(len, block)) > _LONG else ""
    return "csv" if _is_table(block) and (len(_cells(block[0])) > _COLUMNS or len(block) - 2 > _ROWS) else ""


def _stem(kind: str) -> str:
    if kind in _TABLES:
        return "table"
    return "picture" if kind == "svg" else "draft" if kind in _DRAFTS else "code"


def _as_csv(lines: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [_inert(cell) for cell in _cells(line)] for line in (lines[0], *lines[2:]) if line.strip()
    )
    return out.getvalue()


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    cells = _CELL_END.split(inner)
    return [cell.replace("\\|", "|").strip() for cell in (cells[:-1] if not cells[-1].strip() else cells)]


def _inert(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell) else cell
