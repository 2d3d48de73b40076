"""What the function `initiative` of a mind may do by itself on each level: its row of the table in docs/MIND.md."""

import pytest

from daemon.core.authority import Function, Level
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import after, musing

HOUR, DAY = 3_600, 86_400


async def set_level(house: House, level: int) -> None:
    """Give it this level of initiative."""
    set_ = ("mind", "authority", "set", str(Function.INITIATIVE), str(level), "--why", "to see")
    await house.command(*set_, env={"SOUL_NAME": "tess"})


async def ticked(house: House, seconds: float) -> None:
    """Let time pass until an unasked thought was counted."""
    await after(house, seconds, 1)
    await house.idle()


async def test_it_promises_from_the_second_level_on(empty_house: House) -> None:
    await musing(empty_house)
    for level in Level:
        await set_level(empty_house, level)
        promise = adding(f"the import {level}", due="in 2h", follow_up=True)
        empty_house.model.replies.append(thought("I will look.", goal_updates=[promise]))
        reply = await empty_house.answered("Ada", "dm", "the import, please")
        may = level >= Level.CHECKED
        assert ("I'll come back to" in reply) is may, level
        goal = await empty_house.one("SELECT follow_up FROM goals ORDER BY seq DESC LIMIT 1")
        assert goal["follow_up"] == int(may), level
        refused = (await empty_house.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1"))["refused"]
        assert ("not_invited" in refused) is not may, level


@pytest.mark.parametrize(
    "level",
    [pytest.param(one, marks=() if one in (Level.CHECKED - 1, Level.CHECKED) else pytest.mark.slow) for one in Level],
)
async def test_it_says_something_unasked_from_the_second_level_on(empty_house: House, level: Level) -> None:
    await musing(empty_house)
    await set_level(empty_house, level)
    await empty_house.answered("Ada", "dm", "follow up on")
    empty_house.model.replies.append(thought("I see.", goal_updates=[adding("the import", due="in 2h")]))
    await empty_house.answered("Ada", "dm", "the import, please")
    empty_house.model.replies.append(thought("The import ran."))
    await ticked(empty_house, 2 * HOUR + 1)
    may = level >= Level.CHECKED
    assert any("The import ran." in one for one in await empty_house.replies("D0ADA")) is may
    assert ("They invited you to write" in shown(empty_house.prompts[-1])) is may
    row = await empty_house.one("SELECT spoke, refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row) == (int(may), "[]" if may else '[["external_speech", "authority"]]')


async def test_what_was_promised_before_it_fell_is_kept(empty_house: House) -> None:
    await musing(empty_house)
    await set_level(empty_house, Level.CHECKED)
    promise = adding("the import", due="in 2h", follow_up=True)
    empty_house.model.replies.append(thought("I will look.", goal_updates=[promise]))
    await empty_house.answered("Ada", "dm", "the import, please")
    await set_level(empty_house, 0)
    empty_house.model.replies.append(thought("The import ran."))
    empty_house.clock.turn(2 * HOUR + 1)
    await empty_house.reply("D0ADA", "The import ran.")
