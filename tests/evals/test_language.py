"""The language of a reply shows in its letters and its short words, and never from code in it."""

import tomllib
from pathlib import Path

import pytest

from evals.language import Language, language_of

SAMPLES: dict[str, str] = tomllib.loads(Path(__file__).with_name("languages.toml").read_text(encoding="utf-8"))


def test_every_language_that_a_scenario_may_ask_for_has_a_sample_here() -> None:
    assert SAMPLES.keys() == set(Language)


@pytest.mark.parametrize("code", SAMPLES)
def test_a_sentence_is_recognised(code: str) -> None:
    assert language_of(SAMPLES[code]) == code


def test_code_addresses_and_mentions_have_no_language() -> None:
    assert language_of("```\nwhile the is not for you: and\n```") is None
    assert (
        language_of(f"{SAMPLES['de']} ```if this and that is for you and the``` https://the.example/is/for/you") == "de"
    )
    assert language_of("<@U0ADA> @Soul") is None


@pytest.mark.parametrize("text", ["", "42", "👍", "Ada Byron, Ben Okri, Chloe Laurent"])
def test_what_has_no_language_is_none(text: str) -> None:
    assert language_of(text) is None


def test_what_is_quoted_does_not_count_unless_there_is_nothing_else() -> None:
    quoted = f"No language model is set up, so I can only repeat it. You wrote \u201c{SAMPLES['ja']}\u201d."
    assert language_of(quoted) == "en"
    assert language_of(f"\u201e{SAMPLES['de']}\u201c") == "de"
