"""The slash command, the same words elsewhere, and *help*: answered without a model, to who asks alone."""

import re
from pathlib import Path

from daemon.core.working_memory import estimate_tokens
from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.problems import shelf
from tests.journeys.surfaces import COMMAND, shown, typed

POINTER = "I have answered you in a direct message."


def by_hand(house: House, command: str, text: str) -> Json:
    """A payload as Slack sends it."""
    where = house.workspace.workspace.interactions.new_response_url(house.workspace.url, "U0ADA", "C0GENERAL")
    people = {"team_id": "T0LOCAL", "user_id": "U0ADA", "channel_id": "C0GENERAL"}
    return {"command": command, "text": text, "trigger_id": "1.2", "response_url": where, **people}


async def test_help_and_the_prompt_say_what_holds_for_the_person_here_and_now(house: House, tmp_path: Path) -> None:
    plain = await house.answered("Ada", "dm", "What can you do?")
    assert plain.startswith("This is what I can do for you here and now:\n\n- Talk and think with you")
    assert "Remind you" in plain
    assert "Look things up" not in plain
    assert "`/minoan` works everywhere" in plain
    assert house.prompts == []
    await house.answered("Ada", "dm", "hello")
    assert "For them, here: remember what they say" in house.last_prompt()
    folders = (tmp_path / "handbook", *(tmp_path / f"{'handbook' * 6}-{number}" for number in range(8)))
    for folder in folders:
        folder.mkdir()
        (folder / "leave.md").write_text("Leave is thirty days.")
    await house.restart(library=folders, mcp_servers=shelf(tmp_path), ism_enabled=True, allow_guests=True)
    await house.answered("Ada", "dm", "hello again")
    [region] = re.findall(r"## What you can do\n\n([^\n]+)\n", house.last_prompt())
    assert "handbook" in region
    assert "shelf/write_down" in region
    assert estimate_tokens(region) <= 150
    await house.answered("Ada", "dm", "pause remembering")
    more = await house.answered("Ada", "dm", "help")
    assert "Look things up in `handbook`" in more
    assert "`shelf/write_down`, which change something, after the right person" in more
    assert "Not remember: you have paused it." in more
    await house.guest()
    answer = await house.answered("Ada", "general", "@soul what can you do here?")
    assert "Not everybody here is a full member" in answer
    assert "shelf" not in answer


async def test_each_word_of_the_command_is_answered_to_who_typed_it_alone(house: House) -> None:
    house.model.replies.append(tagged("The kiln is cold."))
    await house.answered("Ada", "general", "@soul how is the kiln?")
    before = await house.replies("general")
    assert (await typed(house, "Ada", "general", "")).startswith("This is what I can do")
    assert (await typed(house, "Ada", "general", "help", 2)).startswith("This is what I can do")
    assert "I have noted nothing about you." in await typed(house, "Ada", "general", "me", 3)
    assert await typed(house, "Ada", "general", "reminders", 4) == "You have no reminders with me."
    assert (await typed(house, "Ada", "general", "status", 5)).startswith("I am here and answer. My mood: ")
    assert "> The kiln is cold." in await typed(house, "Ada", "general", "why", 6)
    assert (await typed(house, "Ada", "general", "pause", 7)).startswith("Paused:")
    assert "Remembering is paused" in await typed(house, "Ada", "general", "status", 8)
    assert (await typed(house, "Ada", "general", "Resume remembering.", 9)).startswith("I remember again")
    assert (await typed(house, "Ada", "general", "make tea", 10)).startswith("I don't know “make tea” as a command")
    assert "That needs a message" in await typed(house, "Ada", "general", "wrong 1: I live in Rome", 11)
    assert await house.replies("general") == before
    assert await house.replies("D0ADA") == []
    assert await house.people.ephemerals("Ben", "general") == []


async def test_forget_asks_in_the_direct_messages_and_where_they_can_not_be_opened_it_is_said(house: House) -> None:
    await house.answered("Ada", "general", "@soul remember me?")
    assert await typed(house, "Ada", "general", "forget") == POINTER
    question = await house.reply("D0ADA", "Do you want me to forget everything of you")
    assert [one["type"] for one in question["blocks"]] == ["markdown", "actions"]
    assert (await house.answered("Ada", "dm", "yes, forget me")).startswith("Forgotten:")
    await house.people.fault("conversations.open", body={"ok": False, "error": "internal_error"}, times=1)
    refused = "I can't look that up just now. Please try again in a moment."
    assert await typed(house, "Ben", "general", "help") == refused
    await house.people.clear_faults()
    assert (await typed(house, "Ben", "general", "help", 2)).startswith("This is what I can do")


async def test_it_works_where_the_soul_is_not_and_guests_and_strangers_get_one_sentence(house: House) -> None:
    await house.people.add_channel("attic", app=False, members=["Ben"])
    assert (await typed(house, "Ben", "attic", "help")).startswith("This is what I can do")
    refusals = {"guest": "I only talk with full members", "stranger": "may not answer you here"}
    for standing, sentence in refusals.items():
        name = f"Nora the {standing}"
        await house.people.add_person(name, standing=standing)
        await house.people.join(name, "general")
        await house.acknowledged()
        assert sentence in await typed(house, name, "general", "me")
        assert await house.rows("SELECT * FROM inbox WHERE author = ?", await house.person(name)) == [], standing
        assert len(await house.people.ephemerals(name, "general")) == 1, standing
    payload = by_hand(house, "/astarte", "help")
    await house.people.emit_envelope({"type": "slash_commands", "envelope_id": "e1", "payload": payload})
    assert await shown(house, "Ada", "general") == "No soul with this command answers here now."


async def test_the_same_words_in_direct_messages_and_with_a_mark_in_threads(house: House) -> None:
    status = await house.answered("Ada", "dm", "status")
    assert status.startswith("I am here and answer.")
    assert "Your messages that wait for an answer: 0; your reminders: 0." in status, "it does not count itself"
    assert await house.answered("Ada", "dm", "Reminders") == "You have no reminders with me."
    house.model.replies.append(tagged("Green."))
    root = await house.heard("Ada", "general", "@soul what is the colour?")
    prompts = len(house.prompts)
    assert (await house.answered("Ada", "general", "!help", thread=root)).startswith("This is what I can do")
    assert await house.answered("Ada", "general", "!status", thread=root) == POINTER
    assert (await house.reply("D0ADA", "I am here and answer", count=2))["ts"]
    assert len(house.prompts) == prompts
    house.model.replies.append(tagged("As I said."))
    assert await house.answered("Ada", "general", "status", thread=root) == "As I said.", "talk in a thread stays talk"


async def test_a_payload_that_comes_twice_is_one_command_and_an_odd_trigger_is_answered(house: House) -> None:
    payload = by_hand(house, COMMAND, "pause")
    for number in range(2):
        await house.people.emit_envelope({"type": "slash_commands", "envelope_id": f"e{number}", "payload": payload})
    await house.events.until("slack.duplicate")
    assert (await shown(house, "Ada", "general")).startswith("Paused:")
    await house.idle()
    assert len(await house.people.ephemerals("Ada", "general")) == 1
    odd = by_hand(house, COMMAND, "resume remembering") | {"trigger_id": "\ud800"}  # no UTF-8 can hold it
    await house.people.emit_envelope({"type": "slash_commands", "envelope_id": "odd", "payload": odd})
    assert (await shown(house, "Ada", "general", 2)).startswith("I remember again")
