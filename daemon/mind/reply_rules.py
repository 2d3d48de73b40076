"""Rules that every reply keeps, as it streams and at its end (seed 004, section 6): few lines of code, few words.

Each filter gives the same for every cut of the stream. What it leaves out is never shown.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.text import close_fence

MOST_CODE_LINES: Final = 3
"""Lines of code that a reply shows to a user on a phone, unless they ask for all of it (rule 2)."""

MOST_WHEN_ALERT: Final = 600
"""Characters of a reply while something intense and sharp was just felt (rule 5)."""

ALERT_INTENSITY, ALERT_TEXTURE = 0.9, "sharp"
"""The qualia from which on the soul is on the alert."""

_MARK: Final = re.compile(r"[ \t>]{0,32}(`{3,}|~{3,})([^`\n]*)")
_MAYBE_MARK: Final = re.compile(r"[ \t>]{0,32}(?:`{3}|~{3}|(?:`{0,2}|~{0,2})\Z)")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE_END: Final = re.compile(r"""[.!?…。！？]["'”’)\]*_]*(?=\s)|[。！？]|\n(?=\n)""")  # noqa: RUF001 - of any language


class ReplyRule(StrEnum):
    """A rule that a reply may break; each breach is counted."""

    CODE_LINES = "code_lines"
    EPISTEMIC_MODE = "epistemic_mode"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class ReplyRules:
    """The rules of one reply: whether code is kept short, and whether the whole of it is."""

    few_code_lines: bool = False
    alert: bool = False

    def filter(self) -> "RuleFilter":
        """A filter for one reading of the reply."""
        return RuleFilter(self)

    def kept(self, text: str) -> tuple[str, frozenset[ReplyRule]]:
        """A whole text as far as the rules let it through, and the rules that it broke."""
        rules = self.filter()
        return rules.feed(text) + rules.finish(), rules.broken

    @property
    def advice(self) -> str:
        """What the model reads of them; empty where none is in force."""
        code = "They read on a phone: show at most three lines of code; they can ask for the rest."
        brief = "You are on the alert: answer in a few short, plain sentences."
        return " ".join(text for text, holds in ((code, self.few_code_lines), (brief, self.alert)) if holds)


NO_RULES: Final = ReplyRules()


class RuleFilter:
    """Lets through what the rules allow; `broken` names those that something was left out for."""

    def __init__(self, rules: ReplyRules) -> None:
        self._code = _CodeLines() if rules.few_code_lines else None
        self._brief = _Brief() if rules.alert else None

    def feed(self, piece: str) -> str:
        """Take the next piece of the reply; return what may be shown now."""
        text = self._code.feed(piece) if self._code else piece
        return self._brief.feed(text) if self._brief else text

    def finish(self) -> str:
        """End the reply; return the rest that may be shown."""
        rest = self._code.finish() if self._code else ""
        return self._brief.feed(rest) + self._brief.finish() if self._brief else rest

    @property
    def broken(self) -> frozenset[ReplyRule]:
        """The rules that the reply so far broke."""
        found = {
            ReplyRule.CODE_LINES: self._code is not None and self._code.left_out,
            ReplyRule.ALERT: self._brief is not None and self._brief.ended,
        }
        return frozenset(rule for rule, broken in found.items() if broken)


class _CodeLines:
    """Leaves out the lines of fenced code behind the first few, and the fences of a block of which none is left."""

    def __init__(self) -> None:
        self._line = ""
        self._passing = False  # the line is no fence, and its beginning is shown already
        self._fence = ""
        self._shown = 0
        self._whole_block = False  # nothing of this block is shown
        self.left_out = False

    def feed(self, piece: str) -> str:
        """Take the next piece; lines of prose pass at once, a line that may be a fence or code once it is whole."""
        out = []
        for part in _LINES.findall(piece):
            self._line += part
            if part.endswith("\n"):
                out.append(self._line_ended())
            elif self._passing or not (self._fence or _MAYBE_MARK.match(self._line)):
                self._passing = True
                out.append(self._line)
                self._line = ""
        return "".join(out)

    def finish(self) -> str:
        """End the text; return the rest."""
        return self._line_ended() if self._line else ""

    def _line_ended(self) -> str:
        line, self._line, passing, self._passing = self._line, "", self._passing, False
        if passing:
            return line
        mark = _MARK.fullmatch(line.rstrip("\r\n"))
        if not self._fence:
            return self._open(mark[1], line) if mark else line
        if mark and mark[1].startswith(self._fence) and not mark[2].strip():
            self._fence = ""
            return "" if self._whole_block else line
        return self._code_line(line)

    def _open(self, fence: str, line: str) -> str:
        self._fence, self._whole_block = fence, self._shown >= MOST_CODE_LINES
        self.left_out = self.left_out or self._whole_block
        return "" if self._whole_block else line

    def _code_line(self, line: str) -> str:
        if self._shown >= MOST_CODE_LINES:
            self.left_out = self.left_out or bool(line.strip())
            return ""
        self._shown += bool(line.strip())
        return line


class _Brief:
    """Ends a text that grows too long behind its last sentence within the limit, never inside code."""

    def __init__(self) -> None:
        self._shown, self._held = "", ""
        self.ended = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the sentences that are whole and fit."""
        if self.ended:
            return ""
        self._held += piece
        self.ended = len((self._shown + self._held).rstrip()) > MOST_WHEN_ALERT
        text = self._sentences()
        if self.ended and not self._shown:
            text = self._shown = _cut_at_word(self._held)
        return text

    def finish(self) -> str:
        """End the text; return the rest of one that fits as a whole."""
        return "" if self.ended else self._held

    def _sentences(self) -> str:
        """The whole sentences of what is held back."""
        text = self._shown + self._held
        ends = (hit.end() for hit in _SENTENCE_END.finditer(text, len(self._shown)) if hit.end() <= MOST_WHEN_ALERT)
        end = max((one for one in ends if _outside_code(text[:one])), default=len(self._shown))
        fresh = text[len(self._shown) : end]
        self._shown, self._held = text[:end], text[end:]
        return fresh


def _outside_code(text: str) -> bool:
    return close_fence(text) == text.rstrip()


def _cut_at_word(text: str) -> str:
    whole = text[: MOST_WHEN_ALERT - 40]  # a fence that is open may have to be closed
    return close_fence(f"{whole[: max(whole.rfind(' '), whole.rfind(chr(10)))] if ' ' in whole else whole}…")
