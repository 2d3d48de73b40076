"""A daemon restarts, drains, loses its lease, meets a full disk, and rests."""

import asyncio
from contextlib import suppress

from daemon.core.errors import StoreFull
from daemon.memory.database import Transaction
from daemon.memory.store import open_store
from tests.fakes import Events, TurnableClock
from tests.given import tagged
from tests.journeys.house import House, said


async def test_the_transcript_survives_a_restart(house: House) -> None:
    await house.answered("Ada", "dm", "my cat is called Minos")
    await house.restart()
    await house.answered("Ada", "dm", "what is she called?")
    assert "my cat is called Minos" in house.last_prompt()
    assert "Echo: my cat is called Minos" in house.last_prompt()


async def test_a_message_that_a_drain_can_not_finish_is_answered_by_the_next_daemon(empty_house: House) -> None:
    daemon = await empty_house.start(drain=0.1)
    flow = empty_house.flow()
    await empty_house.say("Ada", "dm", "think long")
    await flow.asked.wait()
    flow.say('<external_dialogue verb="said">', "These are the first words of a reply that will never end. " * 2)
    await empty_house.until(lambda: empty_house.people.calls("chat.startStream"))
    await daemon.stop()
    assert daemon.events.named("daemon.drained") == [{"finished": False}]
    await empty_house.start()
    await empty_house.reply("D0ADA", "think long")
    await empty_house.idle()
    assert [said(post) for post in await empty_house.people.posts_by_bot("D0ADA")] == ["Echo: think long"]


async def test_a_daemon_that_lost_its_lease_while_it_was_suspended_posts_nothing(house: House) -> None:
    flow = house.flow()
    await house.say("Ada", "dm", "who answers?")
    await flow.asked.wait()
    later = TurnableClock()
    later.turn(61)
    settings = house.settings
    async with open_store(
        *(settings.database_path, later, Events()),
        soul=settings.name,
        workspace="T0LOCAL",
        kind="slack",
        version="0",
        lease=5.0,
        on_accepted=lambda _: None,
    ) as awake:
        claim = await awake.conversations.claim_next()
        assert claim is not None
        flow.end(tagged("A zombie speaks."))
        await house.events.until("cycle.lost")
        assert await house.posting_calls() == []
        assert await house.rows("SELECT * FROM turns") == []
        await awake.conversations.release(claim)
    house.clock.turn(61)
    await house.reply("D0ADA", "who answers?")
    await house.idle()
    assert len(await house.people.posts_by_bot("D0ADA")) == 1


async def test_a_lease_lost_during_a_model_call_cancels_the_call(empty_house: House) -> None:
    await empty_house.start(lease=5.0)
    flow = empty_house.flow()
    await empty_house.say("Ada", "dm", "who answers?")
    await flow.asked.wait()
    await empty_house.change("UPDATE conversations SET fence = fence + 1, lease_owner = 'another worker'")
    empty_house.clock.turn(3)
    await empty_house.events.until("cycle.lost")
    assert empty_house.model.cut == 1
    assert await empty_house.posting_calls() == []


async def _pages(house: House, most: int = 0) -> None:
    """Cap the file at its size, without free pages, or at a number of pages."""

    async def unit(transaction: Transaction) -> None:
        free = (await transaction.rows("PRAGMA freelist_count"))[0][0] * (await transaction.rows("PRAGMA page_size"))[
            0
        ][0]
        if free and not most:  # migrations left them
            await transaction.run("CREATE TABLE IF NOT EXISTS filler (bytes)")
            await transaction.run("INSERT INTO filler VALUES (zeroblob(:size))", size=free)
        count = most or (await transaction.rows("PRAGMA page_count"))[0][0]
        await transaction.rows(f"PRAGMA max_page_count = {count}")

    while True:
        with suppress(StoreFull):  # it may share a transaction with what does not fit
            return await house.built.store.database.write(unit)


async def test_a_reply_that_could_not_be_stored_is_not_sent_and_is_made_again_when_there_is_room(house: House) -> None:
    flow = house.flow()
    await house.say("Ada", "dm", "tell me")
    await flow.asked.wait()
    await _pages(house)
    flow.end(tagged("A long story. " * 700))
    await house.events.until("store.failed")
    assert await house.posting_calls() == []
    await _pages(house, 1_000_000)
    house.clock.turn(61)
    await house.reply("D0ADA", "tell me")
    await house.idle()
    assert await house.replies("D0ADA") == ["Echo: tell me"]


async def test_sixty_seconds_without_a_message_cost_no_call(house: House) -> None:
    await house.answered("Ada", "dm", "hello")

    async def over() -> bool:
        """Whether the answer's last calls are through: the session has its title, a line below it is cleared."""
        lines = await house.people.calls("assistant.threads.setStatus")  # a fast answer has none
        cleared = not any(one["args"]["status"] for one in lines[-1:])
        return cleared and bool(await house.people.calls("agents.sessions.setStatus"))

    await house.when(over)
    calls, prompts = len(await house.people.calls()), len(house.prompts)
    for _ in range(60):
        house.clock.turn(1)
        await asyncio.sleep(0.002)  # every task that woke runs once
    assert len(await house.people.calls()) == calls
    assert len(house.prompts) == prompts
