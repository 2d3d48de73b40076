"""*Stop* behind the slash command ends what is under way for who types it, at once, and says what it stopped."""

from tests.given import CLOSING, OPENING
from tests.journeys.house import House, said
from tests.journeys.surfaces import COMMAND, shown, typed
from tests.models import Flow

FIRST = "The first words of a long reply, which are enough to be shown at once: more than eighty characters. "
LATER = "and words that nobody wants any more "
BEGUN = "Stopped. So far it took"
ONE = "I have stopped what I was doing for you."
NOTHING = "I am doing nothing here that could be stopped."
CLOSED = "SELECT body FROM turns WHERE kind = 'cut'"


async def growing(house: House, person: str, room: str, channel: str, text: str, *, thread: str = "") -> Flow:
    """An answer to somebody that grows until the test ends it."""
    flow, topic = house.flow(), text.rpartition(" ")[2]
    await house.say(person, room, text, thread=thread)
    await flow.asked.wait()
    flow.say(OPENING, f"Of {topic}. ", FIRST)
    await house.draft(channel, f"Of {topic}.")
    return flow


async def stop(house: House, person: str, room: str, text: str = "stop", count: int = 1) -> str:
    """Type it; what is shown for it."""
    assert await house.people.command(person, room, COMMAND, text)
    return await shown(house, person, room, count)


async def test_typed_in_direct_messages_it_ends_the_answer_that_grows_there(house: House) -> None:
    for number, word in enumerate(("stop", "Stop!", "hör auf"), 1):
        flow = await growing(house, "Ada", "dm", "D0ADA", f"tell me of kilns{number}")
        assert await stop(house, "Ada", "dm", word, number) == ONE, word
        post = await house.reply("D0ADA", BEGUN, count=number)
        flow.end(LATER, CLOSING)
        await house.idle()
        assert said(post).startswith(f"Of kilns{number}."), word
        assert LATER.strip() not in (await house.replies("D0ADA"))[-1], word
        assert len(await house.rows(CLOSED)) == number, word
        assert len(house.prompts) == number, word


async def test_typed_where_nothing_is_done_for_them_it_ends_what_grows_in_direct_messages(house: House) -> None:
    assert await typed(house, "Ada", "general", "stop") == NOTHING
    await growing(house, "Ada", "dm", "D0ADA", "tell me of kilns")
    assert await stop(house, "Ada", "general", count=2) == ONE
    await house.reply("D0ADA", BEGUN)
    await house.idle()
    assert await typed(house, "Ada", "general", "stop", 3) == NOTHING
    assert len(await house.replies("D0ADA")) == 1


async def test_all_threads_of_the_direct_messages_are_stopped_and_counted(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    thread = (await house.reply("D0ADA"))["thread_ts"]
    await growing(house, "Ada", "dm", "D0ADA", "tell me of kilns")
    await growing(house, "Ada", "dm", "D0ADA", "and of bees", thread=thread)
    assert await stop(house, "Ada", "dm") == "I have stopped 2 things that I was doing for you."
    await house.reply("D0ADA", BEGUN, count=2)
    await house.idle()
    assert sum(BEGUN in one for one in await house.replies("D0ADA")) == 2


async def test_in_a_channel_ones_own_answer_is_stopped_and_that_of_another_goes_on(house: House) -> None:
    await growing(house, "Ada", "general", "C0GENERAL", "@soul tell me of kilns")
    ben = await growing(house, "Ben", "general", "C0GENERAL", "@soul tell me of bees")
    direct = await growing(house, "Ada", "dm", "D0ADA", "tell me of glaze")
    assert await stop(house, "Ada", "general") == ONE
    stopped = await house.reply("C0GENERAL", BEGUN)
    assert said(stopped).startswith("Of kilns.")
    ben.end("All of it.", CLOSING)
    direct.end("The whole glaze.", CLOSING)
    await house.reply("C0GENERAL", "All of it.")
    await house.reply("D0ADA", "The whole glaze.")
    await house.idle()
    assert sum(BEGUN in one for one in await house.replies("C0GENERAL")) == 1


async def test_where_only_anothers_answer_grows_nothing_is_stopped_though_they_wrote_there_too(house: House) -> None:
    await house.answered("Ada", "general", "@soul hello")
    thread = (await house.reply("C0GENERAL"))["thread_ts"]
    ben = await growing(house, "Ben", "general", "C0GENERAL", "@soul tell me of bees", thread=thread)
    assert await stop(house, "Ada", "general") == NOTHING
    ben.end("All of it.", CLOSING)
    await house.reply("C0GENERAL", "All of it.")
    await house.idle()
    assert not await house.rows("SELECT 1 FROM inbox WHERE stopped")
    await house.people.join("Gus", "general")
    flow = await growing(house, "Ada", "general", "C0GENERAL", "@soul tell me of kilns")
    refusal = await stop(house, "Gus", "general")
    assert refusal not in {ONE, NOTHING}
    flow.end("All of it.", CLOSING)
    await house.reply("C0GENERAL", "All of it.")
    await house.idle()
    assert not await house.rows("SELECT 1 FROM inbox WHERE stopped")
