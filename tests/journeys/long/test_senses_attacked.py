"""Readings meet kills, two daemons, floods, and rooms and people that change meanwhile."""

import asyncio

import pytest

from daemon.memory.people.retention import prune
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.sensing import ALONE, inside, percepts, sensed, spoken_to, thinking_soul, ticked
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought
from tests.models import after as until

RED = "The nightly import is red: 3 of 412 rows failed."
GOAL = adding("find out why the import fails")
TICKS = "SELECT reason, n FROM tick_counts"


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A soul that thinks by itself, in a daemon with a door."""
    await thinking_soul(empty_house)
    return empty_house


@pytest.mark.slow
async def test_a_daemon_cut_off_in_such_a_thought_leaves_the_reading_to_the_next(thinker: House) -> None:
    await spoken_to(thinker, "please", goal_updates=[GOAL])
    never = asyncio.Event()
    thinker.model.steps["think"].append(until(never, thought(None)))
    await sensed(thinker, "r1", RED, room=await thinker.person("Ada"))
    await thinker.called(2)
    await thinker.cut()
    thinker.model.replies.append(thought(None, inner_speech="at last"))
    await thinker.start(**ALONE)
    await ticked(thinker, 1)
    assert await percepts(thinker) == [("ci", RED)]
    assert [tuple(row) for row in await thinker.rows(TICKS)] == [("", 1)]
    assert await thinker.rows("SELECT 1 FROM readings WHERE state <> 'perceived'") == []


@pytest.mark.slow
async def test_two_daemons_take_an_id_once_and_think_of_it_once(thinker: House) -> None:
    await spoken_to(thinker, "please", goal_updates=[GOAL])
    first = thinker.daemon
    second = await thinker.start(**ALONE)
    ada = await thinker.person("Ada")
    thinker.model.replies += [thought(None, inner_speech=f"{number}") for number in range(3)]
    answers = await asyncio.gather(
        *(sensed(thinker, "r1", RED, room=ada, at=one) for one in (first, second, first, second))
    )
    assert {status for status, _ in answers} == {202}
    assert len({str(found) for _, found in answers}) == 1
    await ticked(thinker, 1)
    await thinker.idle()
    assert [tuple(row) for row in await thinker.rows("SELECT n, state FROM readings")] == [(1, "perceived")]
    assert [tuple(row) for row in await thinker.rows(TICKS)] == [("", 1)]


async def test_a_thread_of_another_soul_and_one_that_was_handed_on_are_none_of_its_own(thinker: House) -> None:
    thinker.model.replies.append(thought("I see.", goal_updates=[GOAL]))
    asked = await thinker.say("Ada", "general", "@soul the import, please")
    await thinker.reply("general")
    await thinker.change("UPDATE conversations SET handed_to = 'minoan' WHERE thread = ?", asked)
    assert await sensed(thinker, "r1", RED, room="C0GENERAL", thread=asked) == (404, "unknown_room")
    assert await sensed(thinker, "r2", RED, room="C0GENERAL") == (404, "unknown_room")
    await thinker.change(
        "UPDATE conversations SET handed_to = '', soul = 'minoan', id = 'minoan' || substr(id, 5) WHERE thread = ?",
        asked,
    )
    assert await sensed(thinker, "r3", RED, room="C0GENERAL", thread=asked) == (404, "unknown_room")
    assert await thinker.rows("SELECT 1 FROM readings") == []


async def test_a_reading_is_shown_in_its_own_conversation_alone_and_is_gone_after_forget_me(thinker: House) -> None:
    ada = await thinker.person("Ada")
    await spoken_to(thinker, "hello")
    await sensed(thinker, "r1", "Quincunx failed.", room=ada)
    for room in ("general", "founders"):
        thinker.model.replies.append(thought("I see."))
        await thinker.say("Ada", room, "@soul what of the quincunx?")
        await thinker.reply(room)
    assert all("Quincunx failed" not in shown(one) for one in thinker.prompts)
    await spoken_to(thinker, "and here?")
    assert "Quincunx failed" in shown(thinker.prompts[-1])
    asked = await thinker.say("Ben", "general", "@soul hello")
    await thinker.reply("general", count=2)
    await sensed(thinker, "r2", f"<@{ada}> broke the quincunx.", room="C0GENERAL", thread=asked)
    await sensed(thinker, "r3", "Green again.", room="C0GENERAL", thread=asked)
    await thinker.answered("Ada", "dm", "forget me")
    await thinker.answered("Ada", "dm", "yes, forget me")
    assert [row["words"] for row in await thinker.rows("SELECT words FROM readings")] == ["Green again."]


async def test_what_waits_in_a_channel_that_is_made_private_stays_with_those_who_read_there(thinker: House) -> None:
    thinker.model.replies.append(thought("I see."))
    asked = await thinker.say("Ada", "general", "@soul hello")
    await thinker.reply("general")
    await sensed(thinker, "r1", "Quincunx failed.", room="C0GENERAL", thread=asked)
    await thinker.noticed(thinker.people.convert(await thinker.person("Ada"), "C0GENERAL", "group"))
    await spoken_to(thinker, "what of the quincunx?")
    assert "Quincunx failed" not in shown(thinker.prompts[-1])
    thinker.model.replies.append(thought("So."))
    await thinker.say("Ada", "general", "@soul and?", thread=asked)
    await thinker.reply("general", "So.")
    assert "Quincunx failed" in shown(thinker.prompts[-1])


async def test_readings_that_are_old_lose_their_words_also_those_that_wait(thinker: House) -> None:
    ada = await thinker.person("Ada")
    await spoken_to(thinker, "hello")
    await sensed(thinker, "r1", RED, room=ada)
    await spoken_to(thinker, "hello")
    await sensed(thinker, "r2", "Green.", room=ada)
    built = inside(thinker)
    thinker.clock.turn(31 * 86_400)
    await thinker.idle()
    await prune(built.store.database, thinker.clock, {"queue_text_days": 30})
    assert await thinker.rows("SELECT 1 FROM readings WHERE words <> ''") == []
    assert (await sensed(thinker, "r1", RED, room=ada))[0] == 202, "its id is known for good"
    assert await thinker.rows("SELECT 1 FROM readings WHERE state = 'waiting'") == []


async def test_a_soul_switched_to_its_inner_life_does_not_begin_with_what_is_long_past(empty_house: House) -> None:
    await thinking_soul(empty_house, cycle_enabled=False)
    await spoken_to(empty_house, "please", goal_updates=[GOAL])
    await sensed(empty_house, "r1", RED, room=await empty_house.person("Ada"))
    await empty_house.stop()
    empty_house.clock.turn(2 * 86_400)
    await empty_house.start(**ALONE)
    await empty_house.idle()
    assert len(empty_house.prompts) == 1
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await spoken_to(empty_house, "and?")
    assert await percepts(empty_house) == [("ci", RED)]
