"""Reminders that wait for words bring up nothing that those who read there may not hear, not even that it was said."""

import pytest

from tests.given import CLOSING, OPENING
from tests.journeys.house import House
from tests.journeys.waiting import WAITING, asked, hears, reports, set_for, settled

ASKED = "Remind me when the heliotrope glaze is talked about again"
SAID = "@soul the heliotrope glaze cracks"
TOPIC = asked("heliotrope glaze")
ADA, CHLOE = "D0ADA", "D0CHLOE"


@pytest.fixture
async def guild(empty_house: House) -> House:
    """Ada and Ben are in a private channel; Chloe isn't. Guests may talk to the soul."""
    await empty_house.start(allow_guests=True)
    await empty_house.people.add_channel("guild", kind="group", members=["Ada", "Ben"])
    return empty_house


async def waits_on(house: House, room: str) -> bool:
    """Whether nothing was brought up, nothing is about to be, and what was set waits on."""
    pending = await house.rows("SELECT 1 FROM cues WHERE pending <> '' OR hits > 0")
    return not await reports(house, room) and not pending and len(await house.rows(WAITING)) == 1


async def test_words_of_a_private_channel_are_brought_up_for_its_members_alone(guild: House) -> None:
    for person in ("Ada", "Chloe"):
        await set_for(guild, ASKED, TOPIC, person=person)
    ts = await hears(guild, "Ben", "guild", SAID)
    link = f"{guild.workspace.url}/archives/C0GUILD/p{ts.replace('.', '')}"
    assert await reports(guild, ADA) == [f"Ben wrote in a private channel: {link}"]
    assert not await reports(guild, CHLOE)
    [left] = await guild.rows("SELECT hits FROM cues")
    assert left["hits"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["channel", "group"])
async def test_what_was_asked_where_others_read_waits_for_what_all_of_them_may_hear(guild: House, kind: str) -> None:
    await guild.people.add_channel("hall", kind=kind, members=["Ada", "Ben", "Chloe"])
    room = "C0HALL"
    root = await hears(guild, "Ada", "hall", "@soul hello")
    await set_for(guild, f"@soul {ASKED}", TOPIC, room="hall", thread=root)
    await hears(guild, "Ben", "guild", SAID)
    assert await waits_on(guild, room)
    await hears(guild, "Ben", "general", SAID)
    assert len(await reports(guild, room)) == 1


@pytest.mark.slow
async def test_who_leaves_before_it_is_brought_up_hears_nothing_and_it_waits_on(guild: House) -> None:
    await set_for(guild, ASKED, TOPIC)
    flow = guild.flow()
    await guild.say("Ada", "dm", "good morning")
    await flow.asked.wait()
    ts = await guild.say("Ben", "guild", SAID)
    await guild.final_state(ts)
    await guild.row("SELECT 1 FROM cues WHERE pending <> ''")
    await guild.noticed(guild.people.leave("Ada", "guild"))
    flow.end(f"{OPENING}Good morning.", CLOSING)
    await guild.settled(ADA, "Good morning.")
    assert not await reports(guild, ADA)
    assert [row["fires_left"] for row in await guild.rows("SELECT fires_left FROM cues WHERE pending = ''")] == [1]


async def test_the_direct_messages_of_others_are_no_news_and_no_name_is_known_by_them(guild: House) -> None:
    """That Ben talks to the soul in private is his own matter."""
    await hears(guild, "Ben", "dm", "hello")
    confirmed = await set_for(guild, "Tell me when Ben writes", asked(who="Ben"))
    assert "you know no one here by that name" in confirmed
    await set_for(guild, ASKED, TOPIC)
    await set_for(guild, "Tell me when <@U0BEN> writes", asked(who="<@U0BEN>"), person="Chloe")
    await hears(guild, "Ben", "dm", "the heliotrope glaze cracks")
    assert not await reports(guild, ADA)
    assert not await reports(guild, CHLOE)
    assert len(await guild.rows(WAITING)) == 2


async def test_a_guest_hears_of_nothing_that_was_said_elsewhere(guild: House) -> None:
    await guild.noticed(guild.people.change_standing("Ada", "guest"))
    await set_for(guild, ASKED, TOPIC)
    await hears(guild, "Ben", "guild", SAID)
    await hears(guild, "Ben", "general", SAID)
    assert await waits_on(guild, ADA)


async def test_words_of_those_whom_the_gate_turns_away_are_no_news(empty_house: House) -> None:
    await empty_house.start()
    await set_for(empty_house, ASKED, TOPIC)
    await empty_house.people.join("Gus", "general")
    ts = await empty_house.say("Gus", "general", SAID)
    assert await empty_house.final_state(ts) == "ignored"
    await settled(empty_house)
    assert await waits_on(empty_house, ADA)
