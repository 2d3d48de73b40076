"""What a soul says to *not now* names each goal in the quotation marks of its language."""

from pathlib import Path

from daemon.core.sentences import HOUSE_WORDS
from daemon.runtime.people.inviting import named
from daemon.soul import load_soul

SOULS = Path(__file__).parents[2] / "souls"


def test_what_is_declined_is_named_in_the_quotation_marks_of_the_language() -> None:
    german = load_soul(SOULS, "minoan").words_in("de")
    table = [
        (HOUSE_WORDS, ("the ship",), "All right, I won't come back to “the ship”."),
        (HOUSE_WORDS, ("a", "b", "c"), "All right, I won't come back to “a”, “b” and “c”."),
        (german, ("das Fahrrad",), "Gut, ich komme nicht auf „das Fahrrad“ zurück."),
        (german, ("a", "b"), "Gut, ich komme nicht auf „a“ und „b“ zurück."),
    ]
    for words, goals, said in table:
        assert words.say("promises_declined", what=named(words, goals)) == said
