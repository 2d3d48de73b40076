"""The filter that makes a model's text inert: mentions, disguised links and invisible characters have no effect."""

import html
import re
from collections import deque
from collections.abc import Callable

from daemon.channels.slack.link_safety import BREAK, LinkFilter, ReplyGuard, allowed_scheme, honest
from daemon.core.text import plain_host

_EVERYONE = ("channel", "everyone", "here")
_LONGEST_EVERYONE = max(map(len, _EVERYONE))
_HTML = ("--", "[", "doctype")  # a comment, a CDATA section, a document's first line
_LABEL_MEMORY = 512  # characters of output in which a link's label is searched
_FARTHEST = 1400  # characters that a rule may look ahead
_STRETCH = 4096  # characters processed at once: a rewritten link never copies a long text
_SPECIAL = re.compile(r"[<@\]&]")
_UNWANTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but not tab and line feed
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides and isolates
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff"  # marks, anchors, lone surrogates
    "\U000e0000-\U000e007f]"  # tag characters: invisible text that models can read
)
_LINES = str.maketrans("\u2028\u2029\x85", "\n\n\n")
_BRACKET = re.compile(r"[\[\]]")
_SCHEME = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{0,31}):(?!:)")  # `<std::string>` is code
_SCHEME_BEGUN = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]{0,31}:?")
_LINK = re.compile(r"<([^\s<>|]{1,1000})(?:\|([^<>\n]{0,200}))?>")
_LINK_BEGUN = re.compile(r"<[^\s<>|]{1,1000}(?:\|[^<>\n]{0,200})?")
_TARGET = re.compile(r"\]\(\s{0,16}<?([^\s<>()]{0,1000})(?=[\s<>()])")
_TARGET_BEGUN = re.compile(r"\]\(\s{0,16}<?[^\s<>()]{0,1000}")
_ENCODED = re.compile(r"&(?:lt|#0{0,6}60|#x0{0,6}3c);?(?=[!@#])", re.IGNORECASE)
_ENCODED_BEGUN = re.compile(r"&(?:l|lt;?|#0{0,6}|#0{0,6}60?;?|#x0{0,6}|#x0{0,6}3c?;?)?", re.IGNORECASE)

# The decision of a rule: the number of characters it consumed, the output, and the text to process again.
_Ruling = tuple[int, str, str]
_PASS: _Ruling = (1, "", "")


def inert(text: str, guard: ReplyGuard | None = None) -> str:
    """Return Slack markdown without mentions and disguised links. Idempotent.

    Mentions of users, groups and channels become plain text, and so do links of other schemes than http, https and
    mailto. A link or image keeps working only if its label names no foreign host. With a `guard`, its host must also be
    trusted, and keys are removed. Slack: formatting text, retrieving links.
    """
    stream = InertStream(guard)
    return stream.feed(text) + stream.finish()


def break_everyone(text: str) -> str:
    return re.sub(rf"@(?={'|'.join(_EVERYONE)})", f"@{BREAK}", text, flags=re.IGNORECASE)


class InertStream:
    """The `inert` filter for text in pieces. It holds back a word, and an unfinished link or line of code.

    A WORD JOINER (U+2060) inside a construct disables it and keeps the text readable, also in code. The rules run left
    to right with a bounded look-ahead, and give the same result for a stream and a whole text.
    """

    def __init__(self, guard: ReplyGuard | None = None) -> None:
        self._guard = guard
        self._links = LinkFilter(guard) if guard is not None else None
        self._held = ""
        self._recent = ""
        self._brackets: deque[int] = deque(maxlen=_LABEL_MEMORY)  # positions of open brackets in the output
        self._written = 0  # characters of output
        self._rules: dict[str, Callable[[str, bool], _Ruling | None]] = {
            "<": self._angle,
            "@": self._at,
            "]": self._bracket,
            "&": self._entity,
        }

    def feed(self, piece: str) -> str:
        clean = _UNWANTED.sub("", piece.translate(_LINES))
        return self._feed(self._links.feed(clean) if self._links is not None else clean)

    def finish(self) -> str:
        rest = self._feed(self._links.finish()) if self._links is not None else ""
        return rest + self._run("", last=True)

    def _feed(self, clean: str) -> str:
        return "".join(self._run(clean[at : at + _STRETCH], last=False) for at in range(0, len(clean), _STRETCH))

    def _run(self, piece: str, *, last: bool) -> str:
        text, self._held, position = self._held + piece, "", 0
        out: list[str] = []
        while special := _SPECIAL.search(text, position):
            self._leave(text[position : special.start()], out)
            position = special.start()
            window = text[position : position + _FARTHEST]
            ruling = self._rules[special[0]](window, last)
            if ruling is None:
                self._held = text[position:]
                return "".join(out)
            consumed, leaves, again = ruling
            self._leave(leaves or (text[position : position + consumed] if not again else ""), out)
            position += consumed
            if again:
                text, position = again + text[position:], 0
        self._leave(text[position:], out)
        return "".join(out)

    def _leave(self, text: str, out: list[str]) -> None:
        if text:
            out.append(text)
            self._recent = (self._recent + text)[-_LABEL_MEMORY:]
            for bracket in _BRACKET.finditer(text):
                if bracket[0] == "[":
                    self._brackets.append(self._written + bracket.start())
                elif self._brackets:
                    self._brackets.pop()
            self._written += len(text)

    def _angle(self, window: str, last: bool) -> _Ruling | None:
        """`<…`: Slack's own syntax for mentions, dates and links."""
        match window[1:2]:
            case "" if not last:
                return None
            case "!":
                return self._command(window, last)
            case "@" | "#":
                return (1, f"<{BREAK}", "")
            case _:
                return self._slack_link(window, last)

    def _command(self, window: str, last: bool) -> _Ruling | None:
        """`<!…`: a mention of a group or a date, unless it is HTML."""
        word = window[2:9].lower()
        if not last and any(begun.startswith(word) and begun != word for begun in _HTML):
            return None
        return _PASS if word.startswith(_HTML) else (1, f"<{BREAK}", "")

    def _slack_link(self, window: str, last: bool) -> _Ruling | None:
        """`<address|label>` becomes a markdown link, which the rule for markdown links checks."""
        scheme = _SCHEME.match(window)
        if not last and _SCHEME_BEGUN.fullmatch(window):
            return None
        if not scheme:
            return _PASS
        if not allowed_scheme(scheme[1]):
            return (1, f"<{BREAK}", "")
        if link := _LINK.match(window):
            return _PASS if link[2] is None else (link.end(), "", _as_markdown(link[1], link[2]))
        return None if not last and _LINK_BEGUN.fullmatch(window) else (1, f"<{BREAK}", "")

    def _at(self, window: str, last: bool) -> _Ruling | None:
        word = window[1 : 1 + _LONGEST_EVERYONE].lower()
        if any(word.startswith(name) for name in _EVERYONE):
            return (1, f"@{BREAK}", "")
        open_end = not last and len(window) <= _LONGEST_EVERYONE
        return None if open_end and any(name.startswith(word) for name in _EVERYONE) else _PASS

    def _bracket(self, window: str, last: bool) -> _Ruling | None:
        """`](`: the middle of a markdown link or image."""
        if not last and _TARGET_BEGUN.fullmatch(window if len(window) > 1 else window + "("):
            return None
        if window[1:2] != "(":
            return _PASS
        target = _TARGET.match(window)
        return (2, "](" if target and self._fair(html.unescape(target[1])) else f"]{BREAK}(", "")

    def _fair(self, address: str) -> bool:
        label = self._label()
        if self._guard is not None and not self._leads_to_trusted(address):
            return False
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", address)
        if address.startswith(("//", "\\")) or (scheme and not allowed_scheme(scheme[1])):
            return False
        if label is None:
            return not scheme
        return not (scheme and label.startswith("!")) and honest(label, address)

    def _leads_to_trusted(self, address: str) -> bool:
        """Return True if a URL is relative, a bare mailbox, or leads to a trusted host."""
        if address.lower().startswith("mailto:"):
            return "?" not in address
        if not re.match(r"[a-z][a-z0-9+.-]*:", address, re.IGNORECASE):
            return not re.match(rf"[^/?#]*[.\\{BREAK}][^/?#]*[/?#]|.*[\\{BREAK}]", address)  # `evil.rs/x` may be a host
        host = plain_host(address)
        return bool(host) and self._guard is not None and self._guard.trusted(host)

    def _label(self) -> str | None:
        at = self._brackets[-1] - (self._written - len(self._recent)) if self._brackets else -1
        if at < 0:
            return None
        return self._recent[at - 1 :] if at and self._recent[at - 1] == "!" else self._recent[at:]

    def _entity(self, window: str, last: bool) -> _Ruling | None:
        """`&lt;!channel>`: harmless in Slack until a program decodes the entity again."""
        if encoded := _ENCODED.match(window):
            return (encoded.end(), encoded[0] + BREAK, "")
        return None if not last and _ENCODED_BEGUN.fullmatch(window) else _PASS


def _as_markdown(address: str, label: str) -> str:
    words = label.replace("[", "(").replace("]", ")").strip()
    return f"[{words}]({address.replace('(', '%28').replace(')', '%29')})" if words else f"<{address}>"
