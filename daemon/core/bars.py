"""A curve in one line of text: a bar for each number, the highest as high as the line."""

from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_NOTHING: Final = "·"


def bar_line(numbers: Sequence[float]) -> str:
    """A bar for each number, a dot for zero and less."""
    most = max(numbers, default=0.0)
    return "".join(_BARS[_height(one, most)] if one > 0 else _NOTHING for one in numbers)


def _height(number: float, most: float) -> int:
    return min(len(_BARS) - 1, int(number / most * len(_BARS)))
