"""Which of the earlier turns a prompt shows: whole turns within a budget, cut rarely, so that prefixes stay equal."""

from collections.abc import Sequence
from math import ceil

from daemon.core.working_memory import Memory, Role, estimate_tokens
from daemon.soul import Budgets

TURN_OVERHEAD = 20
"""Tokens that a fence costs around one turn of a user's, or around a note."""

CUT_TURN = 2_000
"""The most tokens that the prompt gives to a turn that met the output limit, most of them to its end."""

_OWN_OVERHEAD = 26  # around a turn of the soul's own: the elements of its form with verb and wish
_BESIDE_CUT = 140  # around a turn that was cut, the question before it, and the note behind it

_BLOCKS = 4  # of the budget: turns that don't fit leave the prompt by whole blocks


def transcript_window(
    turns: Sequence[Memory], budget: int, turn_budget: int = Budgets().turn
) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """Split turns into older ones, for the summary, and recent ones, shown whole, that fit the budget in tokens.

    Unless all turns fit, the recent ones begin with a user's turn, never with the soul's.
    """
    start, left = len(turns), budget
    for index in range(len(turns) - 1, -1, -1):
        left -= _cost(turns[index], budget, turn_budget)
        if left < 0:
            break
        start = index
    start = _at_user(turns, start)
    return tuple(turns[:start]), tuple(turns[start:])


def shown_turns(turns: Sequence[Memory], budget: int, turn_budget: int = Budgets().turn) -> tuple[Memory, ...]:
    """The recent turns that a prompt shows; they fit the budget.

    Where not all fit, a quarter of the budget more is left out at once. So the first turn shown stays the same for a
    while as the talk goes on, and each prompt begins as the one before it.
    """
    older, recent = transcript_window(turns, budget, turn_budget)
    if not older:
        return recent
    block = max(1, budget // _BLOCKS)
    costs = [_cost(turn, budget, turn_budget) for turn in turns]
    left_out = ceil(sum(costs[: len(older)]) / block) * block
    start, passed = 0, 0
    while start < len(turns) and passed < left_out:
        passed += costs[start]
        start += 1
    return tuple(turns[_at_user(turns, start) :])


def turns_read(budgets: Budgets) -> int:
    """How many of the newest turns have to be read so that all that fit are among them, with their first in place.

    Twice what fits: while a summary is late, the turns read begin at the same one all the same.
    """
    return 2 * (budgets.transcript // TURN_OVERHEAD + 1)


def shown_of(turn: Memory, budget: int, turn_budget: int) -> int:
    """The most tokens of a turn that a prompt shows; one that was cut off leaves room for the question before it."""
    if "cut" not in turn.metadata:
        return turn_budget
    return min(CUT_TURN, max(budget // 2, budget - turn_budget - _BESIDE_CUT))


def _cost(turn: Memory, budget: int, turn_budget: int) -> int:
    around = _OWN_OVERHEAD if turn.role is Role.ASSISTANT else TURN_OVERHEAD
    return min(estimate_tokens(turn.content), shown_of(turn, budget, turn_budget)) + around


def _at_user(turns: Sequence[Memory], start: int) -> int:
    while 0 < start < len(turns) and turns[start].role is Role.ASSISTANT:
        start += 1
    return start
