"""The streaming parser of the fixed pipeline's XML-like tags, and the reader of the leading `calls_for` element."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import field

from daemon.core.text import OPENERS
from daemon.core.value import Value
from daemon.mind.tagged_output.tags import Kind, Token, Tokenizer, Vocabulary

KNOWN_TAGS: tuple[str, ...] = (
    "calls_for",
    "stimulus_verb",
    "internal_monologue",
    "external_dialogue",
    "user_model_check",
    "user_model_reflection",
    "user_model_update",
    "model_change_note",
    "user_whispers",
    "dossier_check",
    "dossier_update",
    "dossier_change_note",
    "soul_state_check",
    "soul_state_update",
    "made_piece",
    "short_answers",
)
REPLY_TAG = "external_dialogue"
WISH_TAG = "calls_for"
VOCABULARY = Vocabulary.of(KNOWN_TAGS, misspelt=True)

_DEEPEST = 32  # nesting depth of open tags; deeper is an attack
_LONGEST_SPACE = 1024  # whitespace is held back until text follows, so it is capped
_LONG_SPACE = re.compile(rf"(?<!\s)(\s{{{_LONGEST_SPACE}}})\s+")
_TAIL = 60  # characters; the longest name with all that may lie within it
_UNCLOSED = re.compile(f"[{OPENERS}][^{OPENERS}>]*$")  # with the text behind a nested tag it may read as a tag
_HIDING = ("<!-", "<![")  # a comment or CDATA section may hide a tag


class Element(Value):
    """A well-formed top-level element: its stripped text, and its attributes by lower-case name."""

    content: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class TaggedOutput:
    """The parser of one answer of a model, piece by piece. It streams the reply, and only the reply.

    Structure decides, never a search for the first match. Private thought must never reach users. An ambiguous answer
    therefore has no reply, and the Mind asks the model to repair it. Released text is a prefix of `reply` when there
    is one, and the same for every cut of the stream. Of equal elements the first counts. The input has no marks of
    inline reasoning. With `wary`, an answer that begins outside an element is released only at its end, since it may
    be reasoning.
    """

    def __init__(self, *, wary: bool = False) -> None:
        self._tokens = Tokenizer(VOCABULARY, self._take)
        self._wary = wary
        self._held_back = False
        self._frames: list[str] = []
        self._content: list[str] = []
        self._attributes: Mapping[str, str] = {}
        self._elements: dict[str, Element] = {}
        self._faults: dict[str, None] = {}
        self._in_reply = False
        self.reply_met = False  # whether a reply was begun anywhere, well-formed or not
        self._after_private = False
        self._doubtful = False
        self._lost = False
        self._outside_tail = ""
        self._space = ""
        self._fresh: list[str] = []
        self._released: list[str] = []

    # -- the caller's side --------------------------------------------------------------------------------------------

    def feed(self, piece: str) -> str:
        """Take the next piece, and return reply text that may be shown now, often ""."""
        if not self._lost:
            self._tokens.feed(piece)
        return "" if self._held_back else self._handed_out()

    def finish(self) -> str:
        """End the input, and return what may still be shown. Text held back as a possible tag is never shown."""
        for name in self._frames:
            self._fault("unclosed", name)
        if not self.reply_met:
            self._fault("missing", REPLY_TAG)
        return self._handed_out()

    @property
    def reply(self) -> str | None:
        element = self.elements.get(REPLY_TAG)
        return element.content if element else None

    @property
    def begun_reply(self) -> str | None:
        if self.reply is not None:
            return self.reply
        return self.released if self._in_reply and self._frames == [REPLY_TAG] and not self._doubtful else None

    @property
    def complete(self) -> bool:
        return self.reply is not None

    @property
    def closed(self) -> bool:
        return self.complete and not self._frames

    @property
    def released(self) -> str:
        return "".join(self._released)

    @property
    def reply_verb(self) -> str | None:
        return self.reply_attributes.get("verb") or None

    @property
    def reply_attributes(self) -> Mapping[str, str]:
        element = self.elements.get(REPLY_TAG)
        if element is not None:
            return element.attributes
        return self._attributes if self.begun_reply is not None else {}

    @property
    def elements(self) -> Mapping[str, Element]:
        doubtful = self._doubtful
        return MappingProxyType({k: v for k, v in self._elements.items() if not (doubtful and k == REPLY_TAG)})

    @property
    def faults(self) -> tuple[str, ...]:
        return tuple(self._faults)

    # -- the grammar --------------------------------------------------------------------------------------------------

    def _take(self, token: Token) -> None:
        if self._lost:
            return
        if not self._frames:
            self._outside(token)
        elif self._in_reply and len(self._frames) == 1:
            self._inside_reply(token)
        else:
            self._inside_private(token)

    def _outside(self, token: Token) -> None:
        match token.kind:
            case Kind.TEXT:
                self._stray_text(token.raw)
            case Kind.OPEN:
                self._open(token)
            case Kind.EMPTY:
                if token.name == REPLY_TAG:
                    self._fault("empty", REPLY_TAG)
                else:
                    self._record(token.name, Element("", token.attributes))
            case Kind.CLOSE:
                self._stray_close(token.name)
            case Kind.SUSPECT:
                self._lose("lookalike", "tag")

    def _open(self, token: Token) -> None:
        self._frames = [token.name]
        self._content = []
        self._attributes = token.attributes
        if token.name == REPLY_TAG and not self.reply_met:
            self._in_reply = not self._doubtful
            self.reply_met = True

    def _stray_text(self, text: str) -> None:
        """Judge text between a private element and the reply: a quoted tag may have closed the element too early."""
        seen = self._outside_tail + text
        self._outside_tail = seen[-2:]
        if self._wary and not self._elements and not text.isspace():
            self._held_back = True
        if self.reply_met:
            return
        if self._after_private and not text.isspace():
            self._doubt("stray", "text")
        if any(mark in seen for mark in _HIDING):
            self._doubt("hidden", "comment")

    def _stray_close(self, name: str) -> None:
        """Judge a closing tag that closes nothing: the element before it may have been part of a private one."""
        if name == REPLY_TAG and self.reply_met:
            self._fault("stray", name)
        else:
            self._doubt("stray", name)

    def _inside_reply(self, token: Token) -> None:
        match token.kind:
            case Kind.TEXT:
                self._release(token.raw)
            case Kind.OPEN | Kind.EMPTY if _UNCLOSED.search(self._tail()):
                self._lose("lookalike", "tag")
            case Kind.OPEN | Kind.EMPTY:
                self._fault("nested", token.name)
                self._frames.append(token.name)
            case Kind.CLOSE if token.name == REPLY_TAG:
                self._close_reply()
            case Kind.CLOSE:
                self._lose("mismatched", token.name)
            case Kind.SUSPECT:
                self._lose("lookalike", "tag")

    def _close_reply(self) -> None:
        self._frames, self._in_reply, self._space = [], False, ""
        said = self.released + "".join(self._fresh)
        if said:
            self._record(REPLY_TAG, Element(said, self._attributes))
        else:
            self._fault("empty", REPLY_TAG)

    def _inside_private(self, token: Token) -> None:
        if token.kind is Kind.OPEN:
            self._frames.append(token.name)
            if len(self._frames) > _DEEPEST:
                self._lose("too deep", self._frames[0])
        elif token.kind is Kind.CLOSE:
            self._close_private(token.name)
        if self._frames and not self._in_reply:
            self._content.append(token.raw)

    def _close_private(self, name: str) -> None:
        """Close the innermost element. A tag that was only mentioned may stay open (fault `overlapping`)."""
        if name != self._frames[-1]:
            if self._in_reply:
                self._lose("mismatched", name)
                return
            if name not in self._frames:
                return
            while self._frames[-1] != name:
                self._fault("overlapping", self._frames.pop())
        self._frames.pop()
        if not self._frames:
            self._close_element(name)

    def _close_element(self, name: str) -> None:
        self._after_private = True
        if name == REPLY_TAG:
            self._fault("duplicate" if name in self._elements else "distrusted", name)
        else:
            self._record(name, Element("".join(self._content).strip(), self._attributes))

    def _record(self, name: str, element: Element) -> None:
        if name in self._elements:
            self._fault("duplicate", name)
        else:
            self._elements[name] = element

    # -- what leaves --------------------------------------------------------------------------------------------------

    def _release(self, text: str) -> None:
        body = text.strip()
        if not body:
            self._space = (self._space + text)[:_LONGEST_SPACE]
            return
        start = text.index(body[0])
        gap = (self._space + text[:start])[:_LONGEST_SPACE]
        if gap and (self._fresh or self._released):
            self._fresh.append(gap)
        self._fresh.append(_LONG_SPACE.sub(r"\1", body))
        self._space = text[start + len(body) :][:_LONGEST_SPACE]

    def _tail(self) -> str:
        """Return the last characters of the reply so far. No piece is empty, so the last pieces contain them."""
        return "".join(self._released[-_TAIL:] + self._fresh[-_TAIL:])[-_TAIL:]

    def _handed_out(self) -> str:
        fresh = "".join(self._fresh)
        self._fresh = []
        if fresh:
            self._released.append(fresh)
        return fresh

    # -- malformations ------------------------------------------------------------------------------------------------

    def _fault(self, kind: str, name: str) -> None:
        self._faults[f"{kind} {name}"] = None

    def _doubt(self, kind: str, name: str) -> None:
        """Stop trusting the reply, which may now be private text. Other elements still count."""
        self._fault(kind, name)
        self._doubtful = True

    def _lose(self, kind: str, name: str) -> None:
        """Treat all that follows as private, since nothing can be distinguished after this point."""
        self._doubt(kind, name)
        self._lost = True


_LONGEST = 200  # characters of the element's text, or of the space before it; a longer one is none


class LeadingElement:
    """The reader of `calls_for` where it is the very first element, at any cut of the stream.

    Anything but space before it, and any tag within it, makes it none. A wish that is quoted or forged further down
    never counts.
    """

    def __init__(self) -> None:
        self._tokens = Tokenizer(VOCABULARY, self._take)
        self._text = ""
        self._open = False
        self.decided = False
        self.content: str | None = None
        self.others = 0

    @classmethod
    def of(cls, answer: str) -> "LeadingElement":
        element = cls()
        element.feed(answer)
        return element

    def feed(self, text: str) -> None:
        """Take the next piece. `content` is set once the element is closed, `others` counts equal tags elsewhere."""
        self._tokens.feed(text)

    def _take(self, token: Token) -> None:
        if self.decided:
            self.others += token.name == WISH_TAG and token.kind is not Kind.CLOSE
        elif token.kind is Kind.TEXT:
            self._text += token.raw
            self.decided = len(self._text) > _LONGEST or not (self._open or self._text.isspace())
        elif self._open:
            self._end(self._text if token.kind is Kind.CLOSE and token.name == WISH_TAG else None, token)
        elif token.name != WISH_TAG or token.kind is Kind.CLOSE:
            self._end(None, token)
        elif token.kind is Kind.EMPTY:
            self.decided, self.content = True, ""
        else:
            self._open, self._text = True, ""

    def _end(self, content: str | None, token: Token) -> None:
        self.decided = True
        self.content = None if content is None else content.strip()
        self.others += token.name == WISH_TAG and token.kind is not Kind.CLOSE
