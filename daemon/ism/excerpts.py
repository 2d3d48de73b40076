"""Shows texts within a budget of tokens: found passages as windows around what was looked for, long texts as pages."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from daemon.core.ports.library import Passage
from daemon.core.windows import window_of_tokens
from daemon.core.words import Term
from daemon.core.working_memory import estimate_tokens

RESEARCH_TOKENS = 2_400
"""Estimated tokens that the passages found by one search share, their sources included."""

PAGE_TOKENS = 1_800
"""Estimated tokens of one page."""

_BREAK = 1  # token of the line between two passages
_PIECE = 400  # characters of a line that is too long for a page


def excerpts(found: Iterable[tuple[int, Passage]], terms: Sequence[Term], tokens: int = RESEARCH_TOKENS) -> str:
    """Numbered passages with their sources, each whole or as the window with most of the search terms.

    The passages share the tokens evenly; what one does not need is the others'.
    """
    listed = [(f"[{number}] {one.source}\n", one.text) for number, one in found]
    left = tokens - sum(estimate_tokens(head) + _BREAK for head, _ in listed)
    needs = [estimate_tokens(text) for _, text in listed]
    return "\n\n".join(
        head + (text if share == need else window_of_tokens(text, terms, share))
        for (head, text), need, share in zip(listed, needs, share_evenly(needs, left), strict=True)
    )


def share_evenly(needs: Sequence[int], total: int) -> list[int]:
    """What each gets of a total: no more than it needs, and what is left over is shared among the others."""
    shares = [0] * len(needs)
    for rank, place in enumerate(sorted(range(len(needs)), key=lambda place: needs[place])):
        shares[place] = max(0, min(needs[place], total // (len(needs) - rank)))
        total -= shares[place]
    return shares


def pages(texts: Sequence[str], tokens: int = PAGE_TOKENS) -> list[range]:
    """Texts in order, as pages of at most so many tokens; a text that is longer is a page of its own."""
    breaks, left = [0], tokens
    for place, text in enumerate(texts):
        needed = estimate_tokens(text)
        if needed > left and place > breaks[-1]:
            breaks.append(place)
            left = tokens
        left -= needed
    return [range(start, end) for start, end in pairwise((*breaks, len(texts)))]


def text_pages(text: str, tokens: int = PAGE_TOKENS) -> list[str]:
    """A text as pages of at most so many tokens, between lines where that is possible; at least one page."""
    pieces = [
        line[start : start + _PIECE] for line in text.splitlines(keepends=True) for start in range(0, len(line), _PIECE)
    ]
    return ["".join(pieces[place] for place in page).strip("\n") for page in pages(pieces, tokens)]
