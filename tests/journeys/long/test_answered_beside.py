"""What only reads is answered while a long answer grows in the same direct messages; what changes them in order."""

from daemon.core.perception import NO_MESSAGE
from daemon.core.phrases import WHY_SHORTCUT
from daemon.memory.knowledge.records.kinds import Topic
from tests.given import CLOSING, OPENING, tagged
from tests.journeys.house import House, said
from tests.journeys.own_memory import note
from tests.journeys.surfaces import COMMAND, home, open_home, press, shown, typed
from tests.models import Flow

CLAIMED = "SELECT thread FROM conversations WHERE channel = 'D0ADA' AND lease_owner <> '' ORDER BY thread"


async def held(house: House) -> Flow:
    """A long answer that grows in Ada's direct messages until the test ends it."""
    flow, _ = await house.asking("Ada", "dm", "tell me of kilns")
    flow.say(OPENING, "Once there was a kiln; its story is long, and these first words are enough to be shown. ")
    await house.draft("D0ADA", "its story is long")
    return flow


async def asked(house: House, text: str, count: int) -> str:
    """What is shown to Ada for a command, while her talk goes on."""
    assert await house.people.command("Ada", "general", COMMAND, text)
    return await shown(house, "Ada", "general", count)


async def waiting(house: House, count: int) -> None:
    """Wait until so many commands and presses wait behind the talk."""
    waits = "SELECT 1 FROM inbox WHERE modality = 'decision' AND state = 'new' AND conversation LIKE '%/D0ADA/'"
    await house.row(waits, count=count)


async def in_order(house: House, *commands: str) -> None:
    """Type commands that have to wait, each once the one before is stored."""
    for count, text in enumerate(commands, 1):
        assert await house.people.command("Ada", "general", COMMAND, text)
        await waiting(house, count)


async def finish(house: House, flow: Flow) -> None:
    flow.end("And so on.", CLOSING)
    await house.settled("D0ADA", "And so on.")


async def test_commands_that_read_are_answered_while_an_answer_grows_and_a_stop_ends_it_alone(house: House) -> None:
    house.model.replies.append(tagged("The kiln is cold."))
    await house.answered("Ada", "general", "@soul how is the kiln?")
    flow = await held(house)
    prompts = len(house.prompts)
    assert (await asked(house, "help", 1)).startswith("This is what I can do")
    assert "I have noted nothing about you." in await asked(house, "me", 2)
    assert await asked(house, "reminders", 3) == "You have no reminders with me."
    assert (await asked(house, "status", 4)).startswith("I am here and answer.")
    assert "> The kiln is cold." in await asked(house, "why", 5)
    assert [row["thread"] for row in await house.rows(CLAIMED)][:1] == [""], "the answer has its claim still"
    assert len(house.prompts) == prompts
    await finish(house, flow)
    assert len(await house.replies("D0ADA")) == 1
    assert len(await house.people.ephemerals("Ada", "general")) == 5
    flow = await held(house)
    assert (await asked(house, "help", 6)).startswith("This is what I can do")
    await house.say("Ada", "dm", "stop")
    await house.idle()
    flow.end()
    assert len(await house.replies("D0ADA")) == 2
    beside = await house.rows("SELECT params FROM inbox WHERE conversation LIKE '%/beside'")
    assert all(NO_MESSAGE in row["params"] for row in beside)


async def test_the_home_page_opens_and_its_presses_hold_at_once(house: House) -> None:
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await note(house, "U0ADA", "keeps bees", "keep bees on the roof", topic=Topic.OTHER)
    flow = await held(house)
    view = await open_home(house, "Ada", "1. keeps bees", "[Pause remembering]")
    await press(house, "Ada", view, "Pause remembering")
    view = await home(house, "Ada", "Remembering is paused", "1. keeps bees")
    await press(house, "Ada", view, "Resume remembering")
    view = await home(house, "Ada", "[Pause remembering]", "1. keeps bees")
    assert "1. keeps bees" in await asked(house, "me", 1)
    await press(house, "Ada", view, "Forget")
    await home(house, "Ada", "I have noted nothing about you.")
    await finish(house, flow)
    assert "I have noted nothing about you." in await typed(house, "Ada", "general", "me", 2)


async def test_why_at_a_message_is_answered_in_its_thread_while_another_answer_grows(house: House) -> None:
    house.model.replies.append(tagged("The kiln is cold."))
    await house.answered("Ada", "dm", "how is the kiln?")
    reply = await house.reply("D0ADA", "cold")
    flow = await held(house)
    assert await house.people.shortcut("Ada", "dm", reply["ts"], WHY_SHORTCUT)
    answer = await house.reply("D0ADA", "> The kiln is cold.")
    assert answer["thread_ts"] == reply["thread_ts"]
    await finish(house, flow)
    assert sum("> The kiln is cold." in one for one in await house.replies("D0ADA")) == 1


async def test_what_changes_something_waits_for_the_talk_and_what_follows_stays_behind_it(house: House) -> None:
    view = await open_home(house, "Ada", "[Pause remembering]")
    await press(house, "Ada", view, "Pause remembering")
    view = await home(house, "Ada", "[Resume remembering]")
    flow = await held(house)
    await in_order(house, "pause", "status")
    await press(house, "Ada", view, "Resume remembering")
    await waiting(house, 3)
    assert await house.people.ephemerals("Ada", "general") == []
    await finish(house, flow)
    shown_to_her = [said(one) for one in await house.people.ephemerals("Ada", "general")]
    assert shown_to_her[0].startswith("Paused:")
    assert "Remembering is paused" in shown_to_her[1]
    await home(house, "Ada", "[Pause remembering]")


async def test_a_command_left_beside_by_a_dead_daemon_is_answered_once_in_direct_messages(house: House) -> None:
    await typed(house, "Ada", "general", "status")
    await house.cut()
    await house.change("UPDATE inbox SET state = 'new', answered_by = '' WHERE modality = 'decision'")
    flow = house.flow()
    await house.start()
    post = await house.settled("D0ADA", "I am here and answer")
    assert "thread_ts" not in post or not post["thread_ts"]
    assert len(await house.replies("D0ADA")) == 1
    assert not flow.asked.is_set()
    calls = await house.people.calls("conversations.replies")
    assert all(call["args"]["ts"] != "beside" for call in calls), "the platform has no such thread"
    kept = [str(tuple(row)) for table in ("inbox", "deliveries") for row in await house.rows(f"SELECT * FROM {table}")]
    assert "/response/" not in str(kept), "the address at which Slack takes the answer is in no file"
