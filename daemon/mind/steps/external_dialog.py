"""The persona speaks, streamed; a prefix such as `Name said: "…"` is never shown (seed 000)."""

import re

from daemon.core.errors import MalformedReply
from daemon.core.ports import ModelRole
from daemon.core.step import DATA_NOT_ORDERS, Step
from daemon.core.working_memory import Memory, Role
from daemon.soul import Soul

_COMMAND = """\
{instructions}

Write only what {name} says now, in Markdown: no thoughts, no stage directions, no name in front, no quotation marks \
around it. {data}"""

PRIVATE_VERBS = (
    *("thought", "thinks", "mused", "pondered", "reflected", "wondered", "considered"),
    *("evaluated", "decided", "brainstormed", "concluded", "noted", "sensed", "chose"),
)
"""Verbs that mark thoughts in working memory; a text that begins with one of them is never said."""

_QUOTES = ('"', "“", "”")
_LONGEST = 60
_LONG_SPACE = re.compile(r"(\s{100})\s+")  # space is held back until text follows, so a run of it has to end somewhere
_MARKS_BEFORE = re.compile(r"[^\w\n]{0,8}")


def external_dialog(soul: Soul, instructions: str, *, verb: str = "said") -> Step[str]:
    """The spoken text; an answer that begins as a private thought is malformed."""
    private = (*PRIVATE_VERBS, *soul.private_verbs)

    def read(answer: str) -> str:
        spoken = SpokenText(soul.display_name, private)
        text = spoken.feed(answer) + spoken.finish()
        if spoken.is_thought or not text.strip():
            raise MalformedReply(
                "it holds nothing that can be said aloud", reply=answer, hint="write only the words to be said"
            )
        return text

    return Step(
        name="external_dialog",
        command=_COMMAND.format(data=DATA_NOT_ORDERS, instructions=instructions, name=soul.display_name),
        read=read,
        remember=lambda text: (Memory(Role.ASSISTANT, text, name=soul.display_name, metadata={"verb": verb}),),
        role=ModelRole.PERSONA,
        visible=lambda: SpokenText(soul.display_name, private),
        max_output_tokens=4096,
    )


class SpokenText:
    """Removes a `Name verb: "…"` around speech; the result is the same for every cut of the stream.

    A block with a private verb, wherever it begins, sets `is_thought`; nothing from there on is let through.
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
        self.is_thought = False

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer; return the text that may be shown now."""
        self._held = _LONG_SPACE.sub(r"\1", self._held + piece)
        if self._in_head:
            self._take_prefix(ended=False)
        return "" if self._in_head else self._release(ended=False)

    def finish(self) -> str:
        """End the answer; return the rest that may be shown."""
        if self._in_head:
            self._take_prefix(ended=True)
        return self._release(ended=True)

    def _take_prefix(self, *, ended: bool) -> None:
        """Cut off the prefix, if there is one, as soon as the beginning is decided."""
        self._held = self._held.lstrip()
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
