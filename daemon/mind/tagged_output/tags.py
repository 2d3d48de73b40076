"""The tokenizer of a text stream into plain text and tags of known names, in linear time."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from msgspec import field

from daemon.core.text import NEAR, OPENERS, fold, reads_as, squeeze
from daemon.core.value import Value

_OPENER = re.compile(f"[{OPENERS}&]")
_NAME = re.compile(r"<\s*(/?)\s*([a-z_]+)", re.IGNORECASE | re.ASCII)
_PLAIN = re.compile(r'<(/?)([a-z_]+)(?: [a-z_]+="[^"<>]*")*>')  # a tag as nearly every model writes it
_LESS_THAN = re.compile(r"lt|#0*60|#x0*3c", re.IGNORECASE)  # browsers decode these even without the semicolon
_ATTRIBUTE = re.compile(
    r"""(?<![^\s"'”’/])([^\s=/>"'“”‘’]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|“([^”]*)”|‘([^’]*)’|([^\s>]*))"""  # noqa: RUF001  # models write curly quotes too
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}  # noqa: RUF001  # models write curly quotes too
_LONGEST_ENTITY = 10
_LONGEST_NAME = 256  # characters, unseen ones included, between `<` and the end of a name
_LONGEST_TAG = 1024
_FIRST_LETTERS = 2  # a tag whose first letters begin no known name is foreign; deciding early shortens the hold-back


class Kind(Enum):
    TEXT = "text"
    OPEN = "open"
    CLOSE = "close"
    EMPTY = "empty"
    SUSPECT = "suspect"


class Token(Value):
    """A part of the input as written in `raw`. SUSPECT is no valid tag but looks like one of the known ones."""

    kind: Kind
    raw: str
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


class _Verdict(Enum):
    MAYBE = "maybe"
    FOREIGN = "foreign"
    SUSPECT = "suspect"
    TAG = "tag"


class Vocabulary(Value):
    """The known tag names, recognised in any case and disguise. `misspelt`: long names match with typing errors."""

    names: Mapping[str, str]
    misspelt: bool
    starts: frozenset[str]
    longest: int

    @classmethod
    def of(cls, names: Sequence[str], *, misspelt: bool) -> "Vocabulary":
        squeezed = {squeeze(name): name for name in names}
        starts = frozenset(name[:size] for name in squeezed for size in range(1, _FIRST_LETTERS + 1))
        return cls(squeezed, misspelt, starts, max(map(len, squeezed)) + NEAR + 1)

    def is_like(self, skeleton: str) -> bool:
        """Return whether folded letters that are not exactly a name read as one."""
        return reads_as(skeleton, self.names) if self.misspelt else skeleton in self.names


class Probe:
    """The state of one `<`, or a lookalike, until it is known as a tag, like a tag, or other text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._phase: Callable[[str], _Verdict] = self._opening
        self._opened = False
        self._entity = ""
        self._skeleton = ""
        self._quote = ""
        self._last = ""
        self.raw: list[str] = []
        self.name = ""
        self.closing = False

    def take(self, character: str) -> _Verdict:
        self.raw.append(character)
        return self._phase(character)

    def _opening(self, character: str) -> _Verdict:
        if character == "&":
            self._phase = self._in_entity
        else:
            self._opened, self._phase = True, self._in_name
        return _Verdict.MAYBE

    def _in_entity(self, character: str) -> _Verdict:
        if character == ";" and self._entity:
            return self._decoded(html.unescape(f"&{self._entity};"))
        if not (character.isascii() and (character.isalnum() or character == "#")):
            return self._judge()
        self._entity += character
        if not self._opened and _LESS_THAN.fullmatch(self._entity):
            self._opened, self._phase, self._entity = True, self._in_name, ""
        return _Verdict.MAYBE if len(self._entity) <= _LONGEST_ENTITY else self._judge()

    def _decoded(self, text: str) -> _Verdict:
        self._entity = ""
        if text == "&":  # encoded twice
            return _Verdict.MAYBE if len(self.raw) <= _LONGEST_NAME else _Verdict.SUSPECT
        if not self._opened:
            self._opened, self._phase = text in OPENERS, self._in_name
            return _Verdict.MAYBE if self._opened else _Verdict.FOREIGN
        self._phase = self._in_name
        verdicts = [self._in_name(character) for character in text]
        return next((verdict for verdict in verdicts if verdict is not _Verdict.MAYBE), _Verdict.MAYBE)

    def _in_name(self, character: str) -> _Verdict:
        if len(self.raw) > _LONGEST_NAME:
            return _Verdict.SUSPECT
        if character == "&":
            self._phase = self._in_entity
            return _Verdict.MAYBE
        if self.name and (character.isspace() or character in "/>"):
            self._phase = self._in_tag
            return self._in_tag(character)
        letters = fold(character, leading=not self._skeleton)
        return self._judge() if letters is None else self._add_letters(letters)

    def _add_letters(self, letters: str) -> _Verdict:
        self._skeleton += letters
        if self._skeleton and self._skeleton[:_FIRST_LETTERS] not in self._vocabulary.starts:
            return _Verdict.FOREIGN
        if len(self._skeleton) > self._vocabulary.longest:
            return self._judge()
        return self._recognise() if letters else _Verdict.MAYBE

    def _recognise(self) -> _Verdict:
        self.name = self._vocabulary.names.get(self._skeleton, "")
        if self.name:
            written = _NAME.fullmatch("".join(self.raw))
            if not written or written[2].casefold() != self.name:
                return _Verdict.SUSPECT
            self.closing = bool(written[1])
        return _Verdict.MAYBE

    def _in_tag(self, character: str) -> _Verdict:
        if len(self.raw) > _LONGEST_TAG:
            return _Verdict.SUSPECT
        if self._quote:
            self._quote = "" if character == self._quote else self._quote
        elif character == ">":
            return _Verdict.TAG
        elif character == "<":
            return _Verdict.SUSPECT
        elif character in _QUOTES and self._last == "=":
            self._quote = _QUOTES[character]
        if not character.isspace():
            self._last = character
        return _Verdict.MAYBE

    def _judge(self) -> _Verdict:
        alike = self._opened and self._vocabulary.is_like(self._skeleton)
        return _Verdict.SUSPECT if alike else _Verdict.FOREIGN

    def token(self) -> Token:
        """Return the finished tag. Attribute names are in lower case, and the first of equal names counts."""
        kind = Kind.CLOSE if self.closing else Kind.EMPTY if self._last == "/" else Kind.OPEN
        return _tag(kind, "".join(self.raw), self.name)


def _tag(kind: Kind, raw: str, tag: str) -> Token:
    attributes: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(raw):
        value = "".join(values).removesuffix("/") if kind is Kind.EMPTY and values[-1] else "".join(values)
        attributes.setdefault(name.casefold(), html.unescape(value).strip())
    return Token(kind, raw, tag, attributes)


class Tokenizer:
    """A tokenizer that feeds `sink` as soon as a token is certain. Uncertain text at the end is never fed."""

    def __init__(self, vocabulary: Vocabulary, sink: Callable[[Token], None]) -> None:
        self._vocabulary = vocabulary
        self._sink = sink
        self._probe: Probe | None = None

    def feed(self, text: str) -> None:
        position = 0
        while position < len(text):
            if self._probe is None:
                opener = _OPENER.search(text, position)
                end = opener.start() if opener else len(text)
                if end > position:
                    self._sink(Token(Kind.TEXT, text[position:end]))
                position = end
                if opener is None:
                    return
                if (plain := self._plain(text, position)) is not None:
                    self._sink(plain)
                    position += len(plain.raw)
                    continue
                self._probe = Probe(self._vocabulary)
            self._advance(self._probe, text[position])
            position += 1

    def _plain(self, text: str, position: int) -> Token | None:
        found = _PLAIN.match(text, position)
        if found is None or len(found[0]) > _LONGEST_TAG or self._vocabulary.names.get(squeeze(found[2])) != found[2]:
            return None
        return _tag(Kind.CLOSE if found[1] else Kind.OPEN, found[0], found[2])

    def _advance(self, probe: Probe, character: str) -> None:
        verdict = probe.take(character)
        if verdict is _Verdict.MAYBE:
            return
        self._probe = None
        if verdict is _Verdict.TAG:
            self._sink(probe.token())
        elif verdict is _Verdict.SUSPECT:
            self._sink(Token(Kind.SUSPECT, "".join(probe.raw[:-1])))
            self.feed(character)
        else:
            self._sink(Token(Kind.TEXT, probe.raw[0]))
            self.feed("".join(probe.raw[1:]))
