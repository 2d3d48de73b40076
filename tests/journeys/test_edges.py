"""Rare paths of a conversation: a second failure during the first."""

import asyncio

import pytest

from daemon.core.config import Settings
from daemon.core.errors import ModelUnavailable
from tests.fakes import TIMEOUT
from tests.given import tagged
from tests.journeys.house import House


async def test_a_lease_lost_while_the_gate_is_asked_ends_the_claim_without_a_reply(empty_house: House) -> None:
    house = empty_house
    await house.start(lease=5.0)
    await house.people.fault("users.info", delay=60)
    await house.say("Ada", "dm", "hello")
    await house.when(lambda: house.people.met("users.info"))
    await house.change("UPDATE conversations SET fence = fence + 1, lease_owner = 'another worker', lease_until = 0")
    house.clock.turn(2)
    await house.events.until("cycle.lost")
    await house.reply("D0ADA", "hello")
    await house.idle()
    assert len(await house.replies("D0ADA")) == 1


async def test_a_message_is_given_back_by_a_daemon_that_is_cut_off_while_it_asks_the_gate(house: House) -> None:
    await house.people.fault("users.info", delay=60)
    await house.say("Ada", "dm", "hello")
    await house.when(lambda: house.people.met("users.info"))
    await house.cut()
    row = await house.one("SELECT state, reason, attempts FROM inbox")
    assert tuple(row) == ("new", "stopped", 0)
    await house.start()
    await house.reply("D0ADA", "hello")


async def test_no_apology_is_posted_for_what_another_worker_holds_or_was_edited_meanwhile(house: House) -> None:
    flow, _ = await house.asking("Ben", "dm", "hello")
    await house.change("UPDATE conversations SET fence = fence + 1, lease_owner = 'another worker'")
    flow.end(ModelUnavailable("the line went dead"))
    await house.events.until("cycle.failed")
    await house.events.until("cycle.lost")
    assert await house.posting_calls() == []
    flow, ts = await house.asking("Ada", "dm", "what is 2 + 2?")
    await house.people.edit("Ada", "dm", ts, "what is 3 + 3?")
    await house.acknowledged()
    flow.end(ModelUnavailable("the line went dead"))
    await house.reply("D0ADA", "3 + 3")
    await house.final_state(ts)
    assert await house.replies("D0ADA") == ["Echo: what is 3 + 3?"]


async def test_a_lease_that_can_not_be_renewed_just_now_does_not_end_a_thought(empty_house: House) -> None:
    await empty_house.start(lease=60.0)
    flow, _ = await empty_house.asking("Ada", "dm", "think long")
    async with empty_house.locked():
        async with asyncio.timeout(TIMEOUT):
            while not empty_house.events.named("cycle.lease_not_renewed"):
                empty_house.clock.turn(1)
                await asyncio.sleep(0.02)
    flow.end(tagged("Done."))
    await empty_house.reply("D0ADA", "Done.")
    await empty_house.idle()
    assert len(await empty_house.replies("D0ADA")) == 1


async def test_a_message_to_others_is_left_out_while_slack_can_not_say_who_its_author_is(house: House) -> None:
    root = await house.say("Ada", "general", "@soul hello")
    await house.reply("general")
    await house.people.add_person("Dora")  # of whom nothing is known yet
    aside = await house.say("Dora", "general", "@Ben the canary sings", thread=root)
    await house.final_state(aside)
    await house.people.fault("users.info", status=500)
    await house.answered("Ada", "general", "@soul and now?", thread=root)
    assert house.events.named("cycle.aside_unknown")
    assert "canary" not in house.last_prompt()


async def test_a_package_that_can_not_be_loaded_ahead_keeps_no_message_waiting(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Settings) -> None:
        raise ValueError("no list of prices")

    monkeypatch.setattr("daemon.app.lifecycle.load_for_messages", broken)
    await empty_house.start()
    assert await empty_house.answered("Ada", "dm", "hello") == "Echo: hello"
    assert [event["reason"] for event in empty_house.events.named("imports.failed")] == ["no list of prices"]
