"""How much of the autonomous loop is on: by the setting, by the soul's own, and by what there is to look in."""

from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from daemon.app.assembly import limits_of
from daemon.core.config import load_settings
from daemon.core.sentences import HOUSE_WORDS
from daemon.ism.actions import actions_for
from daemon.ism.cards import card
from daemon.ism.machine import LoopEvent, Progress
from daemon.ism.problem import Problem
from daemon.ism.sources import Sources, sources_of
from daemon.mind.transitions import situation_of, why_refused
from daemon.soul import IsmLimits, Soul
from tests.unit.solving_parts import FOUND, LIMITS, READER, WRITER, Books, Shelf, scene

OFF, READING, ALL = None, True, False


async def test_the_soul_decides_before_the_setting_and_a_loop_that_could_do_nothing_is_not_entered() -> None:
    for setting, own, folders, reads_only in (
        (None, None, True, READING),
        (None, None, False, OFF),
        (True, None, True, ALL),
        (True, None, False, ALL),
        (False, None, True, OFF),
        (False, True, False, ALL),
        (True, False, True, OFF),
        (None, False, True, OFF),
        (None, True, False, ALL),
    ):
        settings = load_settings(ism_enabled=setting, library=(Path("docs"),) if folders else ())
        soul = Soul(name="tess", display_name="Tess", personality="You are Tess.", ism=IsmLimits(enabled=own))
        limits = limits_of(settings, soul)
        assert (None if limits is None else limits.reads_only) == reads_only, (setting, own, folders, reads_only)
    tess = Soul(name="tess", display_name="Tess", personality="You are Tess.")
    assert limits_of(load_settings(mcp_servers=Path("servers.json")), tess) is not None
    for reads_only, library, toolbox, enters in (
        (True, Books(), None, True),
        (True, None, Shelf(offered=(READER,)), True),
        (True, Empty(), Shelf(offered=(WRITER,)), False),
        (True, None, None, False),
        (False, None, None, True),
    ):
        half = replace(LIMITS, reads_only=reads_only)
        one = scene().having(limits=half, library=library, toolbox=toolbox)
        refused = why_refused("engaged", "problem_solving", situation_of(one.context))
        assert (refused == "") == enters, (reads_only, library, toolbox, enters)
    many = tuple(replace(READER, name=f"shelf/tool_{number}") for number in range(40))
    one = scene().having(toolbox=Shelf(offered=(*many, replace(READER, name="wiki/look"))), library=Books())
    sources = await sources_of(one.context)
    assert "shelf (40 tools: tool_0, " in sources.described
    assert "tool_23, …), wiki (1 tool, …) and earlier talk" in sources.described
    assert sources.named(HOUSE_WORDS) == "docs, shelf, wiki, earlier talk"


class Empty(Books):
    """A library whose folders hold nothing."""

    @property
    def folders(self) -> Mapping[str, int]:
        return {}


SOURCES = Sources({"docs": 2}, ())


def event(action: str, words: str, kind: Progress = Progress.STARTED) -> LoopEvent:
    """An event of an action that was chosen with these words."""
    one = scene()
    known = Problem(one.context.memory, list(FOUND))
    actions = {each.name: each for each in actions_for(one.context, known, SOURCES)}
    return LoopEvent(kind, 1, 2, action, actions[action].aloud(words) if action else "")


def test_a_card_shows_what_is_looked_for_and_nothing_else_that_a_model_wrote() -> None:
    for action, words, title, details in (
        ("Research", "the retry limit", "Looking up “the retry limit”", "the retry limit (in docs, earlier talk)"),
        ("Research", "", "Looking things up", ""),
        ("Research", "<internal_monologue>hm</internal_monologue>", "Looking things up", ""),
        ("Read", "2 page 3", "Reading b.md:2, page 3", "passage 2"),
        ("Read", "9", "Opening what was found", ""),
        ("Think", "that Ben is lazy", "Thinking it through", ""),
        ("Ask", "which kiln", "Asking back", ""),
    ):
        task = card(event(action, words), SOURCES, FOUND)
        assert task is not None, words
        assert (task.id, task.title, task.details) == ("1.2", title, details), words
    task = card(event("Think", "", Progress.CUT), SOURCES, FOUND)
    assert task is not None
    assert task.title == "Thinking it through (set aside)"
    assert card(event("", "x"), SOURCES, FOUND) is None
    assert card(event("Think", "x", Progress.REFUSED), SOURCES, FOUND) is None
