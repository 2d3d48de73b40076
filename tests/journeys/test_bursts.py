"""Many messages at once: none is lost, they stay in order, and no conversation waits for another."""

import asyncio

from daemon.llm.placeholder import newest_messages
from tests.fakes import TIMEOUT
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.models import Flow


async def test_a_burst_in_one_thread_loses_nothing_keeps_its_order_and_is_answered_together(house: House) -> None:
    flow, ts = await house.asking("Ada", "general", "@soul one")
    for word in ("two", "three", "four", "five"):
        await house.say("Ada", "general", word, thread=ts)
    await house.acknowledged()
    flow.end(tagged("First."))
    await house.reply("general", "five")
    await house.idle()
    assert await house.replies("general") == ["First.", "Echo: two + three + four + five"]
    assert [newest_messages(prompt) for prompt in house.prompts] == [["one"], ["two", "three", "four", "five"]]
    said = await house.rows("SELECT body FROM turns ORDER BY seq")
    both = await house.replies("general")
    assert [row["body"] for row in said] == ["one", both[0], "two", "three", "four", "five", both[1]]


async def test_a_hung_model_call_does_not_delay_another_conversation_which_stays_in_order(house: House) -> None:
    hung, _ = await house.asking("Ada", "dm", "think long")
    for word in ("one", "two", "three", "four", "five"):
        await house.say("Ben", "dm", word)
    await house.reply("D0BEN", "five")
    received = [word for prompt in house.prompts for word in newest_messages(prompt)]
    assert received == ["think long", "one", "two", "three", "four", "five"]
    hung.end(tagged("At last."))
    await house.reply("D0ADA", "At last.")
    await house.idle()
    assert len(await house.replies("D0BEN")) == len(house.prompts) - 1


async def test_no_more_conversations_run_at_once_than_the_cap_allows(empty_house: House) -> None:
    await empty_house.start(max_cycles=2)
    empty_house.model.voices = {f"from {name}.": Flow() for name in ("Ada", "Ben", "Chloe")}
    for name in ("Ada", "Ben", "Chloe"):
        await empty_house.say(name, "dm", f"from {name}.")
    await empty_house.acknowledged()
    flows = list(empty_house.model.voices.values())
    await asyncio.wait_for(flows[0].asked.wait(), TIMEOUT)
    await asyncio.wait_for(flows[1].asked.wait(), TIMEOUT)
    assert not flows[2].asked.is_set()
    flows[1].end(tagged("Done with Ben."))
    await asyncio.wait_for(flows[2].asked.wait(), TIMEOUT)
    flows[0].end(tagged("Done with Ada."))
    flows[2].end(tagged("Done with Chloe."))
    for name in ("Ada", "Ben", "Chloe"):
        await empty_house.reply(f"D0{name.upper()}", f"Done with {name}.")


async def test_the_message_that_waited_longest_is_next_and_answered_as_late(empty_house: House) -> None:
    await empty_house.start(max_cycles=1, deadline=3600.0)
    flow, _ = await empty_house.asking("Ada", "dm", "busy")
    await empty_house.say("Ben", "dm", "my turn?")
    await empty_house.acknowledged()
    for number in range(5):
        await empty_house.say("Ada", "dm", f"more {number}")
    await empty_house.say("Chloe", "dm", "mine?")
    await empty_house.acknowledged()
    empty_house.clock.turn(600)
    flow.end(tagged("So."))
    await empty_house.reply("D0CHLOE")
    await empty_house.idle()
    assert [newest_messages(prompt) for prompt in empty_house.prompts] == [
        ["busy"],
        ["my turn?"],
        [f"more {number}" for number in range(5)],
        ["mine?"],
    ]
    assert 'late="10 minutes"' in shown(empty_house.prompts[1])


async def test_many_people_at_once_are_all_answered_once(house: House) -> None:
    names = [f"Guest{number:02d}" for number in range(12)]
    for name in names:
        await house.people.add_person(name)
    async with asyncio.TaskGroup() as group:
        for name in names:
            group.create_task(house.people.say(name, "dm", f"I am {name}"))
    await house.acknowledged()
    await house.idle()
    for name in names:
        room = await house.people.open_dm(name)
        assert await house.replies(room) == [f"Echo: I am {name}"]
