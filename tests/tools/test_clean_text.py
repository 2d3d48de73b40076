"""Foreign text is shown without invisible characters, and never longer than the limit."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from daemon.tools.mcp.server_config import clean, short_line


@given(st.text(), st.integers(1, 50))
def test_the_result_is_visible_and_within_the_limit(text: str, limit: int) -> None:
    shown, _, note = clean(text, limit).partition("\n… [")
    assert len(shown) <= limit
    assert not note or note.endswith(" more characters left out]")
    assert not [one for one in shown if unicodedata.category(one) in {"Cc", "Cf", "Co", "Cs"} and one not in "\n\t"]
    line = short_line(text, limit)
    assert len(line) <= limit
    assert line == " ".join(line.split())


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x2FF)))
def test_plain_text_is_unchanged(text: str) -> None:
    assert clean(text, 1000) == text.strip()


def test_invisible_characters_are_removed_and_the_note_counts_those_left_out() -> None:
    for unseen in ("\u200b", "\u202e", "\U000e0061", "\ufe0f", "\U000e0100", "\u3164", "\x1b", "\0"):
        assert clean(f"a{unseen}b", 10) == "ab", ascii(unseen)
    assert clean("a\r\nb\rc\u2028d\x85e\tf", 50) == "a\nb\nc\nd\ne\tf"
    assert clean("a" * 100, 10) == "a" * 10 + "\n… [90 more characters left out]"
    assert clean("\u200b" * 30 + "b" * 30, 10) == "b" * 10 + "\n… [20 more characters left out]"
    assert short_line("a\nb" * 100, 5) == "a ba"
