"""The names by which people know sessions: of any script, and such as they can type."""

from daemon.core.phrases import phrase_in
from daemon.core.session_names import handle


def test_a_name_of_any_script_is_one_that_people_can_type_and_no_long_text_takes_time() -> None:
    for person, project, name in (
        ("Ада Лавлейс", "интерфейс", "ада-интерфейс"),
        ("प्रिया शर्मा", "api", "प्रिया-api"),
        ("山田 太郎", "プロジェクト", "山田-プロジェクト"),
        ("Jose\u0301", "cafe\u0301", "josé-café"),
        ("\uff21\uff44\uff41", "x", "ada-x"),
        ("\U0001f642", "\u202e..", "person-session"),
    ):
        assert handle(person, project) == name
        found = phrase_in(f"ask {name}: what?")
        assert found is not None, person
        assert (found.name, found.words) == (name, "what?")
    for letter in ("a", "я", "न", "ि", "名", "\u0301"):
        for text in (
            f"ask {letter * 20_000}",
            f"ask {letter}-{letter * 20_000} x",
            f"bind {(letter + '-') * 9_000}! here",
        ):
            assert phrase_in(text) is None, letter
