"""*why*: from each sentence of the last reply to the memories that bear it, for those who may hear them now."""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import aiohttp
import pytest

from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.own_memory import note

BEES = "You keep bees on the roof. The sky is blue."
NOTHING = "Nothing that I remember; it came from the talk itself or from what I know in general."
HIDDEN = "It rests on something that I may not show here."
IN_PRIVATE = "There is more that you alone may see; I have sent it to you in a direct message."


async def _bees(house: House) -> str:
    """Ada has spoken of her bees, it was noted, and the soul said so; gives the ts of her words."""
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await note(house, "U0ADA", "keeps bees", "keep bees on the roof")
    ts = (await house.one("SELECT ts FROM turns WHERE speaker = 'person'"))["ts"]
    house.model.replies.append(tagged(BEES))
    await house.answered("Ada", "dm", "which animals do I have?")
    return str(ts)


def _address(house: House, channel: str, ts: str) -> str:
    return f"{house.workspace.url}/archives/{channel}/p{ts.replace('.', '')}"


async def test_each_sentence_leads_to_its_memory_its_quotation_and_the_message_without_a_model(house: House) -> None:
    ts = await _bees(house)
    calls = len(house.prompts)
    answer = await house.answered("Ada", "dm", "why")
    day = dt.datetime.fromtimestamp(float(ts), ZoneInfo("Europe/Athens")).date().isoformat()
    bees = (
        "> You keep bees on the roof.\n- I had noted: keeps bees\n"
        f"  “keep bees on the roof” (Ada, {day}) [message]({_address(house, 'D0ADA', ts)})"
    )
    assert answer.split("\n\n") == [
        "Where it comes from, sentence by sentence:",
        bees,
        f"> The sky is blue.\n{NOTHING}",
    ]
    assert len(house.prompts) == calls
    async with (
        aiohttp.ClientSession() as browser,
        browser.get(_address(house, "D0ADA", ts), allow_redirects=False) as at,
    ):
        assert (at.status, at.headers["Location"]) == (303, "/#/D0ADA")
    assert await house.answered("Ada", "dm", "Warum!") == answer
    await house.restart()
    assert await house.answered("Ada", "dm", "why did you say that?") == answer
    asked = (await house.rows("SELECT ts FROM turns WHERE speaker = 'person' ORDER BY seq"))[-1]["ts"]
    await house.answered("Ada", "dm", "thank you")
    assert "keeps bees" not in await house.answered("Ada", "dm", "why")
    assert "keeps bees" in await house.answered("Ada", "dm", "why", thread=asked)


async def test_lines_of_the_house_below_a_reply_are_none_of_its_sentences(empty_house: House) -> None:
    await empty_house.start(tell_of_memory=True)
    empty_house.model.replies.append(tagged("Welcome."))
    assert "I remember what we talk about." in await empty_house.answered("Ada", "dm", "hello")
    answer = await empty_house.answered("Ada", "dm", "why")
    assert answer == f"Where it comes from, sentence by sentence:\n\n> Welcome.\n{NOTHING}"
    assert (
        await empty_house.answered("Ben", "dm", "why")
        == "I have not said anything here yet that I could give reasons for."
    )
    empty_house.model.replies.append(tagged("Because I like bees."))
    assert await empty_house.answered("Ada", "dm", "why?") == "Because I like bees.", "that is a question to the soul"


@pytest.fixture
async def guild(empty_house: House) -> House:
    """Ben said in a private channel what the soul told Ada, who is in it too, in her direct messages."""
    await empty_house.start(allow_guests=True)
    await empty_house.people.add_channel("guild", kind="group", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "guild", "@soul the kiln cracks because of the heliotrope glaze")
    empty_house.model.replies.append(tagged("Ben says that it is the heliotrope glaze [m1]."))
    await empty_house.answered("Ada", "dm", "why does the kiln crack?")
    return empty_house


async def test_what_was_said_in_a_private_room_is_shown_to_its_members_alone(guild: House) -> None:
    answer = await guild.answered("Ada", "dm", "why")
    assert "“the kiln cracks because of the heliotrope glaze” (Ben, " in answer
    assert "/archives/C0GUILD/p" in answer
    await guild.people.leave("Ada", "guild")
    await guild.acknowledged()
    answer = await guild.answered("Ada", "dm", "why")
    assert answer.endswith(f"> Ben says that it is the heliotrope glaze.\n{HIDDEN}")
    assert "Ben, " not in answer


async def test_before_a_guest_who_joined_since_the_rest_comes_by_direct_message(empty_house: House) -> None:
    await empty_house.start(allow_guests=True)
    await empty_house.people.add_channel("studio", members=["Ada", "Ben"])
    await empty_house.answered("Ben", "general", "@soul the kiln cracks because of the heliotrope glaze")
    empty_house.model.replies.append(tagged("It is the glaze [m1]."))
    asked = await empty_house.heard("Ada", "studio", "@soul why does the kiln crack?")
    everybody = await empty_house.answered("Ada", "studio", "@soul why", thread=asked)
    assert "heliotrope" in everybody
    assert IN_PRIVATE not in everybody
    await empty_house.people.join("Gus", "studio")
    await empty_house.acknowledged()
    before_gus = await empty_house.answered("Ada", "studio", "@soul why", thread=asked)
    assert before_gus.endswith(f"> It is the glaze.\n{HIDDEN}\n\n{IN_PRIVATE}")
    assert "heliotrope" not in before_gus
    assert "heliotrope" in said(await empty_house.reply("D0ADA"))


async def test_to_german_readers_all_of_it_is_said_in_german(empty_house: House) -> None:
    await empty_house.start()
    await empty_house.people.add_person("Dora", locale="de-DE", zone="Europe/Berlin")
    await empty_house.answered("Dora", "dm", "Ich habe Bienen auf dem Dach")
    await note(empty_house, await empty_house.person("Dora"), "hat Bienen auf dem Dach", "Bienen auf dem Dach")
    empty_house.model.replies.append(tagged("Du hast Bienen auf dem Dach. Der Himmel ist blau."))
    await empty_house.answered("Dora", "dm", "welche Tiere habe ich?")
    answer = await empty_house.answered("Dora", "dm", "warum")
    assert answer.startswith("Woher es kommt, Satz für Satz:")
    assert "- Ich hatte mir gemerkt: hat Bienen auf dem Dach\n  „Bienen auf dem Dach“ (Dora, " in answer
    assert "[Nachricht](" in answer
    assert "nothing" not in answer.lower()


@pytest.mark.slow
async def test_a_hostile_quotation_stays_words(house: House) -> None:
    hostile = "I keep <!channel> bees [here](https://evil.example/x) on the *roof*"
    await house.answered("Ada", "dm", hostile)
    await note(house, "U0ADA", "keeps bees on the roof", hostile.partition(" <")[0])
    house.model.replies.append(tagged("You keep bees on the roof."))
    await house.answered("Ada", "dm", "what do I keep?")
    await house.answered("Ada", "dm", "why")
    sent = json.dumps((await house.posting_calls())[-1]["args"])
    assert "](https://evil.example" not in sent
    assert "<!channel>" not in sent


@pytest.mark.slow
async def test_the_command_shows_ids_and_words_only_if_asked(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    ts = await _bees(house)
    monkeypatch.setenv("SOUL_EMBEDDER", "none")
    fact = (await house.one("SELECT id FROM facts"))["id"]
    turn = (await house.one("SELECT seq FROM turns WHERE speaker = 'person'"))["seq"]
    posted = (await house.rows("SELECT platform_ts FROM outbox ORDER BY seq"))[-1]["platform_ts"]
    found = json.loads(await house.command("memory", "why", posted, "--json"))
    reply = found["reply"]["id"]
    evidence = {"id": f"TU_{turn}", "quote": "", "permalink": ""}
    assert found["reply"] == {"id": reply, "ts": posted}
    assert [
        (one["text"], [(each["id"], each["kind"], each["text"], each["evidence"]) for each in one["memories"]])
        for one in found["sentences"]
    ] == [("", [(fact, "fact", "", [evidence])]), ("", [])]
    monkeypatch.setenv("SLACK_BOT_TOKEN", house.workspace.bot_token)
    monkeypatch.setenv("SLACK_API_URL", house.workspace.api_url)
    shown = json.loads(await house.command("memory", "why", reply, "--words", "--private", "--json"))
    evidence = {"id": f"TU_{turn}", "quote": "keep bees on the roof", "permalink": _address(house, "D0ADA", ts)}
    assert [(one["text"], [memory["evidence"] for memory in one["memories"]]) for one in shown["sentences"]] == [
        ("You keep bees on the roof.", [[evidence]]),
        ("The sky is blue.", []),
    ]
    printed = await house.command("memory", "why", reply)
    assert f"{fact} fact" in printed
    assert "nothing that is remembered" in printed
    assert "bees" not in printed


async def test_the_command_shows_what_a_reader_there_could_know(guild: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOUL_EMBEDDER", "none")
    posted = (await guild.rows("SELECT platform_ts FROM outbox ORDER BY seq"))[-1]["platform_ts"]
    as_ada = ("memory", "why", posted, "--as", "U0ADA", "--place", "D0ADA", "--json")
    assert len(json.loads(await guild.command(*as_ada))["sentences"][0]["memories"]) == 1
    await guild.answered("Chloe", "dm", "hello")
    as_chloe = ("memory", "why", posted, "--as", "U0CHLOE", "--place", "D0CHLOE", "--json")
    assert json.loads(await guild.command(*as_chloe))["sentences"][0]["memories"] == []
