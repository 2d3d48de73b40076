"""A thread is handed over while a session is asked in it; what comes of it is the new soul's to say."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.journeys.asking import WORDS, AskedSession, allowed, door, states
from tests.journeys.binding import bound_thread
from tests.journeys.handing import ROLF_THERE, TESS_THERE, goes_on, handed, two
from tests.journeys.house import House

MOMENTS = ("clicked", *(pytest.param(one, marks=pytest.mark.slow) for one in ("asked", "read")))


@pytest.fixture
async def session(empty_house: House, tmp_path: Path) -> AsyncIterator[AskedSession]:
    """Ada's session, beside a daemon with two souls."""
    await two(empty_house)
    async with door(empty_house) as url:
        yield await AskedSession.begun(empty_house, tmp_path, url)


async def asked(house: House) -> str:
    """Ben asks Ada's session in a thread with Tess; gives its ts."""
    ts = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    await house.settled("general", "I ask Ada Lovelace")
    return ts


async def faces(house: House, containing: str) -> list[str]:
    """By which soul each post with these words was said; empty for the main one."""
    posts = await house.people.posts_by_bot("C0GENERAL")
    return [str(post.get("username", "")) for post in posts if containing in str(post)]


@pytest.mark.parametrize("moment", MOMENTS)
async def test_the_answer_is_said_once_by_the_soul_that_has_the_thread(session: AskedSession, moment: str) -> None:
    house = session.house
    ts = await asked(house)
    if moment == "asked":
        await handed(house, ts)
    await allowed(house)
    assert await faces(house, "It is allowed") == (["Rolf"] if moment == "asked" else [""])
    if moment == "clicked":
        await handed(house, ts)
    assert WORDS in (await session.ends_turn()).context
    if moment == "read":
        await handed(house, ts)
    await session.goes_on("0042.")
    await house.settled("general", "0042.")
    assert await faces(house, "0042.") == ["Rolf"]
    await goes_on(house, ts, "so which one?")
    assert ROLF_THERE in house.last_prompt()
    assert "0042." in house.last_prompt()
    assert await states(house) == ["answered"]
    await handed(house, ts, "@soul hand this thread to Tess")
    await goes_on(house, ts, "and why?")
    assert TESS_THERE in house.last_prompt()
    assert "0042." in house.last_prompt()


async def test_a_bound_thread_stays_its_sessions_and_the_answers_are_the_new_souls(session: AskedSession) -> None:
    house = session.house
    ts = await bound_thread(house)
    await house.say("Ada", "general", "and the tests?", thread=ts)
    await house.idle()
    await handed(house, ts)
    assert "and the tests?" in (await session.ends_turn()).context
    await session.goes_on("All green.")
    await house.reply("general", "All green.")
    await house.say("Ada", "general", "and the docs?", thread=ts)
    await house.idle()
    assert "and the docs?" in (await session.ends_turn("p2")).context
    await session.goes_on("Written.", "p2")
    await house.settled("general", "Written.")
    assert (await faces(house, "All green."), await faces(house, "Written.")) == (["Rolf"], ["Rolf"])
    assert house.prompts == [], "no model is called"


async def test_forget_me_empties_an_answer_that_the_new_soul_said(session: AskedSession) -> None:
    house = session.house
    ts = await asked(house)
    await handed(house, ts)
    await allowed(house)
    await session.ends_turn()
    await session.goes_on("ADAS-ANSWER")
    await house.settled("general", "ADAS-ANSWER")
    await house.answered("Ada", "dm", "forget me")
    assert (await house.answered("Ada", "dm", "yes, forget me")).startswith("Forgotten:")
    await house.idle()
    left = [
        str(tuple(row))
        for table in ("shared_messages", "turns", "inbox", "outbox", "working_memory")
        for row in await house.rows(f"SELECT * FROM {table}")
    ]
    assert "ADAS-ANSWER" not in str(left)
