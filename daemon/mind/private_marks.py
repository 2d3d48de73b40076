"""Withholds what a model marks as private within its own speech: an aside in brackets, its own JSON, our fences."""

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
    """Passes on speech without what is private in it by its marks; the result is the same for every cut of the stream.

    An aside in brackets that is called a thought (`(thinks: …)`) is left out. A text that begins as the JSON of a
    thought, an aside that is not closed, and one of the fences in which a prompt shows its data set `met`: nothing from
    there on is passed on. A fence of what people say around the whole speech is taken off, as of one who imitates them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._at_head = True
        self._wrapped = False
        self._closing: list[str] = []
        self.met = False

    def feed(self, piece: str) -> str:
        """Take the next piece of the speech; return what of it is certainly said."""
        self._held += piece
        return self._released(ended=False)

    def finish(self) -> str:
        """End the speech; return the rest of what is said."""
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
        """Whether it is known if the text is wrapped in a fence, and if it is the JSON of a thought: `met` says so."""
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
        """Drop what stands in an aside, up to its closing bracket."""
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
        """Where what may yet become a mark begins; the end where nothing may."""
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
