"""Slack repeats events or fails to deliver them: every message is answered once, if late, and none is lost."""

import re

import pytest

from tests.journeys.house import House, said


async def _events_of(house: House, ts: str) -> list[str]:
    """Event ids under which a message was delivered."""
    rows = await house.rows("SELECT event_id FROM deliveries WHERE event_id NOT LIKE 'backfill%'")
    assert rows, ts
    return [row["event_id"] for row in rows]


async def test_an_event_that_comes_twice_at_once_or_again_after_a_restart_is_answered_once(house: House) -> None:
    await house.answered("Ben", "dm", "one")
    await house.people.fault(socket="duplicate", times=4)
    ts = await house.say("Ada", "general", "@soul hello")
    await house.reply("general")
    await house.acknowledged()
    await house.idle()
    events = await _events_of(house, ts)
    for restarted in (False, True):
        if restarted:
            await house.restart()
        house.clock.turn(305)
        for event in events:
            await house.people.repeat(event)
        await house.acknowledged()
        await house.idle()
        assert await house.replies("general") == ["Echo: hello"], restarted
        assert await house.replies("D0BEN") == ["Echo: one"], restarted
        assert len(house.prompts) == 2, restarted


async def test_ten_messages_sent_while_the_daemon_was_down_are_all_answered_and_marked_late(empty_house: House) -> None:
    await empty_house.start()
    await empty_house.answered("Ada", "general", "@soul hello")
    root = (await empty_house.people.messages("general"))[0]["ts"]
    await empty_house.stop()
    for number in range(4):
        await empty_house.say("Ada", "dm", f"dm {number}")
    for number in range(3):
        await empty_house.say("Ben", "general", f"@soul mention {number}")
    for number in range(3):
        await empty_house.say("Ada", "general", f"reply {number}", thread=root)
    empty_house.clock.turn(600)
    await empty_house.start()
    await empty_house.events.until("slack.caught_up")
    await empty_house.idle()
    everything = " ".join(await empty_house.replies("general") + await empty_house.replies("D0ADA"))
    for words in [f"dm {n}" for n in range(4)] + [f"mention {n}" for n in range(3)] + [f"reply {n}" for n in range(3)]:
        assert everything.count(words) == 1
    for prompt in empty_house.prompts[1:]:
        assert 'late="10 minutes"' in prompt.messages[-1].text
    assert {row["source"] for row in await empty_house.rows("SELECT source FROM inbox WHERE body LIKE 'dm %'")} == {
        "backfill"
    }


@pytest.mark.slow
async def test_what_is_too_old_gets_one_line_a_conversation_and_what_is_not_an_answer(empty_house: House) -> None:
    await empty_house.people.join("Gus", "general")
    await empty_house.people.add_person("Dora", locale="de-DE")
    doras = await empty_house.people.open_dm("Dora")
    await empty_house.start(stale_after=1800.0)
    await empty_house.answered("Ada", "dm", "hello")
    await empty_house.stop()
    old = [await empty_house.say("Ada", "dm", words) for words in ("anybody there?", "hello again?")]
    mention = await empty_house.say("Ben", "general", "@soul are you there?")
    second = await empty_house.say("Ada", "general", "@soul and for me, are you there?", thread=mention)
    guest = await empty_house.say("Gus", "general", "@soul and for me?")
    german = await empty_house.say("Dora", "dm", "Bist du da?")
    empty_house.clock.turn(1900)
    young = await empty_house.say("Ada", "dm", "and now?")
    for _ in range(2):
        await empty_house.start(stale_after=1800.0)
        await empty_house.idle()
        await empty_house.stop()
    assert [await empty_house.final_state(ts) for ts in (*old, mention, second, guest, german)] == ["stale"] * 6
    assert await empty_house.final_state(young) == "answered"
    *answers, line = sorted(await empty_house.replies("D0ADA"))
    assert answers == ["Echo: and now?", "Echo: hello"]
    assert re.fullmatch(r"I was away until \d\d:\d\d \(UTC\) and did not answer what you wrote before .*", line)
    assert line.endswith("; say it again if it still matters.")
    [line] = await empty_house.replies("general")
    assert "did not answer what was written here before" in line
    [line] = await empty_house.replies(doras)
    assert re.fullmatch(r"Ich war bis .* nicht da und habe nicht beantwortet, was du vor .* geschrieben hast; .*", line)
    assert "there?" not in empty_house.last_prompt()
    posts = await empty_house.people.posts_by_bot("D0ADA") + await empty_house.people.posts_by_bot("C0GENERAL")
    lines = [one["thread_ts"] for one in posts if "away" in said(one)]
    assert lines in ([old[0], mention], [old[1], mention])
    assert "actions" not in str([one for one in posts if "away" in said(one)]), "nothing is to be pressed"


async def test_a_user_who_was_told_can_say_it_again_in_that_thread_without_a_mention(empty_house: House) -> None:
    await empty_house.start(stale_after=1800.0)
    await empty_house.stop()
    root = await empty_house.say("Ben", "general", "@soul are you there?")
    empty_house.clock.turn(1900)
    await empty_house.start(stale_after=1800.0, backfill_hours=24.0)
    await empty_house.idle()
    await empty_house.reply("general", "away until")
    assert await empty_house.answered("Ben", "general", "it still matters", thread=root) == "Echo: it still matters"


async def test_a_socket_that_is_cut_is_replaced_and_nothing_is_lost_meanwhile(house: House) -> None:
    await house.people.fault(socket="disconnect", reason="refresh_requested")
    await house.say("Ada", "dm", "hello")
    await house.people.fault(socket="close")
    await house.say("Ada", "dm", "again")
    await house.reply("D0ADA", "again")
    await house.idle()
    assert " ".join(await house.replies("D0ADA")).count("hello") == 1


async def test_a_file_beside_a_mention_is_seen_whichever_of_the_two_events_comes_first(house: House) -> None:
    await house.people.fault(socket="mention_first", on=True)
    await house.people.say("Ada", "general", "@soul read this", files=[{"name": "plan.txt", "text": "x"}])
    await house.reply("general")
    await house.idle()
    assert "[shared a file: plan.txt]" in house.last_prompt()
    assert len(await house.replies("general")) == 1
