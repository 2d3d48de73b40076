"""Whom a reply in a thread answered can have it shown in the channel, too, by plain words that are nothing else."""

import pytest

from daemon.core.sentences import SENTENCES
from daemon.local_slack.model import Json
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.surfaces import shown

ASK = "also send that to the channel"
ANSWER = "The kiln is fired on Thursdays."


async def _asked(house: House, person: str = "Ada", answer: str = ANSWER) -> str:
    """A question in a channel and its answer; gives the thread."""
    house.model.replies.append(tagged(answer))
    return await house.heard(person, "general", "@soul when is the kiln fired?")


async def _whispered(house: House, person: str, room: str = "general", count: int = 1) -> str:
    """The newest of so many texts that are shown to a user alone."""
    text = await shown(house, person, room, count)
    await house.idle()
    return text


async def _in_channel(house: House) -> list[str]:
    """The replies of threads that the channel shows, too."""
    return [said(one) for one in await house.people.messages("general") if one.get("subtype") == "thread_broadcast"]


async def _shown(house: House) -> list[Json]:
    return [call for call in await house.people.calls("chat.update") if call["args"].get("reply_broadcast")]


async def test_the_last_reply_stands_in_the_channel_too_with_its_buttons_and_costs_no_model(house: House) -> None:
    for number, words in enumerate((ASK, "@soul Also send that to the channel!", "Schick das auch in den Kanal."), 1):
        answer = f"{ANSWER} {number}"
        thread = await _asked(house, answer=answer)
        before = (await house.people.posts_by_bot("general"))[-1]
        await house.say("Ada", "general", words, thread=thread)
        assert await _whispered(house, "Ada", count=number) == SENTENCES["there_shown"], words
        after = (await house.people.posts_by_bot("general"))[-1]
        assert (await _in_channel(house))[-1] == answer, words
        assert (after["ts"], after["thread_ts"]) == (before["ts"], thread), words
        assert after["blocks"] == before["blocks"], words
        assert len(house.prompts) == number, words


async def test_its_buttons_keep_the_language_of_whom_it_answered(house: House) -> None:
    await house.people.add_person("Uwe", locale="de-DE")
    await house.people.join("Uwe", "general")
    thread = await _asked(house, "Uwe")
    [before] = await house.people.posts_by_bot("general")
    await house.say("Uwe", "general", ASK, thread=thread)
    assert await _whispered(house, "Uwe") == "Diese Antwort steht jetzt auch im Kanal."
    [after] = await house.people.posts_by_bot("general")
    assert after["blocks"] == before["blocks"]


async def test_what_another_asks_or_asks_elsewhere_or_in_a_longer_message_is_not_shown(house: House) -> None:
    thread = await _asked(house)
    await house.say("Ben", "general", ASK, thread=thread)
    assert await _whispered(house, "Ben") == SENTENCES["there_not_yours"]
    assert await house.people.ephemerals("Ada", "general") == []
    await house.say("Ada", "general", f"@soul {ASK}")
    assert await _whispered(house, "Ada") == SENTENCES["there_none"], "nothing was answered there"
    await house.answered("Ada", "dm", "my locker code is nightingale")
    assert await house.answered("Ada", "dm", ASK) == SENTENCES["there_where"]
    calls = len(house.prompts)
    await house.answered("Ada", "general", f"> {ASK}\nwhat would that do?", thread=thread)
    assert len(house.prompts) == calls + 1
    assert await _in_channel(house) == []
    assert await _shown(house) == []


@pytest.mark.slow
async def test_a_reply_that_was_taken_back_is_not_shown_and_of_one_in_several_messages_the_first(house: House) -> None:
    thread = await _asked(house)
    [post] = await house.people.posts_by_bot("general")
    await house.people.react("Ada", "general", post["ts"], "x")
    await house.acknowledged()
    await house.idle()
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada") == SENTENCES["there_none"]
    assert await _shown(house) == []
    house.model.replies.append(tagged("\n\n".join("brick " * 250 for _ in range(10))))
    thread = await house.heard("Ada", "general", "@soul count the bricks")
    posts = await house.people.posts_by_bot("general")
    assert len(posts) > 1
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada", count=2) == SENTENCES["there_shown"]
    assert await _in_channel(house) == [said(posts[0])]


async def test_asked_twice_it_stands_there_once_and_is_asked_again_where_slack_does_not_answer(house: House) -> None:
    thread = await _asked(house)
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada") == SENTENCES["there_shown"]
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada", count=2) == SENTENCES["there_refused"]
    assert await _in_channel(house) == [ANSWER]
    assert len(await house.people.posts_by_bot("general")) == 1
    thread = await _asked(house)
    await house.people.fault("chat.update", times=100, mode="answer", status=503, body={})
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada", count=3) == SENTENCES["there_later"]
    await house.people.clear_faults()
    await house.say("Ada", "general", ASK, thread=thread)
    assert await _whispered(house, "Ada", count=4) == SENTENCES["there_shown"]
    assert await _in_channel(house) == [ANSWER, ANSWER]
