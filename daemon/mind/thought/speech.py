"""Lets the speech out of a thought while it streams, and nothing else of it."""

import jiter

from daemon.mind.thought.answer_text import is_no_speech, may_be_no_speech

_SPEECH, _WISH = "external_speech", "calls_for"


class SpeechInThought:
    """A `StreamFilter` over the JSON of a thought: only its first top-level `external_speech` passes, unescaped.

    The answer has to begin with its brace: with chatter in front nothing passes. From a second key of any name, a
    broken place or another object on nothing more passes, so that what passed is always the beginning of what is
    read at the end, however the answer is cut into pieces. `wish` are the words of `calls_for`, once they are whole;
    None before, and where the answer begins with anything else. A word for nothing, such as `null`, is no speech: what
    may still be one is held back.
    """

    def __init__(self) -> None:
        self.wish: str | None = None
        self._begun = False
        self._answer = ""
        self._shown = 0
        self._ended = False

    def feed(self, piece: str) -> str:
        """Take the next piece; return the words that are certainly said now, often ""."""
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
        """End the answer; whatever may be shown has been."""
        self._ended = True
        return ""

    def _look_for_wish(self, answer: bytes) -> None:
        """Take the first field that is whole; raises ValueError where the answer is broken."""
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
