"""What came while it was away for too long: each person is asked once, in direct messages, whether to answer late."""

import asyncio

from daemon.local_slack.model import Json
from tests.journeys.house import House, said
from tests.journeys.presses import forge, offered, pick

STALE_AFTER = 1_800.0
_DAY = 24 * 3_600
_ASKED = "I was away and did not answer what you wrote to me"
_LEFT = "SELECT id FROM missed_messages"


async def back(house: House, *missed: str) -> None:
    """The daemon was away for too long, and has settled what came meanwhile."""
    house.clock.turn(STALE_AFTER + 100)
    await house.start(stale_after=STALE_AFTER)
    for ts in missed:
        assert await house.final_state(ts) == "stale"


async def no_more_to_ask(house: House) -> None:
    """All are asked who are to be, and nothing is under way."""
    await house.no_row(f"{_LEFT} WHERE offer = ''")
    await house.idle()


async def asked(house: House, room: str = "D0ADA") -> Json:
    """The one post that asks in a person's direct messages."""
    await no_more_to_ask(house)
    [post] = [one for one in await house.people.posts_by_bot(room) if _ASKED in said(one)]
    return post


async def shows(house: House, ts: str, containing: str) -> Json:
    """Wait until a post shows these words; gives it."""

    async def look() -> Json | None:
        posts = await house.people.posts_by_bot("D0ADA")
        return next((one for one in posts if one["ts"] == ts and containing in said(one)), None)

    return await house.until(look)


async def missed_by_ada(house: House) -> list[str]:
    """Ada writes in three places while no daemon runs, and the daemon comes back."""
    await house.start(stale_after=STALE_AFTER)
    await house.stop()
    missed = [
        await house.say("Ada", "dm", "first question"),
        await house.say("Ada", "general", "@soul second question"),
        await house.say("Ada", "dm", "third question"),
    ]
    await back(house, *missed)
    return missed


async def test_each_person_is_asked_once_and_a_click_takes_up_all_that_was_missed(empty_house: House) -> None:
    missed = await missed_by_ada(empty_house)
    post = await asked(empty_house)
    assert "in our direct messages, in #general. Messages: 3. Shall I still answer?" in said(post)
    assert offered(post) == ["Yes, answer", "No, not needed"]
    assert await empty_house.replies("general") == [], "the channel reads nothing of it"
    assert "soul_feedback" not in str(post)
    assert empty_house.prompts == []
    assert await pick(empty_house, "Ada", "dm", post["ts"], 0) == "accepted"
    for ts in missed:
        assert await empty_house.final_state(ts) == "answered"
    await empty_house.idle()
    assert await empty_house.replies("general") == ["Echo: second question"]
    [second] = await empty_house.people.posts_by_bot("C0GENERAL")
    assert second["thread_ts"] == missed[1]
    [answer] = [one for one in await empty_house.people.posts_by_bot("D0ADA") if "Echo: " in said(one)]
    assert said(answer) == "Echo: first question + third question"
    assert answer["thread_ts"] in missed
    assert all('late="' in prompt.messages[-1].text for prompt in empty_house.prompts)
    after = await shows(empty_house, post["ts"], "Yes, answer")
    assert offered(after) == []
    await empty_house.restart(stale_after=STALE_AFTER)
    assert await forge(empty_house, "Ada", post["ts"], "soul_answer_0", "D0ADA") == "ignored"
    await empty_house.idle()
    assert len(empty_house.prompts) == 2
    assert await empty_house.rows(_LEFT) == []


async def test_who_declines_gets_nothing_and_no_other_person_can_press(empty_house: House) -> None:
    missed = await missed_by_ada(empty_house)
    post = await asked(empty_house)
    assert await forge(empty_house, "Ben", post["ts"], "soul_answer_0", "D0ADA") == "ignored"
    assert await forge(empty_house, "Ada", post["ts"], "soul_answer_4", "D0ADA") == "ignored", "no such button is there"
    assert await forge(empty_house, "Ada", post["ts"], "soul_answer_0", "C0GENERAL") == "ignored"
    await empty_house.idle()
    assert offered(await asked(empty_house)) == ["Yes, answer", "No, not needed"], "it is still for Ada to decide"
    assert await pick(empty_house, "Ada", "dm", post["ts"], 1) == "accepted"
    assert offered(await shows(empty_house, post["ts"], "No, not needed")) == []
    assert await forge(empty_house, "Ada", post["ts"], "soul_answer_0", "D0ADA") == "ignored"
    await empty_house.idle()
    assert [await empty_house.final_state(ts) for ts in missed] == ["stale"] * 3
    assert empty_house.prompts == []


async def test_after_a_day_the_question_lapses_and_says_so(empty_house: House) -> None:
    missed = await missed_by_ada(empty_house)
    post = await asked(empty_house)
    await empty_house.stop()
    empty_house.clock.turn(_DAY)
    await empty_house.start(stale_after=STALE_AFTER)
    assert offered(await shows(empty_house, post["ts"], "You did not say within a day")) == []
    assert await forge(empty_house, "Ada", post["ts"], "soul_answer_0", "D0ADA") == "ignored"
    await empty_house.idle()
    assert [await empty_house.final_state(ts) for ts in missed] == ["stale"] * 3
    assert await empty_house.rows(_LEFT) == []


async def test_what_turns_up_later_joins_the_question_and_two_clicks_answer_once(empty_house: House) -> None:
    missed = await missed_by_ada(empty_house)
    first = await asked(empty_house)
    await empty_house.stop()
    missed.append(await empty_house.say("Ada", "general", "@soul fourth question"))
    await back(empty_house, missed[-1])
    post = await shows(empty_house, first["ts"], "Messages: 4.")
    assert offered(post) == ["Yes, answer", "No, not needed"]
    await empty_house.start(stale_after=STALE_AFTER)
    assert (await asked(empty_house))["ts"] == first["ts"]
    async with asyncio.TaskGroup() as clicks:
        for _ in range(2):
            clicks.create_task(empty_house.people.click("Ada", "dm", post["ts"], "soul_answer_0"))
    await empty_house.row("SELECT 1 FROM inbox WHERE state = 'answered'", count=len(missed))
    await empty_house.idle()
    everything = " ".join(await empty_house.replies("general") + await empty_house.replies("D0ADA"))
    words = ("first", "second", "third", "fourth")
    assert [everything.count(f"{word} question") for word in words] == [1, 1, 1, 1]
    await asked(empty_house)


async def test_other_words_leave_the_question_open_and_what_was_deleted_is_left_alone(empty_house: House) -> None:
    missed = await missed_by_ada(empty_house)
    post = await asked(empty_house)
    await empty_house.answered("Ada", "dm", "something else")
    await empty_house.noticed(empty_house.people.delete("Ada", "dm", missed[0]))
    await empty_house.change("UPDATE inbox SET state = 'answered' WHERE ts = ?", missed[1])
    assert await pick(empty_house, "Ada", "dm", post["ts"], 0) == "accepted"
    assert await empty_house.final_state(missed[2]) == "answered"
    await empty_house.idle()
    assert await empty_house.replies("general") == []
    assert [one for one in await empty_house.replies("D0ADA") if "Echo" in one] == [
        "Echo: something else",
        "Echo: third question",
    ]


async def test_a_guest_and_a_person_who_left_are_not_asked(empty_house: House) -> None:
    await empty_house.start(stale_after=STALE_AFTER)
    await empty_house.stop()
    missed = []
    for person, standing in (("Ben", "guest"), ("Chloe", "deactivated")):
        missed.append(await empty_house.say(person, "general", "@soul anybody there?"))
        await empty_house.people.change_standing(person, standing)
    await back(empty_house, *missed)
    await no_more_to_ask(empty_house)
    assert await empty_house.rows("SELECT 1 FROM outbox") == []
    assert await empty_house.rows(_LEFT) == []


async def test_a_room_that_was_left_is_not_named_and_each_is_asked_in_their_language(empty_house: House) -> None:
    await empty_house.people.add_person("Dora", locale="de-DE")
    dm = await empty_house.people.open_dm("Dora")
    await empty_house.start(stale_after=STALE_AFTER)
    await empty_house.stop()
    room = str((await empty_house.people.add_channel("market", members=["U0ADA", "U0BEN"]))["id"])
    gone = await empty_house.say("Ada", room, "@soul in the market")
    kept = await empty_house.say("Ada", "general", "@soul in general")
    german = await empty_house.say("Dora", "dm", "Bist du da?")
    await empty_house.people.leave("Ada", room)
    await back(empty_house, gone, kept, german)
    post = await asked(empty_house)
    assert "in #general. Messages: 1." in said(post)
    [in_german] = await empty_house.people.posts_by_bot(dm)
    assert "Ich war nicht da und habe nicht beantwortet" in said(in_german)
    assert "in unseren Direktnachrichten" in said(in_german)
    assert offered(in_german) == ["Ja, antworte", "Nein, nicht nötig"]
    assert await pick(empty_house, "Ada", "dm", post["ts"], 0) == "accepted"
    await empty_house.settled("general", "Echo: in general")
    assert await empty_house.final_state(gone) == "stale"
