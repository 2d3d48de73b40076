"""Removes what models put around spoken words: a name in front, quotation marks, lines of thought."""

import re
from collections.abc import Iterator
from typing import Final

_LABELS: Final = (
    *("thinks", "thinking", "thought", "thoughts", "to itself", "to himself", "to herself", "to themselves"),
    *("inner speech", "inner thought", "inner thoughts", "inner monologue", "inner voice", "internal monologue"),
    *("internal thought", "internal thoughts", "private thought", "private thoughts"),
    *("denkt", "gedanke", "gedanken", "innere rede", "innere stimme", "innerer monolog"),
)
_SQUEEZED: Final = tuple(one.replace(" ", "") for one in _LABELS)
_LONGEST_LABEL: Final = 48
_CLOSING: Final = {"(": ")", "[": "]"}
_NAMED: Final = "|".join(one.replace(" ", "[ _-]?") for one in _LABELS)
_MARK: Final = re.compile(
    rf"(?P<aside>[(\[][*_]{{0,3}}(?:{_NAMED})[\s*_]{{0,4}}:)|(?P<end></said-[0-9a-f]{{10}}>)"
    r"|(?P<fence>(?:<|&lt;)\s?/?\s?(?:said|note|context)-[0-9a-f]{10})",
    re.IGNORECASE,
)
_LONGEST_FENCE: Final = 26
_BEGUN: Final = re.compile(r"(?:[(\[](?!\s)|<|&(?:l(?:t;?)?)?)[^)\]>:]{0,47}\Z")
_BEGUN_LABEL: Final = re.compile(r"[\s*_-]+")

_OBJECT: Final = re.compile(r"\s*(?:```\w{0,10}\s*)?[\[{]")
_BEGUN_OBJECT: Final = re.compile(r"\s*(?:`{1,2}|```\w{0,10}\s*)?\Z")
_WRAPPED: Final = re.compile(r"\s*<said-[0-9a-f]{10}\b[^<>]{0,200}>", re.IGNORECASE)
_BEGUN_WRAPPED: Final = re.compile(
    r"\s*(?:<(?:s(?:a(?:i(?:d(?:-(?:[0-9a-f]{0,10}|[0-9a-f]{10}\b[^<>]{0,200}))?)?)?)?)?)?\Z", re.IGNORECASE
)
_OWN_KEYS: Final = re.compile(
    r"""["'“](?:inner_?speech|external_?speech|calls_?for|inner_?thoughts?|inner(?:nal)?_?monologue|internal_?monologue)"""
    r"""["'”]\s{0,8}:""",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 400  # characters of a reply in braces: a thought names its own keys in fewer


class PrivateMarks:
    """A filter that drops what is marked as private in speech, the same for every cut of the stream.

    An aside in brackets that is called a thought (`(thinks: …)`) is left out. The JSON of a thought, an aside that is
    not closed, and a fence of the prompt's data set `met`. After that nothing is passed on. A fence of people's words
    around the whole speech is removed, since a model may imitate them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._at_head = True
        self._wrapped = False
        self._closing: list[str] = []
        self.met = False

    def feed(self, piece: str) -> str:
        self._held += piece
        return self._released(ended=False)

    def finish(self) -> str:
        return self._released(ended=True)

    def _released(self, *, ended: bool) -> str:
        if self._at_head and not self.met:
            self._at_head = not self._is_head_decided(ended=ended)
        if self.met:
            self._held = ""
        said = "" if self.met or self._at_head else "".join(self._parts(ended=ended))
        self.met = self.met or (ended and bool(self._closing))
        return said

    def _is_head_decided(self, *, ended: bool) -> bool:
        """Return whether a fence and the JSON of a thought are decided. `met` is set for the latter."""
        if not self._wrapped:
            if wrapped := _WRAPPED.match(self._held):
                self._held, self._wrapped = self._held[wrapped.end() :], True
            elif not ended and _BEGUN_WRAPPED.match(self._held):
                return False
        if not _OBJECT.match(self._held):
            return ended or not _BEGUN_OBJECT.match(self._held)
        self.met = _OWN_KEYS.search(self._held[:_LOOKED_AT]) is not None
        return self.met or ended or len(self._held) >= _LOOKED_AT

    def _parts(self, *, ended: bool) -> Iterator[str]:
        while self._held and not self.met:
            if self._closing:
                self._leave_aside()
                continue
            mark = _MARK.search(self._held)
            if mark is None or (self._wrapped and not ended and mark.end() == len(self._held)):
                kept = len(self._held) if ended else mark.start() if mark else self._undecided()
                yield self._held[:kept]
                self._held = self._held[kept:]
                return
            yield self._held[: mark.start()]
            if mark["aside"]:
                self._closing.append(_CLOSING[mark[0][0]])
            else:
                self.met = not (mark["end"] and self._wrapped)
            self._held = self._held[mark.end() :]

    def _leave_aside(self) -> None:
        for place, character in enumerate(self._held):
            if character in _CLOSING:
                self._closing.append(_CLOSING[character])
            elif character == self._closing[-1]:
                self._closing.pop()
            if not self._closing:
                self._held = self._held[place + 1 :]
                return
        self._held = ""

    def _undecided(self) -> int:
        for found in re.finditer(r"[(\[<&]", tail := self._held[-_LONGEST_LABEL:]):
            if _may_become_mark(tail[found.start() :]):
                return len(self._held) - len(tail) + found.start()
        return len(self._held)


def _may_become_mark(begun: str) -> bool:
    if not _BEGUN.match(begun):
        return False
    if begun[0] in "<&":
        return len(begun) < _LONGEST_FENCE
    label = _BEGUN_LABEL.sub("", begun[1:]).lower()
    return any(one.startswith(label) for one in _SQUEEZED)


PRIVATE_VERBS = (
    *("thought", "thinks", "mused", "pondered", "reflected", "wondered", "considered"),
    *("evaluated", "decided", "brainstormed", "concluded", "noted", "sensed", "chose"),
)
"""The verbs that mark thoughts in working memory. A text that begins with such a verb is never said."""

_QUOTES = ('"', "“", "”")
_LONGEST = 60
_LONG_SPACE = re.compile(r"(\s{100})\s+")  # space is held back until text follows, so a run of it has to end somewhere
_MARKS_BEFORE = re.compile(r"[^\w\n]{0,8}")
_SPOKEN_LABELS = (
    *("thought", "thought process", "thinking", "thinking process", "inner monologue", "internal monologue"),
    *("here's my thought process", "here is my thought process"),
)
_THOUGHT_LABEL = re.compile(
    rf"[^\w\n]{{0,8}}(?:{'|'.join(_SPOKEN_LABELS)})[^\w\n:]{{0,4}}:[^\w\n]{{0,4}}", re.IGNORECASE
)
_ANSWER_LABEL = re.compile(
    r"[^\w\n]{0,8}(?:(?:final )?(?:answer|response|reply)|here(?:'s| is) my response)[^\w\n:]{0,4}:[^\w\n]{0,4}\s*",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LONGEST_SPOKEN_LABEL = 48


class SpokenText:
    """A filter that removes a `Name verb: "…"` around speech, the same for every cut of the stream.

    A first paragraph that is called a thought (`Thought: …`) is removed too. Without a blank line after it, only its
    first line is. A block with a private verb, wherever it begins, sets `is_thought`, after which nothing is let
    through. So does what `PrivateMarks` meets, unless no verb is private: then the text is a thought itself.
    """

    def __init__(self, name: str, private_verbs: tuple[str, ...] = PRIVATE_VERBS) -> None:
        self._name, self._private = name, frozenset(verb.lower() for verb in private_verbs)
        called = rf"{re.escape(name)}[*_]{{0,2}}"
        private = "|".join(sorted(re.escape(verb) for verb in self._private)) or "(?!)"
        self._prefix = re.compile(
            rf"[^\w\n]{{0,8}}{called}(?P<words>(?:[ \t]+[\w'-]+){{0,4}})[*_]{{0,2}}:[*_]{{0,2}}"
            r"\s{0,8}(?P<quote>[\"“])?",
            re.IGNORECASE,
        )
        self._thinking = re.compile(rf"{called}[ \t]{{1,8}}(?:{private})\b[^\n:]{{0,{_LONGEST}}}:", re.IGNORECASE)
        self._undecided = re.compile(rf"{called}(?:[ \t][^\n:]{{0,{2 * _LONGEST}}})?\Z", re.IGNORECASE)
        self._held, self._in_head, self._begun, self._quoted = "", True, False, False
        self._after_thought = False
        self._marks = PrivateMarks() if self._private else None
        self.is_thought = False

    def feed(self, piece: str) -> str:
        return self._taken(self._marks.feed(piece) if self._marks else piece)

    def _taken(self, piece: str) -> str:
        self._held = _LONG_SPACE.sub(r"\1", self._held + piece)
        if self._in_head:
            self._take_prefix(ended=False)
        return "" if self._in_head else self._release(ended=False)

    def finish(self) -> str:
        begun = self._taken(self._marks.finish()) if self._marks else ""
        if self._in_head:
            self._take_prefix(ended=True)
        rest = begun + self._release(ended=True)
        self.is_thought = self.is_thought or (self._marks is not None and self._marks.met)
        return rest

    def _take_prefix(self, *, ended: bool) -> None:
        """Cut off thoughts and the prefix, if there are any, as soon as the beginning is decided."""
        self._held = self._held.lstrip()
        if not self._cut_thoughts(ended=ended):
            return
        match = self._prefix.match(self._held)
        longest = len(self._name) + _LONGEST
        if match and match.end() <= longest and (ended or match["quote"] or match.end() < len(self._held)):
            words = match["words"].lower().split()
            self.is_thought = bool(words) and words[0] in self._private
            if match["quote"] or len(words) <= 1:
                self._held, self._quoted = self._held[match.end() :], bool(match["quote"])
            self._in_head = False
        elif ended or len(self._held) > longest or (not match and "\n" in self._held):
            self._in_head = False
        elif not match and self._held:
            begun, name = (_MARKS_BEFORE.sub("", text, count=1).lower() for text in (self._held, self._name))
            self._in_head = begun.startswith(name) or name.startswith(begun)

    def _cut_thoughts(self, *, ended: bool) -> bool:
        """Cut off what is called a thought. Return False while that is not decided."""
        while label := _THOUGHT_LABEL.match(self._held):
            blank = _BLANK_LINE.search(self._held, label.end())
            if blank is None and not ended:
                return False
            line = self._held.find("\n", label.end())
            end = blank.end() if blank else line if line >= 0 and self._held[label.end() : line].strip() else None
            self._held = "" if end is None else self._held[end:].lstrip()
            self._after_thought = True
        begun = _MARKS_BEFORE.sub("", self._held, count=1).lower()
        if (
            not ended
            and len(self._held) < _LONGEST_SPOKEN_LABEL
            and any(one.startswith(begun) or begun.startswith(one) for one in _SPOKEN_LABELS)
        ):
            return ":" in begun
        if self._after_thought:
            if not ended and len(self._held) < _LONGEST_SPOKEN_LABEL:
                return False
            self._held = _ANSWER_LABEL.sub("", self._held, count=1) if _ANSWER_LABEL.match(self._held) else self._held
        return True

    def _release(self, *, ended: bool) -> str:
        if thinking := self._thinking.search(self._held):
            self.is_thought = True
            self._held = self._held[: thinking.start()]
        if self.is_thought:
            self._held = ""
            return ""
        if not self._begun:
            self._held = self._held.lstrip()
            self._begun = bool(self._held)
        if not ended:
            kept = self._decided_length()
            text, self._held = self._held[:kept], self._held[kept:]
            return text
        text, self._held = self._held.rstrip(), ""
        return text[:-1].rstrip() if self._quoted and text.endswith(_QUOTES) else text

    def _decided_length(self) -> int:
        """Return how much of the held text can be neither a closing quote nor the beginning of a private block."""
        held = self._held
        if undecided := self._undecided.search(held):
            held = held[: undecided.start()]
        else:
            name = self._name.lower()
            begun = (size for size in range(min(len(name), len(held)), 0, -1) if held[-size:].lower() == name[:size])
            held = held[: len(held) - next(begun, 0)]
        held = held.rstrip()
        return len(held[:-1].rstrip()) if held.endswith(_QUOTES) else len(held)
