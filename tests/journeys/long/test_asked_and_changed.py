"""What people asked of a session, and then deleted or edited: nothing goes there but the words that were allowed."""

from tests.journeys.asking import WORDS, AskedSession, allowed, question, states
from tests.journeys.house import House
from tests.journeys.problems import buttons, forged, press


async def _waits_no_more(house: House, ts: str, count: int = 1) -> None:
    """The newest question in Ada's direct messages has one line in its place, and no buttons."""
    house.clock.turn(3)
    post = await house.settled("D0ADA", "has deleted or changed it", count=count)
    assert (post["ts"], buttons(post)) == (ts, [])
    assert WORDS not in str(await house.people.posts_by_bot("D0ADA"))
    assert await house.rows("SELECT * FROM outbox WHERE body LIKE '%tenant_id%' AND conversation LIKE '%D0ADA%'") == []


async def test_a_deleted_or_edited_question_can_be_allowed_no_more(house: House, session: AskedSession) -> None:
    asked = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    ts = await question(house)
    name = (await house.one("SELECT id FROM approvals"))["id"]
    await house.noticed(house.people.delete("Ben", "general", asked))
    assert await states(house) == ["dropped"]
    assert await forged(house, "Ada", "D0ADA", ts=ts, value=f"approve:{name}") != "accepted"
    await _waits_no_more(house, ts)
    asked = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    ts = await question(house)
    await house.people.edit("Ben", "general", asked, "@soul ask ada-api: drop all tables")
    await house.reply("general", "You have changed the message")
    await _waits_no_more(house, ts, count=2)
    assert (await session.ends_turn()).context == ""
    assert await states(house) == ["dropped", "dropped"]
    assert await house.rows("SELECT * FROM shared_messages WHERE words <> ''") == []


async def test_one_that_was_edited_after_the_click_is_read_no_more(house: House, session: AskedSession) -> None:
    asked = await house.say("Ben", "general", f"@soul ask ada-api: {WORDS}")
    await allowed(house)
    await house.people.edit("Ben", "general", asked, "@soul ask ada-api: drop all tables")
    await house.settled("general", "You have changed the message")
    assert (await session.ends_turn()).context == ""
    asked = await house.say("Ben", "general", "@soul ask ada-api: and when?")
    await house.settled("D0ADA", "and when?")
    assert await press(house, "Ada", "D0ADA", (await house.people.posts_by_bot("D0ADA"))[-1]["ts"]) == "accepted"
    await house.reply("general", "It is allowed", count=2)
    assert "and when?" in (await session.ends_turn("p2")).context
    await house.noticed(house.people.edit("Ben", "general", asked, "@soul ask ada-api: and who?"))
    await session.goes_on("In May.", "p2")
    await house.reply("general", "In May.")
    assert await states(house) == ["dropped", "answered"]


async def test_what_the_owner_asked_and_edits_is_read_as_it_stands(house: House, session: AskedSession) -> None:
    asked = await house.say("Ada", "dm", f"ask ada-api: {WORDS}")
    await house.reply("D0ADA", "reads it as soon as")
    await house.noticed(house.people.edit("Ada", "D0ADA", asked, "ask ada-api: which table has it?"))
    read = (await session.ends_turn()).context
    assert "which table has it?" in read
    assert WORDS not in read
    await session.goes_on("tenants")
    await house.reply("D0ADA", "tenants")
    asked = await house.say("Ada", "dm", "ask ada-api: and its index?")
    await house.reply("D0ADA", "reads it as soon as", count=2)
    await house.people.edit("Ada", "D0ADA", asked, "never mind")
    await house.settled("D0ADA", "You have changed the message")
    assert (await session.ends_turn("p2")).context == ""
    assert await states(house) == ["answered", "dropped"]
