"""Outages: nothing that users write meanwhile is missed, in however many rooms and threads, and nothing doubled."""

import asyncio

import pytest

from tests.journeys.house import House
from tests.journeys.souls import write_soul


async def test_a_channel_that_gets_another_soul_is_not_answered_twice(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home)
    write_soul(house.settings.home, "rolf", "", shown="Rolf", personality="You are Rolf, a sailor.")
    await house.start(name="tess", souls=("rolf",))
    words = [f"question {number}" for number in range(3)]
    for one in words:
        await house.answered("Ada", "general", f"@soul {one}")
    await house.stop()
    write_soul(
        house.settings.home, "rolf", 'channels = ["C0GENERAL"]\n', shown="Rolf", personality="You are Rolf, a sailor."
    )
    await house.start(name="tess", souls=("rolf",))
    await house.idle()
    assert await house.replies("general") == [f"Echo: {one}" for one in words]
    await house.answered("Ada", "general", "@soul and you?")
    assert "You are Rolf" in house.last_prompt()


async def test_a_daemon_that_dies_in_the_middle_of_catch_up_loses_and_doubles_nothing(empty_house: House) -> None:
    await empty_house.start()
    people = [(await empty_house.people.add_person(f"Person {number}"))["id"] for number in range(4)]
    for person in people:
        await empty_house.answered(person, "dm", f"hello from {person}")
    await empty_house.stop()
    missed = [await empty_house.say(person, "dm", f"missed by {person}") for person in people]
    empty_house.clock.turn(700)
    await empty_house.people.fault("conversations.history", times=2)
    await empty_house.people.fault("conversations.history", delay=30.0)
    starting = asyncio.create_task(empty_house.start())
    await empty_house.row("SELECT 1 WHERE (SELECT count(*) FROM unread_places WHERE state = 'read') >= 2")
    await empty_house.cut()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await empty_house.people.clear_faults()
    again = await empty_house.say(people[-1], "dm", "and while it was dead")
    empty_house.clock.turn(60)
    await empty_house.start()
    await empty_house.idle()
    assert [await empty_house.final_state(ts) for ts in (*missed, again)] == ["answered"] * 5
    for person in people:
        replies = await empty_house.replies(await empty_house.people.open_dm(person))
        assert replies.count(f"Echo: missed by {person}") + "\n".join(replies).count(f"\nmissed by {person}") == 1
