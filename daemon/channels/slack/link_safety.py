"""The sizes of Slack's messages, and the filter that turns URLs of unknown hosts into text."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Final

from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import ENDINGS, HOST, Trusted, authority, bare_host, host_of, plain_host
from daemon.core.value import Value

PLAIN: Final = 4_000
"""Bytes of a message's `text`."""
STREAM: Final = 10_600
"""Bytes of one stream."""
CARDS: Final = 2_000
"""Bytes of the cards of one stream."""
PART: Final = 8_400
"""Bytes of one part of a reply. The part fits into a stream with cards, and into a markdown block."""
MARKDOWN: Final = 12_000
"""Characters of all markdown blocks of a message, and of one piece of a stream's text."""
SECTION: Final = 2_900
"""Bytes of a section block. Slack takes 3,000 characters."""

_GROWS: Final = re.compile(r"[<>]|&(?!(?:amp|lt|gt);)")
_ESCAPED: Final[Mapping[str, int]] = {"<": 4, ">": 4, "&": 5}


def size(text: str) -> int:
    """Return the bytes of a text as Slack counts them. Escaped entities count as they are."""
    return len(text.encode("utf-8", "surrogatepass")) + sum(_ESCAPED[found] - 1 for found in _GROWS.findall(text))


def sizes(text: str) -> list[int]:
    """Return the size of every prefix of a text, the empty one first. Each `&` counts as escaped."""
    if text.isascii() and not _GROWS.search(text) and "&" not in text:
        return list(range(len(text) + 1))
    return list(accumulate((_ESCAPED.get(character) or _utf8(ord(character)) for character in text), initial=0))


def weight(chunks: Iterable[Mapping[str, object]]) -> int:
    return sum(_weight(chunk) for chunk in chunks)


def _weight(chunk: Mapping[str, object]) -> int:
    once = sum(size(str(chunk.get(name, ""))) for name in ("text", "title"))
    return once + 2 * sum(size(str(chunk.get(name, ""))) for name in ("details", "output"))


def _utf8(code: int) -> int:
    if code < 0x80:  # noqa: PLR2004  # the bounds of UTF-8's lengths, here and below
        return 1
    if code < 0x800:  # noqa: PLR2004
        return 2
    return 3 if code < 0x10000 else 4  # noqa: PLR2004


BREAK: Final = "\u2060"
"""A WORD JOINER, which is invisible and ends any mention, mark or URL."""

_SCHEMES = frozenset({"http", "https", "mailto"})


def allowed_scheme(scheme: str) -> bool:
    return scheme.lower() in _SCHEMES


def honest(label: str, address: str) -> bool:
    """Return True if every host in a label is the URL's own host or a domain above it."""
    named = [bare_host(host) for host in HOST.findall(_plain(label))]
    host = host_of(address)
    return all(host == name or host.endswith(f".{name}") for name in named) and "@" not in authority(address)


def _plain(label: str) -> str:
    """Return the label as a reader sees it: compatibility forms folded, invisible characters removed."""
    folded = unicodedata.normalize("NFKC", label)
    return "".join(character for character in folded if unicodedata.category(character) not in {"Cf", "Mn"})


_FARTHEST: Final = 1_400  # characters of a URL; a longer line has no code spans
_COLON = r"\\?(?::|&colon;|&#0{0,6}58;?|&#x0{0,6}3a;?)"
_SLASH = r"\\?(?:/|&sol;|&#0{0,6}47;?|&#x0{0,6}2f;?)"
_MARK = rf"{_COLON}{_SLASH}{_SLASH}"
_IN_ADDRESS = r"[^\s<>\"`|\[\]{}\\^]"
_ADDRESS = re.compile(
    rf"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{{0,31}})?(?P<mark>{_MARK})(?P<rest>(?:{_IN_ADDRESS}|\\){{0,{_FARTHEST}}})"
    rf"|(?<![A-Za-z0-9@/:.-])(?P<bare>www\.(?=\w)(?:{_IN_ADDRESS}){{1,{_FARTHEST}}}"
    rf"|(?:[A-Za-z0-9-]{{1,63}}\.){{1,8}}(?:{ENDINGS})(?::\d{{1,5}})?[/?#](?:{_IN_ADDRESS}){{0,{_FARTHEST}}})",
    re.IGNORECASE,
)
_ENCODED_MARK = re.compile(_MARK, re.IGNORECASE)
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"(`{3,})[^`\n]*\n?\Z")
_CLOSING = re.compile(r" {0,3}(`{3,})[ \t]*\n?\Z")
_DOUBTFUL_FENCE = re.compile(r"[ \t>*+\-\d.)]*(?:```|~~~)")
_DOUBTFUL_CODE = re.compile(r"[<|]|\\`")  # on the same line: tags, cells and escapes go before code spans
_DEFINITION = re.compile(r"([ \t>*+\-\d.)]*\[[^\]]*\])(:.*\n?)", re.DOTALL)
_DEFINITION_BEGUN = re.compile(r"[ \t>*+\-\d.)]*\[[^\]]*(?:\](?::.*)?)?\Z")
_ENDS = re.compile(r"[()*]|~~|__|(?<=\W)_")
_CUT = re.compile(r"[?#&\\]")
_AFTER = ".,:;!?'*_~"  # punctuation that follows a URL and is not part of it


class ReplyGuard(Value):
    """The rules for the links and keys in a reply: trusted hosts, and `redact`, which removes keys."""

    trusted: Trusted
    redact: Callable[[str], str] = remove_keys


class LinkFilter:
    """The link filter for text in pieces: keys are removed and URLs of untrusted hosts are inert, wherever it was cut.

    One click must not carry a conversation's data to strangers: scheme, host and path stay readable, query and fragment
    are cut. Code stays unchanged, since Slack links nothing there. A place counts as code only if every markdown reader
    agrees. A key of several words is removed only if all its words come in one piece.
    """

    def __init__(self, guard: ReplyGuard) -> None:
        self._guard = guard
        self._held = ""
        self._line = ""  # the part of the line that was returned already
        self._fence = 0  # backticks of the open fence
        self._unsure = False  # a fence was met on which readers of markdown differ
        self._open_span = False  # a code span may have begun on an earlier line of the paragraph

    def feed(self, piece: str) -> str:
        """Take the next piece and return the text that is decided."""
        text = self._held + piece
        end = self._decided(text)
        self._held = text[end:]
        return self._pass(text[:end])

    def finish(self) -> str:
        text, self._held = self._held, ""
        return self._pass(text)

    def _decided(self, text: str) -> int:
        """Return the length of the text that no later piece can change."""
        start = text.rfind("\n") + 1
        whole = (self._line if start == 0 else "") + text[start:]
        undecided = "`" in whole or not whole.strip() or _DOUBTFUL_FENCE.match(whole) or _DEFINITION_BEGUN.match(whole)
        if len(whole) <= _FARTHEST and undecided:
            return start
        word = max(start, text.rfind(" ", start) + 1, text.rfind("\t", start) + 1)
        if _ENCODED_MARK.search(text, word):
            return word
        foreign = [found.end() for found in _BEYOND_ASCII.finditer(text, word)]  # a URL begins with ASCII
        return foreign[-1] if foreign else word

    def _pass(self, text: str) -> str:
        return "".join(self._of_line(line) for line in self._guard.redact(text).splitlines(keepends=True))

    def _of_line(self, line: str) -> str:
        """Return one line, or the next part of one, with inert links."""
        whole = self._line + line
        self._line = "" if line.endswith("\n") else whole[-_FARTHEST:]
        if self._fence:
            closing = _CLOSING.match(whole)
            if closing and len(closing[1]) >= self._fence:
                self._fence = 0
            return line
        if _DOUBTFUL_FENCE.match(whole):
            opening = _FENCE.match(whole)
            self._unsure = self._unsure or opening is None
            if opening and not self._unsure:
                self._fence = len(opening[1])
                return line
        if definition := _DEFINITION.match(line):
            return definition[1] + self._defined(definition[2])
        if line.endswith("\n") and not whole.strip():
            self._open_span = False
        spans = [] if _DOUBTFUL_CODE.search(whole) or len(whole) > _FARTHEST else _code_spans(line)
        self._open_span = self._open_span or ("`" in whole and not spans)
        if self._unsure or self._open_span:
            return self._of_prose(line)
        return "".join(part if code else self._of_prose(part) for code, part in spans or [(False, line)])

    def _defined(self, target: str) -> str:
        """Return the end of a line `[name]: address`. Only a trusted URL stays a definition."""
        shown = self._of_prose(target)
        begins = len(target) - len(target[1:].lstrip(" \t<"))
        return shown if shown == target and _ADDRESS.match(target, begins) else BREAK + shown

    def _of_prose(self, text: str) -> str:
        out, at = [], 0
        while found := _ADDRESS.search(text, at):
            shown, end = self._judged(found)
            out += [text[at : found.start()], shown]
            at = end
        return "".join((*out, text[at:]))

    def _judged(self, found: re.Match[str]) -> tuple[str, int]:
        """Return the shown form of a URL, and the position where the text continues."""
        scheme, mark = found["scheme"] or "", found["mark"] or ""
        address = _whole(found["rest"] or found["bare"] or "")
        begin = found.start() + len(scheme) + len(mark)
        host = plain_host(f"{scheme}{mark}{address}" if mark else f"https://{address}")
        if host and self._guard.trusted(host):
            return scheme + mark + address, begin + len(address)
        kept = _CUT.split(address, maxsplit=1)[0]
        if kept == address:
            kept = kept.rstrip(_AFTER) or kept
            return f"{BREAK}{scheme}{_opening(mark)}{_broken(kept)}", begin + len(kept)
        words = _BEYOND_ASCII.search(address, len(kept))  # after an ASCII query a sentence may continue without a blank
        end = words.start() if words else len(address.rstrip("\\"))  # a backslash may belong to the next text
        return f"{BREAK}{scheme}{_opening(mark)}{_broken(kept)}?\u2026", begin + end


def _opening(mark: str) -> str:
    return f":{BREAK}//" if mark else ""


def _whole(address: str) -> str:
    """Return a URL up to the first parenthesis that it didn't open, or a mark that may begin or end emphasis."""
    depth = 0
    for found in _ENDS.finditer(address):
        depth += (found[0] == "(") - (found[0] == ")")
        if depth < 0 or found[0] not in "()":
            return address[: found.start()]
    return address


def _broken(address: str) -> str:
    host, slash, path = address.partition("/")
    return f"{host.replace('.', '.' + BREAK)}{slash}{path}"


def _code_spans(line: str) -> list[tuple[bool, str]]:
    """Return a line in parts, each with True if it is code. Empty if a run of backticks has no match of its length."""
    parts, at, runs = [], 0, list(_TICKS.finditer(line))
    while runs:
        opening, *runs = runs
        closing = next((run for run in runs if len(run[0]) == len(opening[0])), None)
        if closing is None:
            return []
        parts += [(False, line[at : opening.start()]), (True, line[opening.start() : closing.end()])]
        at = closing.end()
        runs = [run for run in runs if run.start() >= at]
    return [*parts, (False, line[at:])]
