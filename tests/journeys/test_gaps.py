"""Outages: nothing that users write meanwhile is missed, in however many rooms and threads, and nothing doubled."""

import asyncio
from typing import Any

import pytest

from daemon.channels.slack.api import client
from tests.journeys.house import House
from tests.journeys.souls import write_soul

HOUR = 3600.0


async def _caught_up(house: House, **changes: Any) -> None:  # noqa: ANN401  # any setting
    """Start a daemon and wait until it has answered what it found."""
    await house.start(**changes)
    await house.idle()


async def test_replies_in_threads_that_had_rested_for_an_hour_are_answered_after_an_outage(empty_house: House) -> None:
    house = empty_house
    await house.start()
    roots = {}
    for room in ("general", "dm"):
        roots[room] = await house.say("Ada", room, "@soul hello" if room == "general" else "hello")
        await house.reply("general" if room == "general" else "D0ADA", "hello")
        await house.idle()
    house.clock.turn(HOUR)
    await house.restart()  # a catch-up moves the mark past the hour
    await house.stop()
    for room, root in roots.items():
        await house.say("Ada", room, f"still about {room}", thread=root)
    house.clock.turn(700)
    await _caught_up(house)
    assert (await house.replies("general"))[1:] == ["Echo: still about general"]
    assert (await house.replies("D0ADA"))[1:] == ["Echo: still about dm"]


async def test_with_sixty_dms_a_mention_in_a_channel_and_the_last_dm_are_answered(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = empty_house
    monkeypatch.setattr(client, "READS_A_MINUTE", 1_000)  # the pace has tests of its own
    await house.start()
    people = [(await house.people.add_person(f"Person {number}"))["id"] for number in range(60)]
    for person in people:
        await house.people.open_dm(person)
    await house.stop()
    last = await house.say(people[-1], "dm", "the last word")
    mention = await house.say("Ben", "general", "@soul a mention")
    house.clock.turn(700)
    await _caught_up(house)
    assert await house.final_state(last) == "answered"
    assert await house.final_state(mention) == "answered"
    assert await house.replies("general") == ["Echo: a mention"]


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
        house.settings.home,
        "rolf",
        'channels = ["C0GENERAL"]\n',
        shown="Rolf",
        personality="You are Rolf, a sailor.",
    )
    await _caught_up(house, name="tess", souls=("rolf",))
    assert await house.replies("general") == [f"Echo: {one}" for one in words]
    await house.answered("Ada", "general", "@soul and you?")
    assert "You are Rolf" in house.last_prompt()


async def test_a_soul_with_a_new_name_and_a_lost_store_answers_nothing_again(empty_house: House) -> None:
    house = empty_house
    await house.start()
    root = await house.say("Ada", "dm", "hello")
    await house.reply("D0ADA", "hello")
    await house.idle()
    await house.answered("Ada", "dm", "a second one", thread=root)
    await house.stop()
    for file in house.settings.home.glob("memory.db*"):
        file.unlink()
    missed = await house.say("Ada", "dm", "a third one", thread=root)
    await _caught_up(house)
    assert await house.final_state(missed) == "answered"
    assert await house.replies("D0ADA") == ["Echo: hello", "Echo: a second one", "Echo: a third one"]


async def test_a_clock_that_was_a_day_ahead_does_not_blind_the_next_catch_up(empty_house: House) -> None:
    house = empty_house
    await house.start()
    await house.stop()
    await house.change("UPDATE watermarks SET ts = ?", f"{house.clock.now_ms() / 1000 + 86_400:.6f}")
    missed = await house.say("Ada", "dm", "are you there?")
    house.clock.turn(1200)
    await _caught_up(house)
    assert await house.final_state(missed) == "answered"
    (mark,) = [float(row["ts"]) for row in await house.rows("SELECT ts FROM watermarks")]
    assert mark < house.clock.now_ms() / 1000


async def test_a_daemon_that_dies_in_the_middle_of_catch_up_loses_and_doubles_nothing(empty_house: House) -> None:
    house = empty_house
    await house.start()
    people = [(await house.people.add_person(f"Person {number}"))["id"] for number in range(4)]
    for person in people:
        await house.answered(person, "dm", f"hello from {person}")
    await house.stop()
    missed = [await house.say(person, "dm", f"missed by {person}") for person in people]
    house.clock.turn(700)
    await house.people.fault("conversations.history", times=2)
    await house.people.fault("conversations.history", delay=30.0)
    starting = asyncio.create_task(house.start())

    async def some() -> bool:
        return len(await house.rows("SELECT 1 FROM unread_places WHERE state = 'read'")) >= 2

    await house.when(some)
    assert house.daemon is not None
    await house.daemon.cut()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await house.people.clear_faults()
    again = await house.say(people[-1], "dm", "and while it was dead")
    house.clock.turn(60)
    await _caught_up(house)
    assert [await house.final_state(ts) for ts in (*missed, again)] == ["answered"] * 5
    for person in people:
        replies = await house.replies(await house.people.open_dm(person))
        assert replies.count(f"Echo: missed by {person}") + "\n".join(replies).count(f"\nmissed by {person}") == 1
