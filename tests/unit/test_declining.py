"""What a soul says to *not now* names each goal in the quotation marks of its language."""

from pathlib import Path

import pytest

from daemon.core.sentences import HOUSE_WORDS
from daemon.runtime.people.promises import named
from daemon.soul import load_soul

SOULS = Path(__file__).parents[2] / "souls"


@pytest.mark.parametrize(
    ("language", "goals", "said"),
    [
        ("en", ("the ship",), "All right, I won't come back to “the ship”."),
        ("en", ("a", "b", "c"), "All right, I won't come back to “a”, “b” and “c”."),
        ("de", ("das Fahrrad",), "Gut, ich komme nicht auf „das Fahrrad“ zurück."),
        ("de", ("a", "b"), "Gut, ich komme nicht auf „a“ und „b“ zurück."),
    ],
)
def test_what_is_declined_is_named_in_the_quotation_marks_of_the_language(
    language: str, goals: tuple[str, ...], said: str
) -> None:
    words = load_soul(SOULS, "minoan").words_in(language) if language != "en" else HOUSE_WORDS
    assert words.say("promises_declined", what=named(words, goals)) == said
