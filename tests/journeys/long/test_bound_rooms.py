"""Where a bound thread stands: an archived channel, a room with guests, with bots, and one where German is spoken."""

from pathlib import Path

from tests.journeys.asking import AskedSession, door, states
from tests.journeys.binding import BOUND, HEAD, bound_thread, put
from tests.journeys.house import House, said

HERE_ALONE = "only where all readers are full members of the workspace"


async def test_an_archived_channel_gets_no_answer_and_is_bound_when_back(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await put(house, "Ada", ts, "which migration?")
    assert "which migration?" in (await session.ends_turn()).context
    await house.noticed(house.people.post("archive", channel="general", person="Ada"))
    await session.goes_on("It is 0042.")
    await house.row("SELECT 1 FROM outbox WHERE state = 'dead' AND body LIKE '%0042%'")
    await house.idle()
    assert await house.replies("general") == [BOUND]
    assert await states(house) == ["answered"]
    await house.noticed(house.people.post("archive", channel="general", person="Ada", end=True))
    await put(house, "Ada", ts, "and now?")
    assert "and now?" in (await session.ends_turn("p2")).context
    await session.goes_on("It still is.", "p2")
    answer = await house.settled("general", "It still is.")
    assert said(answer) == f"{HEAD}\n\nIt still is."
    assert not [one for one in await house.replies("general") if "0042" in one], "what was refused is not said later"


async def test_what_bots_and_guests_say_in_a_bound_thread_goes_nowhere(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house, "bind ada-api here for everybody")
    for person, standing in (("Grafana", "bot"), ("Gus", "guest")):
        await house.people.add_person(person, standing=standing)
        await house.noticed(house.people.join(person, "general"))
        await house.say(person, "general", "@soul the disk is full", thread=ts)
        await house.say(person, "general", "what is the key?", thread=ts)
        await house.acknowledged()
        await house.idle()
        assert await states(house) == [], person
    assert (await session.ends_turn()).context == ""


async def test_where_a_guest_reads_by_now_nothing_goes_or_is_shown(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house)
    await put(house, "Ada", ts, "which migration?")
    assert "which migration?" in (await session.ends_turn()).context
    await house.guest()
    await session.goes_on("SECRET")
    await house.settled("general", "others can read here now")
    assert HERE_ALONE in await house.answered("Ada", "general", "and the tests?", thread=ts)
    assert HERE_ALONE in await house.answered("Ada", "general", "@soul bind ada-api here", thread=ts)
    assert (await session.ends_turn("p2")).context == ""
    assert "SECRET" not in str(await house.posting_calls())
    assert await states(house) == ["answered"]
    await house.noticed(house.people.leave("Gus", "general"))
    await put(house, "Ada", ts, "and the docs?")
    assert "and the docs?" in (await session.ends_turn("p3")).context


async def test_it_is_bound_and_unbound_in_german(house: House, tmp_path: Path) -> None:
    await house.people.post("person", display_name="Dora", user="U0DORA", locale="de-DE")
    async with door(house) as url:
        session = await AskedSession.begun(house, tmp_path, url, person="U0DORA")
        ts = await house.say("Dora", "general", "@soul binde dora-api hier")
        bound = await house.reply("general", "Ab jetzt geht")
        assert said(bound) == (
            "Ab jetzt geht, was Dora hier sagt, an `dora-api` statt an mich. *löse die bindung* beendet das."
        )
        await house.idle()
        await put(house, "Dora", ts, "welche Migration ist das?")
        assert "welche Migration ist das?" in (await session.ends_turn()).context
        await session.goes_on("Die 42.")
        assert said(await house.reply("general", "Die 42.")) == "*Sitzung `dora-api` von Dora:*\n\nDie 42."
        await house.say("Dora", "general", "löse die bindung", thread=ts)
        await house.settled("general", "Dieser Thread ist an keine Sitzung mehr gebunden")
        assert await house.rows("SELECT 1 FROM bound_threads") == []
