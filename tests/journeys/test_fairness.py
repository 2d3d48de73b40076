"""No user waits behind another's flood, none waits past the deadline, and an endless edit ends."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from daemon.core.ports.arrivals import Source
from tests.fakes import TIMEOUT
from tests.given import tagged
from tests.journeys.house import House
from tests.models import Flow


async def test_of_a_hung_model_everybody_hears_at_the_deadline_with_or_without_a_slot(empty_house: House) -> None:
    empty_house.clock.stand_still()
    await empty_house.start(max_cycles=2, deadline=60.0, lease=600.0)
    flows = [empty_house.flow() for _ in range(8)]
    names = [f"Guest{number}" for number in range(8)]
    for name in names:
        await empty_house.people.add_person(name)
        await empty_house.say(name, "dm", f"from {name}.")
    await empty_house.acknowledged()
    await asyncio.wait_for(flows[1].asked.wait(), TIMEOUT)
    empty_house.clock.turn(59)
    for name in names:
        post = await empty_house.reply(await empty_house.people.open_dm(name), "I'm sorry")
        assert "Reference" in str(post)
    assert len(empty_house.prompts) == 2
    assert len(empty_house.events.named("cycle.given_up")) == 6


async def test_one_conversation_too_many_is_put_off_at_once_and_without_a_model_call(empty_house: House) -> None:
    await empty_house.start(max_cycles=1, most_waiting=2)
    flow = empty_house.flow()
    await empty_house.say("Ben", "general", "@soul first")
    await asyncio.wait_for(flow.asked.wait(), TIMEOUT)
    for number in range(1, 5):
        await empty_house.say("Ben", "general", f"@soul another {number}")
    await empty_house.acknowledged()
    await empty_house.reply("general", "Please ask it again", count=3)
    assert len(empty_house.prompts) == 1
    flow.end(tagged("So."))
    await empty_house.idle()
    assert len(await empty_house.replies("general")) == 5
    assert len(empty_house.prompts) == 2
    reasons = {row["reason"] for row in await empty_house.rows("SELECT reason FROM inbox WHERE state = 'ignored'")}
    assert reasons == {"too many conversations of the user waited"}


async def test_the_question_of_another_user_is_not_put_off_with_one_too_many(empty_house: House) -> None:
    await empty_house.start(max_cycles=1)
    flow = empty_house.flow()
    await empty_house.say("Ben", "general", "@soul first")
    await asyncio.wait_for(flow.asked.wait(), TIMEOUT)
    root = await empty_house.say("Ada", "general", "@soul mine?")
    ts = await empty_house.say("Ben", "general", "@soul and mine?", thread=root)
    await empty_house.acknowledged()
    await empty_house.change("UPDATE inbox SET crowded = 1 WHERE ts = ?", ts)  # as if its pause had just ended
    empty_house.clock.turn(3)
    await empty_house.reply("general", "Echo: mine? + and mine?")
    flow.end(tagged("So."))
    await empty_house.idle()
    assert await empty_house.rows("SELECT * FROM inbox WHERE state = 'ignored'") == []


async def _edited_without_end(house: House, ts: str, flow: Flow) -> None:
    """Edit a message over three minutes, each time that the model is asked or nothing is claimed."""
    for number in range(36):
        asked = flow.asked.is_set()
        await house.people.edit("Ada", "dm", ts, f"draft {number}")
        await house.acknowledged()
        if asked:
            ended, flow = flow, house.flow()
            ended.end(tagged("Too late."))
        house.clock.turn(5)
        await house.when(_quiet(house, flow))
    house.clock.turn(60)
    await house.reply("D0ADA", "changed each time")


async def test_a_message_edited_without_end_costs_few_calls_and_ends_with_an_apology(empty_house: House) -> None:
    empty_house.clock.stand_still()
    await empty_house.start(lease=600.0)
    flow = empty_house.flow()
    await _edited_without_end(empty_house, await empty_house.say("Ada", "dm", "draft"), flow)
    assert len(empty_house.prompts) <= 8
    assert (await empty_house.one("SELECT attempts FROM inbox"))["attempts"] == 1


@pytest.mark.parametrize("source", [Source.LIVE, pytest.param(Source.BACKFILL, marks=pytest.mark.slow)])
async def test_edits_of_an_earlier_message_without_end_cost_few_calls(empty_house: House, source: Source) -> None:
    empty_house.clock.stand_still()
    await empty_house.start(lease=600.0)
    earlier = await empty_house.say("Ada", "dm", "draft")
    await empty_house.reply("D0ADA", "Echo: draft")
    await empty_house.no_row("SELECT * FROM inbox WHERE state IN ('new', 'claimed')")
    before, flow = len(empty_house.prompts), empty_house.flow()
    later = await empty_house.say("Ada", "dm", "and now?")
    await flow.asked.wait()
    await empty_house.change("UPDATE inbox SET source = ? WHERE ts = ?", source, later)
    await _edited_without_end(empty_house, earlier, flow)
    assert "Too late." not in await empty_house.replies("D0ADA")
    assert len(empty_house.prompts) - before <= 8


def _quiet(house: House, flow: Flow) -> Callable[[], Awaitable[bool]]:
    """Nothing is claimed, or the model is asked."""

    async def holds() -> bool:
        return flow.asked.is_set() or not await house.claimed()

    return holds
