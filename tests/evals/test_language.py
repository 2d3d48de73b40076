"""The language of a reply shows in its letters and its short words, and never from code in it."""

import tomllib
from pathlib import Path

from evals.language import Language, language_of

SAMPLES: dict[str, str] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))


def test_every_language_is_recognised_by_its_own_words_and_code_names_and_quotations_have_none() -> None:
    assert SAMPLES.keys() == set(Language)
    assert {code: language_of(text) for code, text in SAMPLES.items()} == {code: code for code in SAMPLES}
    code = "```\nwhile the is not for you: and\n```"
    for text in ("", "42", "👍", "Ada Byron, Ben Okri, Chloe Laurent", code, "<@U0ADA> @Soul"):
        assert language_of(text) is None, text
    behind = "```if this and that is for you and the``` https://the.example/is/for/you"
    assert language_of(f"{SAMPLES['de']} {behind}") == "de"
    quoted = f"No language model is set up, so I can only repeat it. You wrote \u201c{SAMPLES['ja']}\u201d."
    assert language_of(quoted) == "en"
    assert language_of(f"\u201e{SAMPLES['de']}\u201c") == "de"
