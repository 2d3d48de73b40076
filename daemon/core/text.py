"""Makes text storable, single-line, short or quoted."""

import re
import unicodedata

_FENCE = re.compile(r"[ \t>]{0,32}(`{3,}|~{3,})([^`\n]*)")


def storable(text: str) -> str:
    """Text that UTF-8 can hold: surrogate pairs are joined, a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str) -> str:
    """Text on one line: each run of white space becomes one space."""
    return " ".join(text.split())


def numbered(number: int) -> str:
    """A number that people obey by, as it begins a line: `#3`, which no Markdown takes for an item and counts anew."""
    return f"#{number}"


def visible_line(text: str) -> str:
    """Text on one line in NFC, without control, direction, tag or other characters that have no shape."""
    spaced = (" " if char.isspace() else char for char in unicodedata.normalize("NFC", text))
    return one_line("".join(char for char in spaced if not unicodedata.category(char).startswith("C")))


def shortened(text: str, most: int) -> str:
    """Text of at most `most` characters; an ellipsis marks what is left out."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def quoted(text: str, most: int = 40) -> str:
    """Text on one line between quotation marks, shortened."""
    return f"“{shortened(one_line(text), most)}”"


def close_fence(markdown: str) -> str:
    """Markdown that ends outside code: a code fence that is open at its end is closed (CommonMark)."""
    fence = ""
    for line in markdown.splitlines():
        mark = _FENCE.fullmatch(line)
        if mark is None:
            continue
        if not fence:
            fence = mark[1]
        elif mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
    return f"{markdown.rstrip()}\n{fence}" if fence else markdown.rstrip()
