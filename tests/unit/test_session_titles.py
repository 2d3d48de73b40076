"""A session's title is made of a person's own first words, and of nothing else."""

from daemon.core.session_titles import LONGEST, title_of
from tests.chance import dice


def test_the_first_words_make_the_title_of_one_short_line() -> None:
    for said, title in (
        ("Hello there, what is the limit of the export?", "Hello there, what is the limit of the export?"),
        ("Hi! Can you check the kiln? It cracked.", "Hi! Can you check the kiln?"),
        ("Ask <@U0BEN> about this (https://x.example/a/b)", "Ask about this (x.example)"),
        ("See https://docs.example/limits/api?x=1 for *all* `limits`.", "See docs.example for all limits"),
        ("> Ben wrote: the kiln is mine\nIs that so with the kiln?", "Is that so with the kiln?"),
        ("```\nprint(1)\n```\nWhy does this print 1 alone?", "Why does this print 1 alone?"),
        ("[shared a file: plan.pdf]", ""),
        ("> [Ben, forwarded:]\n> all of it", ""),
        ("   \n\u202e\x00", ""),
        ("snake_case_names stay as they are", "snake_case_names stay as they are"),
        ("窯が割れた。どうすればいい。", "窯が割れた。 どうすればいい。"),
    ):
        assert title_of(said) == title
    title = title_of("Please tell me at length how the kiln in the lower workshop came to crack last week")
    assert title == "Please tell me at length how the kiln in the lower workshop…"
    assert title_of("x" * 500) == "x" * (LONGEST - 1) + "…"
    draw = dice("titles")
    pieces = ["<@U1>", "<", ">", "`", "```", "\n", "> ", "[", "]", "https://", "_", "*", "a" * 70, " ", ".", "\u202e"]
    for _ in range(300):
        said = "".join(draw.choice(pieces) for _ in range(draw.randrange(60)))
        title = title_of(said)
        assert len(title) <= LONGEST
        assert "\n" not in title
        assert "<@" not in title
