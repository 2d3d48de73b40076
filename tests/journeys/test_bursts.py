"""Many messages at once in one thread: none is lost, and they stay in order."""

from daemon.llm.placeholder import newest_messages
from tests.given import tagged
from tests.journeys.house import House


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
