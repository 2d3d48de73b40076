"""What words tell of where a person is, and the rules that a reply keeps there, at every cut of the stream."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from daemon.mind.reply_rules import MOST_WHEN_ALERT, ReplyRule, ReplyRules
from daemon.mind.situation import Location, asks_for_all_code, situation_of

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


def test_place_haste_stakes_and_code_in_full_are_known_where_somebody_says_so() -> None:
    for words, place in (
        ("I'm on my phone, how do I grep?", Location.MOBILE),
        ("I’m on mobile", Location.MOBILE),  # noqa: RUF001 - as phones write it
        ("typing this from my phone", Location.MOBILE),
        ("How do I grep? On my phone right now.", Location.MOBILE),
        ("Ich bin gerade am Handy", Location.MOBILE),
        ("I was on my phone. I'm at my desk now", Location.LOCAL),
        ("I'm no longer on my phone", Location.LOCAL),
        ("I'm on the production server", Location.CLOUD),
        ("my phone is broken", ""),
        ("I was on the phone with Ben", ""),
        ("I am not on my way", ""),
        ("I wasn't on my phone", ""),
        ("if I'm on my phone, what then?", ""),
        ("> I'm on my phone\nsaid Ben", ""),
        ("grep `I'm on my phone` notes.txt", ""),
    ):
        assert situation_of(words).location_context == place
    assert situation_of("It's urgent, production is down").time_pressure == "high"
    assert situation_of("It's urgent, production is down").stakes_level == "high"
    assert situation_of("It's not urgent").time_pressure == "low"
    assert situation_of("How do I grep?") == situation_of("")
    for words, asked in (
        ("show me the rest", True),
        ("the rest, please", True),
        ("Give me the whole script", True),
        ("Zeig mir den Rest", True),
        ("show me how to grep", False),
        ("the rest of the meeting was fun", False),
        ("he wrote `show me the rest`", False),
    ):
        assert asks_for_all_code(words) is asked
