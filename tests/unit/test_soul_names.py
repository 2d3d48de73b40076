"""Names: which soul is meant by one, and names that stand for ids in what a model reads."""

import re

from hypothesis import given
from hypothesis import strategies as st

from daemon.core.soul_names import commands_of, shown_names, souls_named
from daemon.core.text import ids_in, with_names

_CALLED = {
    "split": "Tess",
    "minoan": "Kothar wa Khasis",
    "rolf": "Kim",
    "old": "Kim",
    "new-ada": "Ada Two",
    "ada": "Ada",
}


def test_the_name_that_people_see_means_the_soul_and_one_of_several_makes_no_slash_command() -> None:
    table: dict[str, tuple[str, ...]] = {
        "Tess": ("split",),
        "split": ("split",),
        "kothar": ("minoan",),
        "KOTHAR  wa khasis": ("minoan",),
    }
    table |= {"Khasis": (), "Kim": ("old", "rolf"), "rolf": ("rolf",), "Ada": ("ada",), "": ()}
    assert {name: souls_named(name, _CALLED) for name in table} == table
    assert shown_names(("rolf", "old", "minoan", "gone"), _CALLED) == "Kim (old), Kim (rolf), Kothar wa Khasis, gone"
    called = {"minoan": "Kothar wa Khasis", "rolf": "Kim", "old": "Kim", "ada": "Old", "homer": "\u1f4d\u03bc"}
    folders = {f"/{one}": one for one in called}
    assert commands_of(called) == {**folders, "/kothar-wa-khasis": "minoan"}


NAMES = {"U0BEN": "Ben", "U0EVE": "Eve Smith (she/her)", "C0GENERAL": "general", "W1": "Олег", "S1": "ops"}


def test_known_names_stand_for_ids_which_are_found_once_each_and_in_order() -> None:
    table = {
        "ask <@U0BEN> first": "ask @Ben first",
        "ask <@U0BEN|ben.old> first": "ask @Ben first",
        "<@U0EVE>, see #C0GENERAL.": "@Eve.Smith.she.her, see #general.",
        "<@W1>": "@Олег",
        "in <#C0GENERAL> and <#C0GENERAL|old>": "in #general and #general",
        "in <#C0PRIVATE|plans>": "in <#C0PRIVATE|plans>",
        "<@U0STRANGER> in #C0PRIVATE": "<@U0STRANGER> in #C0PRIVATE",
        "issue #C0 and a##C0GENERAL": "issue #C0 and a##C0GENERAL",
        "ask <!subteam^S1> or <!subteam^S2>": "ask @ops or <!subteam^S2>",
        "no <@names> here, U0BEN": "no <@names> here, U0BEN",
    }
    assert {text: with_names(text, NAMES) for text in table} == table
    assert ids_in(["see <@U2> and #C0GENERAL", "<@U2|x>, <@W3>"]) == ("U2", "C0GENERAL", "W3")


@given(st.text(max_size=60))
def test_no_name_brings_markup_or_another_line_into_a_text(name: str) -> None:
    shown = with_names("a <@U0BEN> b", {"U0BEN": name})
    assert shown == "a <@U0BEN> b" or re.fullmatch(r"a @[\w-](?:[\w.-]*[\w-])? b", shown)
