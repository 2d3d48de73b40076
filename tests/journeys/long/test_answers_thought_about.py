"""What a session answers is thought about once, silently, where the soul thinks by itself and passed a question on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.questions import LATE_MS
from tests.given import shown
from tests.journeys.asking import AskedSession, asks, door
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought
from tests.journeys.ticking import NEVER_QUIET, after, counted, spoken_to

DAY = 86_400
ANSWER = "It is 0042_tenants."
HEARD = "(A session that was asked from here has answered, and the people here have read its answer above.)"


@pytest.fixture
async def session(empty_house: House, tmp_path: Path) -> AsyncIterator[AskedSession]:
    """Ada's session, beside a soul that thinks whole thoughts, also by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    empty_house.settings = empty_house.settings.model_copy(update=NEVER_QUIET)
    await empty_house.start()
    async with door(empty_house) as url:
        yield await AskedSession.begun(empty_house, tmp_path, url)


async def answers(session: AskedSession, said: str = ANSWER) -> None:
    """The session answers what Ada has asked it."""
    await asks(session.house, "Ada", "dm")
    await session.ends_turn()
    await session.goes_on(said)
    await session.house.reply("D0ADA", said)


async def test_it_is_thought_about_once_and_nothing_is_said(session: AskedSession) -> None:
    house = session.house
    house.model.replies.append(thought("Aha!", inner_speech="so it was 42"))
    await answers(session)
    await after(house, 0, 1)
    (prompt,) = house.prompts
    assert HEARD in shown(prompt)
    assert ANSWER in shown(prompt)
    row = await house.one("SELECT occasion, process, spoke, refused FROM thoughts")
    assert tuple(row) == ("result", "reflecting", 0, '[["external_speech", "not_invited"]]')
    house.clock.turn(2 * DAY)
    await house.idle()
    assert (len(house.prompts), await counted(house)) == (1, {"": 1})
    assert not [one for one in await house.replies("D0ADA") if "Aha" in one]


async def test_who_invited_the_soul_hears_what_it_makes_of_it_unless_they_pause(session: AskedSession) -> None:
    house = session.house
    await spoken_to(house, "hello")
    await house.answered("Ada", "dm", "follow up on")
    house.model.replies.append(thought("So the tenants are in 42."))
    await answers(session)
    await house.settled("D0ADA", "So the tenants are in 42.")
    assert await counted(house) == {"": 1}
    await house.answered("Ada", "dm", "pause remembering")
    before = len(house.prompts)
    await answers(session, "It is 0043_users.")
    await house.idle()
    assert (len(house.prompts), await counted(house)) == (before, {"": 1})


async def test_nothing_but_an_answer_is_thought_about_and_not_without_the_cycle(session: AskedSession) -> None:
    house = session.house
    await asks(house, "Ada", "dm")
    house.clock.turn(LATE_MS / 1000 + 1)
    await house.settled("D0ADA", "ada-api", count=2)
    assert (house.prompts, await counted(house)) == ([], {})
    await house.restart(cycle_enabled=False)
    async with door(house) as url:
        session.moves(url)
        await session.ends_turn()
        await session.goes_on(ANSWER)
        await house.settled("D0ADA", ANSWER)
    assert house.prompts == []
    assert await house.rows("SELECT 1 FROM ticks") == []
