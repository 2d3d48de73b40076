"""A name means the soul that people see under it: by the whole name, its first word, or the folder."""

import pytest

from daemon.core.soul_names import commands_of, shown_names, souls_named

_CALLED = {
    "split": "Tess",
    "minoan": "Kothar wa Khasis",
    "rolf": "Kim",
    "old": "Kim",
    "new-ada": "Ada Two",
    "ada": "Ada",
}


@pytest.mark.parametrize(
    ("name", "souls"),
    [
        ("Tess", ("split",)),
        ("split", ("split",)),
        ("kothar", ("minoan",)),
        ("KOTHAR  wa khasis", ("minoan",)),
        ("Khasis", ()),
        ("Kim", ("old", "rolf")),
        ("rolf", ("rolf",)),
        ("Ada", ("ada",)),
        ("", ()),
    ],
)
def test_the_name_that_people_see_means_the_soul(name: str, souls: tuple[str, ...]) -> None:
    assert souls_named(name, _CALLED) == souls


def test_souls_that_are_called_the_same_are_told_apart_by_their_folders() -> None:
    assert shown_names(("rolf", "old", "minoan", "gone"), _CALLED) == "Kim (old), Kim (rolf), Kothar wa Khasis, gone"


def test_a_name_that_several_souls_bear_makes_no_slash_command() -> None:
    called = {"minoan": "Kothar wa Khasis", "rolf": "Kim", "old": "Kim", "ada": "Old", "homer": "\u1f4d\u03bc"}
    folders = {f"/{one}": one for one in called}
    assert commands_of(called) == {**folders, "/kothar-wa-khasis": "minoan"}
