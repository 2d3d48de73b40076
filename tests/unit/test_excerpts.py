"""Texts within a budget: shares that are even, and pages."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.working_memory import estimate_tokens
from daemon.ism.excerpts import pages, share_evenly, text_pages

TEXTS = st.text(alphabet="ab ñ語😀\n.", max_size=400)


@given(st.lists(st.integers(0, 500), max_size=8), st.integers(0, 1_000))
def test_shares_are_even_and_nothing_is_wasted(needs: list[int], total: int) -> None:
    shares = share_evenly(needs, total)
    assert all(0 <= share <= need for share, need in zip(shares, needs, strict=True))
    assert sum(shares) <= total
    assert sum(shares) == sum(needs) or sum(shares) > total - max(1, len(needs))


@given(TEXTS, st.integers(150, 300))
def test_pages_of_a_text_hold_all_of_it(text: str, tokens: int) -> None:
    parts = text_pages(text, tokens)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert len(parts) >= 1


@given(st.lists(TEXTS, max_size=12), st.integers(1, 200))
def test_pages_hold_every_text_once_and_in_order(texts: list[str], tokens: int) -> None:
    parts = pages(texts, tokens)
    assert [place for page in parts for place in page] == list(range(len(texts)))
    sizes = [sum(estimate_tokens(texts[place]) for place in page) for page in parts if len(page) > 1]
    assert all(size <= tokens for size in sizes)
