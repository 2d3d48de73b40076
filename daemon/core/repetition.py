"""Detection of endless repetition in a model's text."""

from typing import Final

_KEY: Final = 40  # characters at the end of a text by which an earlier copy is found
_WINDOW: Final = 8192  # characters in which it is searched
_STEP: Final = 32
_SHORTEST: Final = 32  # characters of copies; code and tables that are cut off end in a few
_COPIES: Final = 8
_ENDLESS: Final = 2000  # characters; shorter repetitions have their uses


class Repetition:
    """The filter of a text that passes only two copies of a repeated run, until new words follow.

    `endless`: none came for 2,000 characters and eight copies. What was held back is dropped then.
    """

    def __init__(self) -> None:
        self._text = ""
        self._held = ""
        self._period = 0
        self._repeated = 0  # characters that equal those one period before them

    @property
    def endless(self) -> bool:
        return self._period > 0 and self._repeated >= max(_ENDLESS, (_COPIES - 1) * self._period)

    def feed(self, piece: str) -> str:
        """Take the next piece. Return the text that may pass."""
        passed = []
        for start in range(0, len(piece), _STEP):
            if self.endless:
                break
            passed.append(self._take(piece[start : start + _STEP]))
        return "".join(passed)

    def finish(self) -> str:
        """End the text. Return what was held back."""
        held, self._held = self._held, ""
        return "" if self.endless else held

    def _take(self, part: str) -> str:
        text = self._text = (self._text + part)[-_WINDOW:]
        size, period = len(part), self._period
        if period and text[-size:] == text[-size - period : -period]:
            self._repeated += size
        else:
            self._period = period = _period_of(text)
            self._repeated = _repeated(text, period) if period else 0
        spare = self._repeated - max(period, _KEY) if period else -1
        if spare < 0:
            released, self._held = self._held + part, ""
            return released
        shown = "" if self._held else part[: max(0, size - spare)]
        self._held += part[len(shown) :]
        return shown


def without_repeats(text: str) -> str:
    """Return a text that ends in copies of a run with the first copy alone, and any other text unchanged."""
    whole = text.rstrip()
    for key in (_KEY, _KEY // 2, _KEY // 3):  # a short run that the text begins with holds no longer one
        kept, period = whole, _period_of(whole, key)
        run = kept[-period:].strip() if period else ""
        while run and (before := kept.removesuffix(run).rstrip()).endswith(run):
            kept = before
        if len(whole) - len(kept) >= _SHORTEST:
            return kept
    return text


def _period_of(text: str, key: int = _KEY) -> int:
    """Return the distance from a text's end to an earlier copy of it. 0 if there is none, or for a dash line."""
    found = text.rfind(text[-key:], 0, len(text) - 1) if len(text) > key else -1
    period = len(text) - key - found
    return period if found >= 0 and period > 1 else 0


def _repeated(text: str, period: int) -> int:
    pairs = zip(reversed(text), reversed(text[:-period]), strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), len(text) - period)
