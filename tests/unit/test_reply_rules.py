"""The rules that a reply keeps: the same for every cut of the stream, with nothing shown that they leave out."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from daemon.mind.reply_rules import MOST_WHEN_ALERT, ReplyRule, ReplyRules

PHONE, ALERT = ReplyRules(few_code_lines=True), ReplyRules(alert=True)
PIECES = [
    *("```\n", "```py\n", "``", "~~~\n", "x = 1\n", "\n", "\n\n"),
    *("Done. ", "Well", "! ", "> ", " ", "…", "。", "word " * 30),
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def code(lines: int) -> str:
    return "```py\n" + "".join(f"line_{number}()\n" for number in range(lines)) + "```\n"


def test_code_is_left_out_on_a_phone_and_what_is_too_long_on_the_alert() -> None:
    kept, broken = PHONE.kept(f"Do this:\n{code(5)}Then that:\n{code(2)}And `x = 1`.")
    assert kept == f"Do this:\n{code(3)}Then that:\nAnd `x = 1`."
    assert broken == {ReplyRule.CODE_LINES}
    short = "```\na\n\nb\nc\n```"
    assert PHONE.kept(short) == (short, frozenset())
    text = "This is one of many sentences. " * 40
    kept, broken = ALERT.kept(text)
    assert broken == {ReplyRule.ALERT}
    assert MOST_WHEN_ALERT - 40 < len(kept) <= MOST_WHEN_ALERT
    assert kept.endswith("sentences.")
    for text in ("Short. And plain.", "One that has no end"):
        assert ALERT.kept(text) == (text, frozenset())
    kept, _ = ALERT.kept("word " * 300)
    assert kept.endswith("word…")
    assert len(kept) <= MOST_WHEN_ALERT
    text = "Look at it. Now:\n```\n" + "it. ends\n" * 100 + "```\nDone."
    assert ALERT.kept(text)[0] == "Look at it."


@given(MARKDOWN, st.lists(st.integers(0, 800), max_size=8), st.booleans(), st.booleans())
def test_every_cut_of_the_stream_shows_the_same(text: str, cuts: list[int], phone: bool, alert: bool) -> None:
    rules = ReplyRules(few_code_lines=phone, alert=alert)
    whole, broken = rules.kept(text)
    filtering, places = rules.filter(), [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    shown = "".join(filtering.feed(text[a:b]) for a, b in itertools.pairwise(places)) + filtering.finish()
    assert (shown, filtering.broken) == (whole, broken)
    assert not alert or len(whole.rstrip()) <= MOST_WHEN_ALERT
    assert broken or whole.split() == text.split(), "only blank lines may go"
