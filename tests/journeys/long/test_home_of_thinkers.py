"""The home tab of a person beside a soul that thinks by itself: what it may write to them unasked, and has promised."""

from typing import Any

import pytest

from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.surfaces import home, open_home, words
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import NEVER_QUIET, spoken_to

HOUR, DAY = 3_600, 86_400
ALONE: dict[str, Any] = {**NEVER_QUIET, "visit_silence": DAY}
TITLE = "What I write by myself"
PROMISE = "I promised to come back to “the import” by "


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE)
    return empty_house


async def spoken_at(house: House, seconds: float, words_: str) -> None:
    """Let time pass until the soul says this."""
    house.model.replies.append(thought(words_))
    house.clock.turn(seconds)
    await house.settled("D0ADA", words_)


async def test_it_says_how_it_stands_with_each_decision_of_the_person(thinker: House) -> None:
    await spoken_to(thinker, "hello")
    calls = len(thinker.prompts)
    await open_home(thinker, "Ada", TITLE, "`follow up on` invites me to.")
    await thinker.answered("Ada", "dm", "follow up on")
    await open_home(thinker, "Ada", TITLE, "You invited me to write to you by myself", "`follow up off` ends it.")
    await thinker.answered("Ada", "dm", "follow up off")
    await open_home(thinker, "Ada", "You don't want me to write to you by myself.", "`follow up on` invites me to.")
    assert "You don't want me to" in await thinker.answered("Ada", "dm", "follow up status")
    assert len(thinker.prompts) == calls
    await open_home(thinker, "Ben", "I don't write to you by myself, except for what I promised")


async def test_who_was_asked_and_said_nothing_reads_that(thinker: House) -> None:
    for number in range(4):
        thinker.clock.turn(3 * DAY)
        await spoken_to(thinker, f"hello {number}")
    await thinker.reply("D0ADA", "May I write to you here by myself")
    await open_home(thinker, "Ada", "I asked you once whether I may write to you by myself.")


async def test_a_promise_stands_there_for_its_person_alone_until_it_is_kept_or_declined(thinker: House) -> None:
    promised = adding("the import", due="in 2h", follow_up=True)
    await spoken_to(thinker, "look at the import", goal_updates=[promised])
    await open_home(thinker, "Ada", PROMISE, "`not now`, written where I promised it, declines that.")
    assert PROMISE not in words(await open_home(thinker, "Ben", TITLE))
    await thinker.answered("Ada", "dm", "not now")
    await thinker.people.post("open_home", person="Ada")
    await home(thinker, "Ada", TITLE, without=PROMISE)
    await spoken_to(thinker, "look at the import again", goal_updates=[promised])
    await open_home(thinker, "Ada", PROMISE)
    await spoken_at(thinker, 2 * HOUR + 1, "It ran.")
    await thinker.people.post("open_home", person="Ada")
    await home(thinker, "Ada", TITLE, without=PROMISE)


async def test_a_pause_shows_its_end_and_nothing_where_the_soul_does_not_think_by_itself(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    await spoken_to(thinker, "please look", goal_updates=[adding("a matter", due="in 2h")])
    await spoken_at(thinker, 2 * HOUR + 1, "The import ran.")
    await thinker.answered("Ada", "dm", "not now")
    await open_home(thinker, "Ada", "I pause until 20", "`follow up on` ends the pause.")
    await thinker.restart(**ALONE | {"cycle_enabled": False})
    await thinker.people.post("open_home", person="Ada")
    assert "follow up" not in words(await home(thinker, "Ada", "What I know about you", without=TITLE))
