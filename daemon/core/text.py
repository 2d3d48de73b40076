"""Texts and hosts: storable, short or quoted text, links to trusted hosts, look-alike letters, platform ids."""

import html
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from daemon.core.lru import Lru

_FENCE = re.compile(r"[ \t>]{0,32}(`{3,}|~{3,})([^`\n]*)")


def storable(text: str) -> str:
    """Return text that UTF-8 can hold: surrogate pairs are joined, a lone surrogate becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str) -> str:
    """Return text on one line: each run of white space becomes one space."""
    return " ".join(text.split())


def numbered(number: int) -> str:
    """Return a number for people to refer to, such as `#3`. Markdown would renumber a list item."""
    return f"#{number}"


def visible_line(text: str) -> str:
    """Return text on one line in NFC, without control, direction, tag or other shapeless characters."""
    spaced = (" " if char.isspace() else char for char in unicodedata.normalize("NFC", text))
    return one_line("".join(char for char in spaced if not unicodedata.category(char).startswith("C")))


def shortened(text: str, most: int) -> str:
    """Return text of at most `most` characters. An ellipsis marks the cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def quoted(text: str, most: int = 40) -> str:
    """Return text on one line between quotation marks, shortened."""
    return f"“{shortened(one_line(text), most)}”"


def close_fence(markdown: str) -> str:
    """Return markdown with an open code fence closed at its end (CommonMark)."""
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


_BARS: Final = "▁▂▃▄▅▆▇█"
_NOTHING: Final = "·"


def bar_line(numbers: Sequence[float]) -> str:
    """Return a bar for each number, and a dot for zero and less."""
    most = max(numbers, default=0.0)
    return "".join(_BARS[_height(one, most)] if one > 0 else _NOTHING for one in numbers)


def _height(number: float, most: float) -> int:
    return min(len(_BARS) - 1, int(number / most * len(_BARS)))


DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe in the folder must not block the daemon


def open_inside(folder: Path, names: Sequence[str]) -> int:
    """Open the file that the names lead to from a folder, for reading. It may be no plain file.

    Links are followed only in the path of the folder, which the admin chose. Raises OSError for any other link, too
    (ELOOP, or ENOTDIR on the way).
    """
    handle = os.open(folder.resolve(), DIRECTORY)
    for name in names[:-1]:
        with closing_handle(handle):
            handle = os.open(name, DIRECTORY, dir_fd=handle)
    with closing_handle(handle):
        return os.open(names[-1], _FILE, dir_fd=handle)


@contextmanager
def closing_handle(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


# Endings that make a bare word look like a host. Countries whose ending is also a file's (.py, .md, .rs) are left out.
ENDINGS: Final = (
    "com|org|net|edu|gov|mil|int|info|biz|name|io|ai|app|dev|cloud|site|online|store|tech|xyz|club|page|link|team|bank|me|"
    "co|us|uk|eu|de|fr|es|it|nl|be|ch|at|se|no|dk|fi|pt|ie|ru|ua|cn|jp|kr|in|au|nz|ca|br|mx|ar|za|tr|gr|cz|to|ly|gg|tv|fm"
)
HOST: Final = re.compile(
    rf"(?:https?://|www\.)[^\s/?#)\]]+|(?<![\w.-])(?:[\w-]+\.)+(?:{ENDINGS})(?![\w-]|\.\w)|(?<=@)[\w.-]+\.\w+",
    re.IGNORECASE,
)
_LONGEST_TEXT: Final = 100_000  # characters of one text that are searched for hosts
_MOST_HOSTS: Final = 500

Trusted = Callable[[str], bool]
"""The check whether a reply may link to a host, given bare and in lower case."""


class KnownHosts:
    """The hosts that users, the admin or the soul's own files have named: a reply may link to them.

    A host of the admin's setting covers the hosts below it. A host from a text covers only itself.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(bare_host(one) for one in allowed if one.strip())
        self._named = Lru[str, None](_MOST_HOSTS)

    def learn(self, *texts: str) -> None:
        """Add the hosts in texts. The oldest are dropped where there are too many."""
        for text in texts:
            for found in HOST.findall(text[:_LONGEST_TEXT]):
                host = re.sub(r"[^\w.-].*", "", bare_host(found)).rstrip(".")
                self._named[host] = None

    def __call__(self, host: str) -> bool:
        return host in self._named or any(host == one or host.endswith(f".{one}") for one in self._allowed)


def bare_host(host: str) -> str:
    """Return a host without scheme, user, `www.`, port and final dot, in lower case."""
    without_scheme = re.sub(r"^https?://", "", host.strip().lower()).rpartition("@")[2]
    return without_scheme.removeprefix("www.").partition(":")[0].rstrip(".")


def authority(address: str) -> str:
    """Return the part between `//` and the path, or `@` for an unreadable address."""
    try:
        return urlsplit(address.replace("\\", "/")).netloc
    except ValueError:  # such as an unfinished IPv6 address
        return "@"


def host_of(address: str) -> str:
    """Return the bare host of an address. Empty if it has none."""
    if address.lower().startswith("mailto:"):
        return bare_host(address.partition("?")[0].rpartition("@")[2])
    return bare_host(authority(address) or re.split(r"[/?#]", address, maxsplit=1)[0])


def plain_host(address: str) -> str:
    """Return the host of an `http(s)://` address that every program reads the same way. Empty for any other.

    A user name, a backslash or an encoded character in the authority could lead elsewhere than it seems.
    """
    found = re.match(r"https?://([^/?#]*)", html.unescape(address), re.IGNORECASE)
    if found is None or not re.fullmatch(r"[\w.-]+(?::\d{1,5})?", found[1]):
        return ""
    return bare_host(found[1])


# Characters that look like `<`: fullwidth and small forms, angle brackets, arrows.
OPENERS = "<\uff1c\ufe64\u2039\u2329\u3008\u27e8\u276e\u276c\u02c2\u1438\u227a"
_SEPARATORS = frozenset("_-*`~\\.;:|\u00b7\u2010\u2011\u2012\u2013\u2014\u2212")  # markdown escapes, dashes
_BEFORE_NAME = frozenset("/!?\u2044\u2215")
_UNSEEN = _SEPARATORS | frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800"
)  # and letters of Unicode that print as blanks
_CONFUSABLE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0455\u0501\u04bb"  # Cyrillic: aeopcyxisdh
    "\u04cf\u043a\u043c\u0442\u0432\u043d\u0433\u051b\u051d\u0458\u0454"  # Cyrillic: lkmtbhrqwje
    "\u03bf\u03b9\u03bd\u03c1\u03c4\u03c5\u03c7\u03ba\u03b1"  # Greek: oivptuxka
    "\u0251\u0261\u0131\u2113",  # others: agil
    "aeopcyxisdhlkmtbhrqwjeoivptuxkaagil",
)
NEAR = 2  # typing errors that leave a long name recognisable
_LONG = 8  # letters of a long name


def fold(character: str, *, leading: bool) -> str | None:
    """Return the Latin letters that a character looks like: "" if invisible or a separator, None for any other.

    `leading`: no letter came before; a slash then belongs to the tag's syntax.
    """
    if "a" <= character <= "z":
        return character
    if character.isspace() or character in _SEPARATORS or (leading and character in _BEFORE_NAME):
        return ""
    letters = "".join(
        part
        for part in unicodedata.normalize("NFKD", character).casefold().translate(_CONFUSABLE)
        if unicodedata.category(part) not in {"Mn", "Me", "Cf", "Cc"}
        and part not in _SEPARATORS
        and part not in _UNSEEN
    )
    if leading:
        letters = letters.strip("/!?")
    return letters if letters == "" or (letters.isascii() and letters.isalpha()) else None


def squeeze(name: str) -> str:
    """Return a tag name in the form that `fold` gives: lower case, no separators."""
    return name.casefold().replace("_", "").replace("-", "")


def reads_as(skeleton: str, names: Iterable[str]) -> bool:
    """Return true if folded text is a squeezed name, extends a long one, or is within two typing errors of it."""
    return any(
        skeleton.startswith(name) or (abs(len(skeleton) - len(name)) <= NEAR and _within(skeleton, name, NEAR))
        if len(name) >= _LONG
        else skeleton == name
        for name in names
    )


def _within(left: str, right: str, slips: int) -> bool:
    """Return true if at most `slips` letters added, removed, changed or swapped make two words equal."""
    same = 0
    while same < len(left) and same < len(right) and left[same] == right[same]:
        same += 1
    left, right = left[same:], right[same:]
    if not left and not right:
        return True
    if slips == 0:
        return False
    swapped = left[:2] == right[1::-1] and len(left) > 1 and _within(left[2:], right[2:], slips - 1)
    return (
        swapped
        or _within(left[1:], right[1:], slips - 1)
        or _within(left[1:], right, slips - 1)
        or _within(left, right[1:], slips - 1)
    )


_ID: Final = re.compile(
    r"<@(?P<person>[UW][A-Z0-9]{1,23})(?:\|[^<>]*)?>|<#(?P<linked>[CG][A-Z0-9]{2,23})(?:\|[^<>]*)?>"
    r"|<!subteam\^(?P<group>S[A-Z0-9]{1,23})>|(?<![\w#<])#(?P<room>[CG][A-Z0-9]{2,23})\b"
)
_UNFIT: Final = re.compile(r"[^\w-]+")


def ids_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct ids of people, groups and channels in texts, in order."""
    return tuple(dict.fromkeys(_id(found) for text in texts for found in _ID.finditer(text)))


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the known names of the people, groups and channels in it."""

    def named(found: re.Match[str]) -> str:
        name = _UNFIT.sub(".", names.get(_id(found), "")).strip(".")
        return f"{'@' if found['person'] or found['group'] else '#'}{name}" if name else found[0]

    return _ID.sub(named, text)


def _id(found: re.Match[str]) -> str:
    return found["person"] or found["group"] or found["linked"] or found["room"]


_LONGEST_LINE: Final = 300  # characters
_DEEPEST: Final = 4


def plain_lines(data: Mapping[str, object], depth: int = 0) -> Iterator[str]:
    """Yield the lines of data. Nested data is indented."""
    for name, value in data.items():
        label = "  " * depth + shortened(one_line(str(name)), _LONGEST_LINE)
        if isinstance(value, Mapping) and value and depth < _DEEPEST:
            yield f"{label}:"
            yield from plain_lines(value, depth + 1)
        else:
            yield shortened(f"{label}: {_plain(value)}", _LONGEST_LINE)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{one_line(str(name))} {_plain(one)}" for name, one in value.items()) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else one_line(str(value))
