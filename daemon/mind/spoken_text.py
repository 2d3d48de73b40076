"""Removes what models put around spoken words: a name in front, quotation marks, lines of thought."""

import re

from daemon.mind.private_marks import PrivateMarks

PRIVATE_VERBS = (
    *("thought", "thinks", "mused", "pondered", "reflected", "wondered", "considered"),
    *("evaluated", "decided", "brainstormed", "concluded", "noted", "sensed", "chose"),
)
"""Verbs that mark thoughts in working memory; a text that begins with one of them is never said."""

_QUOTES = ('"', "“", "”")
_LONGEST = 60
_LONG_SPACE = re.compile(r"(\s{100})\s+")  # space is held back until text follows, so a run of it has to end somewhere
_MARKS_BEFORE = re.compile(r"[^\w\n]{0,8}")
_LABELS = (
    *("thought", "thought process", "thinking", "thinking process", "inner monologue", "internal monologue"),
    *("here's my thought process", "here is my thought process"),
)
_THOUGHT_LABEL = re.compile(rf"[^\w\n]{{0,8}}(?:{'|'.join(_LABELS)})[^\w\n:]{{0,4}}:[^\w\n]{{0,4}}", re.IGNORECASE)
_ANSWER_LABEL = re.compile(
    r"[^\w\n]{0,8}(?:(?:final )?(?:answer|response|reply)|here(?:'s| is) my response)[^\w\n:]{0,4}:[^\w\n]{0,4}\s*",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LONGEST_LABEL = 48


class SpokenText:
    """Removes a `Name verb: "…"` around speech; the result is the same for every cut of the stream.

    A paragraph at the beginning that is called a thought (`Thought: …`) is removed too; where no blank line follows,
    its first line. A block with a private verb, wherever it begins, sets `is_thought`; nothing from there on is let
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
        """Take the next piece of the answer; return the text that may be shown now."""
        return self._taken(self._marks.feed(piece) if self._marks else piece)

    def _taken(self, piece: str) -> str:
        self._held = _LONG_SPACE.sub(r"\1", self._held + piece)
        if self._in_head:
            self._take_prefix(ended=False)
        return "" if self._in_head else self._release(ended=False)

    def finish(self) -> str:
        """End the answer; return the rest that may be shown."""
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
        """Cut off what is called a thought; False while that is not decided."""
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
            and len(self._held) < _LONGEST_LABEL
            and any(one.startswith(begun) or begun.startswith(one) for one in _LABELS)
        ):
            return ":" in begun
        if self._after_thought:
            if not ended and len(self._held) < _LONGEST_LABEL:
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
        """How much of the held text can be neither a closing quote nor the beginning of a private block."""
        held = self._held
        if undecided := self._undecided.search(held):
            held = held[: undecided.start()]
        else:
            name = self._name.lower()
            begun = (size for size in range(min(len(name), len(held)), 0, -1) if held[-size:].lower() == name[:size])
            held = held[: len(held) - next(begun, 0)]
        held = held.rstrip()
        return len(held[:-1].rstrip()) if held.endswith(_QUOTES) else len(held)
