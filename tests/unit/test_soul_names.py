"""A name means the soul that people see under it: by the whole name, its first word, or the folder."""

from daemon.core.soul_names import commands_of, shown_names, souls_named

_CALLED = {
    "split": "Tess",
    "minoan": "Kothar wa Khasis",
    "rolf": "Kim",
    "old": "Kim",
    "new-ada": "Ada Two",
    "ada": "Ada",
}


def test_the_name_that_people_see_means_the_soul_and_folders_tell_those_of_one_name_apart() -> None:
    table: dict[str, tuple[str, ...]] = {
        "Tess": ("split",),
        "split": ("split",),
        "kothar": ("minoan",),
        "KOTHAR  wa khasis": ("minoan",),
    }
    table |= {"Khasis": (), "Kim": ("old", "rolf"), "rolf": ("rolf",), "Ada": ("ada",), "": ()}
    assert {name: souls_named(name, _CALLED) for name in table} == table
    assert shown_names(("rolf", "old", "minoan", "gone"), _CALLED) == "Kim (old), Kim (rolf), Kothar wa Khasis, gone"


def test_a_name_that_several_souls_bear_makes_no_slash_command() -> None:
    called = {"minoan": "Kothar wa Khasis", "rolf": "Kim", "old": "Kim", "ada": "Old", "homer": "\u1f4d\u03bc"}
    folders = {f"/{one}": one for one in called}
    assert commands_of(called) == {**folders, "/kothar-wa-khasis": "minoan"}
