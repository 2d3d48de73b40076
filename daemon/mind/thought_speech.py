"""Prepares the text of an answer for reading as JSON, and reads its speech while it streams."""

import re
from typing import Final

import jiter

from daemon.core.text import storable

_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")  # its escape, behind whole escapes of backslashes
_SURROGATES: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
    r"|\\ud[89a-f][0-9a-f]{2}(?!(?:\\(?:u[0-9a-f]{0,3})?)?\Z))",  # the other half may be what is cut off
    re.IGNORECASE,
)
_PAIR: Final = len(r"\ud83d\ude00")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|["\[\]{},]', re.DOTALL)
NOTHING: Final = frozenset(("none", "null", "nil", "undefined", "n/a", '""', "''"))
"""The words, in lower case, that models write in place of nothing."""
_NO_SPEECH: Final = NOTHING | {
    "",
    "(silence)",
    "[silence]",
    "(silent)",
    "(none)",
    "(nothing)",
    "(no reply)",
    "[]",
    "{}",
}
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"\s*', re.DOTALL)
_DEEPEST: Final = 2
"""The deepest level of parts: the object itself, and the lists and objects in it."""


def storable_answer(answer: str) -> str:
    """Return an answer without NUL and halves of characters, also as JSON escapes: SQLite stores neither."""
    text = _NUL.sub(r"\1", storable(answer)).replace("\0", "")
    return _SURROGATES.sub(lambda found: found[0] if len(found[2]) == _PAIR else rf"{found[1]}\ufffd", text)


def whole_parts(begun: str) -> str:
    """Return the complete parts of an answer that was cut off: no half item of a list, no unfinished number."""
    depth = end = 0
    for token in _TOKEN.finditer(begun):
        match token[0]:
            case '"':
                break  # words that don't end
            case "{" | "[":
                depth += 1
            case ",":
                end = token.start() if depth <= _DEEPEST else end
            case "]" | "}":
                depth -= 1
                end = token.end() if depth <= _DEEPEST else end
            case _:
                end = token.end() if depth <= _DEEPEST else end
    return begun[:end]


def is_misquoted(begun: str) -> bool:
    """Return whether a JSON string ends at an unescaped quotation mark within the text.

    A reader of partial JSON would take it for the end of the input, and the string for complete.
    """
    ends = (found.end() for found in _STRING.finditer(begun))
    return any(end < len(begun) and begun[end] not in ",:}]" for end in ends)


def is_no_speech(words: str) -> bool:
    """Return whether the words of a speech only say that there is none."""
    return words.strip().casefold() in _NO_SPEECH


def may_be_no_speech(begun: str) -> bool:
    """Return whether a speech with this beginning may still only say that there is none."""
    said = begun.strip().casefold()
    return any(one.startswith(said) for one in _NO_SPEECH)


_SPEECH, _WISH = "external_speech", "calls_for"


class SpeechInThought:
    """A `StreamFilter` over the JSON of a thought. Only its first top-level `external_speech` passes, unescaped.

    The answer has to begin with its brace, otherwise nothing passes. After a repeated key, a broken place or another
    object nothing more passes. What passed is therefore always the beginning of the final speech, however the stream
    is cut. `wish` is the complete text of `calls_for`, None before, and where the answer begins with another field. A
    word for nothing, such as `null`, is no speech, so text that may become one is held back.
    """

    def __init__(self) -> None:
        self.wish: str | None = None
        self._begun = False
        self._answer = ""
        self._shown = 0
        self._ended = False

    def feed(self, piece: str) -> str:
        """Take the next piece, and return the words that are certainly said now, often ""."""
        if self._ended:
            return ""
        self._answer += piece
        begun = self._answer.lstrip()
        if not begun.startswith("{"):
            self._ended = bool(begun)
            return ""
        try:
            answer = begun.encode()
            self._look_for_wish(answer)
            found = jiter.from_json(
                answer, partial_mode="trailing-strings", catch_duplicate_keys=True, allow_inf_nan=False
            )
        except ValueError:  # UnicodeEncodeError of a lone surrogate among them
            self._ended = True
            return ""
        return self._released(found)

    def finish(self) -> str:
        self._ended = True
        return ""

    def _look_for_wish(self, answer: bytes) -> None:
        """Take the first complete field. Raises ValueError where the answer is broken."""
        if self._begun:
            return
        whole = jiter.from_json(answer, partial_mode="on", allow_inf_nan=False)
        for name, words in whole.items():
            self._begun = True
            self.wish = words if name == _WISH and isinstance(words, str) else None
            break

    def _released(self, found: dict[str, object]) -> str:
        said = found.get(_SPEECH)
        if _SPEECH in found and next(reversed(found)) != _SPEECH:  # another key follows, so it is whole
            self._ended = True
        said = said.replace("\0", "") if isinstance(said, str) else None  # as the thought is read
        if said is None or (is_no_speech(said) if self._ended else may_be_no_speech(said)):
            return ""
        fresh, self._shown = said[self._shown :], len(said)
        return fresh
