"""What each part of a prompt may take, so that the whole keeps to one budget.

The soul's texts, the rules, the form of the answer, moment and stance are never shortened for it. What they leave goes
to the mood and the summary, then to the talk, then to the regions of GIVING_WAY in their order: the memories give way
first, the talk last. Two things come on top, with budgets of their own: what a long message, poem or stance takes
beyond WITHIN, and what a step of autonomous work or of a job has to read (regions without a place in REGION_ORDER,
notes and turns).
"""

from collections.abc import Callable, Iterable

from daemon.core.working_memory import estimate_tokens
from daemon.soul import Budgets
from daemon.soul.room import TALK_STEP

WITHIN = 600
"""Tokens that count of the message being answered, a poem to be mended, a stance with its list of contacts.

These are needed whole, and a long one is no reason to forget the talk.
"""

_FRAME = 40  # around everything else: the context elements and what a protocol adds
_PER_MESSAGE = 3  # for its role
_TRIES = 5
_LEAST = 30  # tokens below which a region says nothing

Rendering = Callable[[int], str]
"""Renders a region within a budget for its content; fences and heading come on top."""


def size(texts: Iterable[str]) -> int:
    """The tokens of texts that stand on their own."""
    return sum(estimate_tokens(text) + _PER_MESSAGE for text in texts if text)


def room(budgets: Budgets, fixed: Iterable[str], *long: Iterable[str]) -> int:
    """What is left of the whole prompt beside its fixed parts and those parts that may be long."""
    return budgets.prompt - _FRAME - size(fixed) - sum(min(WITHIN, size(part)) for part in long)


def talk_share(budgets: Budgets, left: int) -> int:
    """What the recent turns may take of what is left."""
    return max(0, min(budgets.transcript, left // TALK_STEP * TALK_STEP))


def within(render: Rendering, budget: int, left: int, *, steady: bool = False) -> str:
    """A region with its heading in what is left, shortened where it has to be; empty where nothing useful fits.

    A `steady` one stands before the talk: its length changes by steps, so that the prefix stays the same for a while.
    """
    left = max(0, left // TALK_STEP * TALK_STEP if steady else left)
    budget = min(budget, left)
    for _ in range(_TRIES):
        if budget < _LEAST:
            break
        text = render(budget)
        over = size((text,)) - left
        if over <= 0:
            return text
        budget -= over
    return ""
