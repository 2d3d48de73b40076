"""A thread is handed over while something else goes on there: another handoff, a reply, a reminder, a daemon's end."""

import asyncio

from tests.given import tagged
from tests.journeys.handing import ACTS, ROLF_THERE, TAKEN, goes_on, handed, talking, two, words
from tests.journeys.house import House
from tests.journeys.souls import write_soul

HELD = "SELECT id FROM conversations WHERE channel = 'C0GENERAL' AND handed_to = ''"
REMINDER = """
INSERT INTO intentions (id, soul, workspace, conversation, place, audience, slot, due_ms, process, params, content,
                        behalf, created_ms, state)
SELECT 'in1', soul, workspace, id, place, audience, 'look', ?, 'ready', '{}', 'look at the kiln', ?, 1, 'waiting'
FROM conversations WHERE id LIKE 'tess/%/C0GENERAL/%'
"""


async def test_of_two_handoffs_at_once_one_soul_has_the_thread_and_answers_once(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, "cleo", ACTS, shown="Cleo", personality="You are Cleo, a baker.")
    write_soul(house.settings.home, more=ACTS)
    write_soul(house.settings.home, "rolf", ACTS, shown="Rolf", personality=ROLF_THERE)
    await house.start(name="tess", souls=("rolf", "cleo"))
    ts = await talking(house)
    await asyncio.gather(
        house.say("Ada", "general", "@soul hand this thread to Rolf", thread=ts),
        house.say("Ben", "general", "@soul hand this thread to Cleo", thread=ts),
    )
    await house.reply("general", "in place of tess")
    await house.reply("general", "From now on I answer here", count=2)
    await house.idle()
    assert len(await house.rows(HELD)) == 1, "the second is obeyed by the soul that has the thread by then"
    before = len(await words(house))
    await goes_on(house, ts, "who is there?")
    assert len(await words(house)) == before + 1


async def test_a_thread_that_goes_to_a_soul_which_ends_meanwhile_is_answered_by_the_first(empty_house: House) -> None:
    house = empty_house
    await two(house)
    ts = await talking(house, "my kiln is red", "It is I again.")
    await handed(house, ts)
    await house.restart(name="tess", souls=())
    await goes_on(house, ts, "are you there?", "It is I again.")
    assert ROLF_THERE not in house.last_prompt()


async def test_a_reply_that_streams_is_finished_before_the_thread_goes(empty_house: House) -> None:
    house = empty_house
    await two(house)
    flow = house.flow()
    ts = await house.say("Ada", "general", "@soul tell me of kilns")
    await flow.asked.wait()
    await house.say("Ada", "general", "@soul hand this thread to Rolf", thread=ts)
    await house.acknowledged()
    refused = await house.command("handoff", f"tess/T0LOCAL/C0GENERAL/{ts}", "rolf", fails=True)
    assert "tess is answering" in refused
    flow.end(tagged("Once there was a kiln."))
    await house.reply("general", TAKEN)
    await house.idle()
    said = await words(house)
    assert (said[0], said[-1], len(said)) == ("Once there was a kiln.", TAKEN, 3)


async def test_a_reminder_is_said_by_the_soul_that_has_the_thread(empty_house: House) -> None:
    house = empty_house
    await two(house)
    ts = await talking(house)
    await house.change(REMINDER, house.clock.now_ms() + 600_000, await house.person("Ada"))
    await handed(house, ts)
    house.model.replies.append(tagged("Look at the kiln!"))
    house.clock.turn(601)
    post = await house.reply("general", "Look at the kiln!")
    await house.idle()
    assert post["username"] == "Rolf"
    assert ROLF_THERE in house.last_prompt()
    assert len([one for one in await words(house) if "Look at the kiln!" in one]) == 1
