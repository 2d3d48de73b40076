"""While Slack can't say who reads in a room, nothing about sessions is said or refused there: it is tried again."""

from pathlib import Path

import pytest

from tests.journeys.asking import WORDS, AskedSession, allowed, asks, door, states
from tests.journeys.binding import bound_thread
from tests.journeys.house import House


async def unknown(house: House) -> None:
    """Slack doesn't say who is in a room, until the faults are cleared; the daemon knows nothing of it yet."""
    await house.people.fault("conversations.members", status=500, times=999)
    await house.restart()


async def known_again(house: House, tried: int = 1) -> None:
    """Slack says it again, once it was tried in vain."""
    await house.events.until("gate.waits", tried)
    await house.people.clear_faults()
    house.clock.turn(16)


async def test_what_is_about_sessions_waits_until_it_is_known_who_reads(house: House, session: AskedSession) -> None:
    await unknown(house)
    said = {
        f"ask ada-api: {WORDS}": "I ask Ada Lovelace",
        "sessions": "ada-api",
        "what is Ada working on?": "ada-api",
        "bind ada-api here": "From now on what",
    }
    for text in said:
        await house.say("Ada" if text.startswith("bind") else "Ben", "general", f"@soul {text}")
    await known_again(house, len(said))
    await house.reply("general", count=len(said))
    await house.idle()
    replies = await house.replies("general")
    assert len(replies) == len(said)
    for text, answer in said.items():
        assert any(answer in one for one in replies), text


async def test_words_in_a_bound_thread_wait_for_it(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await unknown(house)
    await house.say("Ada", "general", "and the tests?", thread=ts)
    await known_again(house)
    await house.idle()
    assert await states(house) == ["waiting"]
    assert len(await house.replies("general")) == 1


async def test_what_waits_in_vain_until_it_is_too_old_is_told_so_and_put_to_no_session(
    house: House, session: AskedSession
) -> None:
    await unknown(house)
    await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    await house.events.until("gate.waits")
    await house.row("SELECT 1 FROM inbox WHERE state = 'new' AND not_before > 0")
    house.clock.turn(house.settings.stale_after + 1)
    assert "did not answer what was written here" in str(await house.reply("general"))
    await house.idle()
    assert await states(house) == []
    assert "ada-api" not in str(await house.replies("general"))


@pytest.mark.slow
async def test_an_answer_from_before_a_long_pause_is_said_once_it_is_known(empty_house: House, tmp_path: Path) -> None:
    await empty_house.start()
    async with door(empty_house) as url:
        session = await AskedSession.begun(empty_house, tmp_path, url)
        await asks(empty_house)
        await allowed(empty_house)
        await session.ends_turn()
        await empty_house.people.fault("conversations.members", status=500, times=999)
        await empty_house.people.fault("conversations.info", status=500, times=999)
        empty_house.clock.turn(700)  # what is known of the room is looked up anew
        await session.goes_on("0042.")
        await empty_house.events.until("gate.waits")
    await empty_house.stop()
    empty_house.clock.turn(7_200)
    await empty_house.start()
    await empty_house.events.until("gate.waits")
    await empty_house.people.clear_faults()
    empty_house.clock.turn(16)
    await empty_house.reply("general", "0042.")
    await empty_house.idle()
    assert "others can read here" not in str(await empty_house.replies("general"))
