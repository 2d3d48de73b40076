"""Reminders that wait for words of a topic or of a person: brought up once, where they were asked, with a link."""

import json

import pytest

from tests.given import CLOSING, OPENING, shown, tagged, wanting
from tests.journeys.house import House
from tests.journeys.waiting import CAME_UP, DAY, WAITING, asked, hears, reports, set_for, settled

ASKED = "Remind me when the release is talked about again"
ASKED_IN_GERMAN = "Erinnere mich, sobald wieder von der Freigabe die Rede ist"
ADA = "D0ADA"


def link_to(house: House, ts: str, channel: str = "C0GENERAL") -> str:
    return f"{house.workspace.url}/archives/{channel}/p{ts.replace('.', '')}"


async def test_a_topic_that_is_talked_about_again_is_brought_up_where_it_was_asked_with_a_link(house: House) -> None:
    confirmed = await set_for(house, ASKED, asked("the release"))
    assert "You have set a reminder: you bring it up here, once, once somebody else writes about" in confirmed
    assert "it ends on" in confirmed
    [row] = await house.rows(WAITING)
    assert abs(row["due_ms"] - row["created_ms"] - 30 * DAY * 1000) < 60_000, "without an end of its own"
    assert "or sooner when they tell you to drop it" in confirmed
    ts = await hears(house, "Ben", "general", "@soul the releases are out on Friday")
    assert await reports(house, ADA) == [f"Ben wrote in a channel: {link_to(house, ts)}"]
    report = [text for one in house.prompts if "Who wrote it" in (text := shown(one))][-1]  # Ben is answered, too
    assert "Friday" not in report
    assert "Ben" not in report.partition("Who wrote it")[2]
    assert not await house.rows(WAITING)
    await hears(house, "Ben", "general", "@soul the release again")
    assert len(await reports(house, ADA)) == 1


async def test_the_words_of_a_person_are_brought_up_whatever_they_are_about(house: House) -> None:
    await hears(house, "Ben", "general", "@soul good evening")
    confirmed = await set_for(house, "Tell me when Ben is back", asked(who="Ben"))
    assert "once the person they named writes" in confirmed
    await hears(house, "Chloe", "general", "@soul Ben is ill")
    assert not await reports(house, ADA)
    await house.restart()
    ts = await hears(house, "Ben", "general", "@soul coffee?")
    assert await reports(house, ADA) == [f"Ben wrote in a channel: {link_to(house, ts)}"]


async def test_a_person_who_never_spoke_here_can_be_mentioned_and_waited_for_on_a_topic_too(house: House) -> None:
    confirmed = await set_for(house, "Tell me when Ben writes", asked(who="Ben"))
    assert "you know no one here by that name; ask them to mention the person" in confirmed
    await set_for(house, "Tell me when <@U0BEN> writes", asked(who="<@U0BEN>"))
    await hears(house, "Ben", "general", "@soul coffee?")
    assert len(await reports(house, ADA)) == 1
    await set_for(house, "Tell me when <@U0BEN> talks about the release", asked("the release", who="<@U0BEN>"))
    await hears(house, "Chloe", "general", "@soul the release is out")
    await hears(house, "Ben", "general", "@soul coffee?")
    assert len(await reports(house, ADA)) == 1
    await hears(house, "Ben", "general", "@soul is the release out?")
    assert len(await reports(house, ADA)) == 2


async def test_what_others_say_later_counts_also_to_each_other_in_a_thread_of_the_soul(house: House) -> None:
    root = await hears(house, "Ben", "general", "@soul the release is late")
    await set_for(house, ASKED, asked("the release"))
    await hears(house, "Ada", "general", "@soul the release, the release")
    assert not await reports(house, ADA), "ones own words and those before are no news"
    assert len(await house.rows(WAITING)) == 1
    ts = await house.say("Ben", "general", "<@U0CHLOE> how is the release?", thread=root)
    await settled(house)
    await house.reply(ADA, CAME_UP)
    [report] = await reports(house, ADA)
    assert link_to(house, ts) in report


async def test_it_is_brought_up_as_often_as_they_said_also_by_an_edit(house: House) -> None:
    confirmed = await set_for(house, f"{ASKED}, twice", asked("the release", times=2))
    assert "2 times at most" in confirmed
    ts = await hears(house, "Ben", "general", "@soul it is out")
    await house.people.edit("Ben", "general", ts, "<@U0SOUL> the release is out")
    await house.settled(ADA, CAME_UP)
    assert len(await reports(house, ADA)) == 1
    for number in range(2):
        await hears(house, "Ben", "general", f"@soul release {number}")
    assert len(await reports(house, ADA)) == 2
    assert not await house.rows("SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words")


async def test_what_could_not_be_understood_is_said_and_nothing_is_set(house: House) -> None:
    topic, silence = "what is to be talked about could not be made out", "a silence has to last from 10 minutes"
    until = "until when to wait could not be made out"
    for words, answer, why in (
        ("Remind me when that comes up", asked("that"), topic),
        ("Remind me when that comes up", asked("the merger"), topic),
        ("Remind me when I write again", asked(who="<@U0ADA>"), "you know no one here by that name"),
        ("Tell me if nobody answers for a minute", asked(silence="1m"), silence),
        ("Tell me if nobody answers for ages", asked(silence="ages"), silence),
        (ASKED, asked("the release", until="in 300 days"), until),
        (ASKED, asked("the release", until="never"), until),
    ):
        confirmed = await set_for(house, words, answer)
        assert f"You could not set the reminder: {why}" in confirmed, (words, answer)
        assert not await house.rows(WAITING), (words, answer)


async def test_one_that_waits_is_listed_and_dropped_by_who_set_it_alone(house: House) -> None:
    root = await hears(house, "Ada", "general", "@soul hello")
    await set_for(house, f"@soul {ASKED}", asked("the release"), room="general", thread=root)
    outcomes = {"Ben": "You may not drop the reminder that waits", "Ada": "You have dropped the reminder that waits"}
    for person, outcome in outcomes.items():
        house.model.replies += [wanting("reminder"), asked(what="", drop=[1]), tagged("Done.")]
        before = len(house.prompts)
        await house.answered(person, "general", "@soul drop that reminder, please", thread=root)
        _, read, confirmed = house.prompts[before : before + 3]
        assert "waits for words about it, until" in shown(read)
        assert outcome in shown(confirmed)
    assert not await house.rows(WAITING)
    assert not await house.rows("SELECT 1 FROM cues")


async def test_the_same_again_takes_its_own_place_and_an_admin_sees_and_cancels_it(house: House) -> None:
    await set_for(house, ASKED, asked("the release"))
    await set_for(house, "Remind me once the Release comes up again", asked("Release", times=3))
    assert [row["fires_left"] for row in await house.rows("SELECT fires_left FROM cues")] == [3]
    listed = await house.command("schedule", "list")
    assert "topic" in listed
    assert "release" not in listed
    [row] = await house.rows(WAITING)
    await house.command("schedule", "cancel", row["id"])
    await hears(house, "Ben", "general", "@soul the release is out")
    assert not await reports(house, ADA)


async def test_an_edit_that_takes_the_topic_out_and_a_deletion_drop_it_and_another_edit_does_not(house: House) -> None:
    house.model.replies += [wanting("reminder"), asked("the release"), tagged("Noted.")]
    ts = await house.say("Ada", "dm", ASKED)
    await house.settled(ADA, "Noted.")
    await house.noticed(house.people.edit("Ada", ADA, ts, f"{ASKED}, please"))
    assert len(await house.rows(WAITING)) == 1
    await house.people.edit("Ada", ADA, ts, "Remind me when the budget is talked about again")
    await house.reply(ADA, "You have changed the message in which you asked me for a reminder")
    assert not await house.rows(WAITING)
    assert not await house.rows("SELECT 1 FROM cues")
    house.model.replies += [wanting("reminder"), asked("the release"), tagged("Noted.")]
    ts = await house.say("Ada", "dm", ASKED)
    await house.settled(ADA, "Noted.", count=2)
    await house.noticed(house.people.delete("Ada", ADA, ts))
    assert not await house.rows(WAITING)
    assert not await house.rows("SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words")
    await hears(house, "Ben", "general", "@soul the release is out")
    assert not await reports(house, ADA)


@pytest.mark.slow
async def test_words_that_are_gone_before_it_is_brought_up_are_not_and_it_waits_on(house: House) -> None:
    await set_for(house, ASKED, asked("the release"))
    flow = house.flow()
    await house.say("Ada", "dm", "good morning")
    await flow.asked.wait()
    ts = await house.say("Ben", "general", "@soul the release is out")
    await house.row("SELECT 1 FROM cues WHERE pending <> ''")
    await house.noticed(house.people.delete("Ben", "general", ts))
    flow.end(f"{OPENING}Good morning.", CLOSING)
    await house.settled(ADA, "Good morning.")
    assert not await reports(house, ADA)
    assert [row["fires_left"] for row in await house.rows("SELECT fires_left FROM cues WHERE pending = ''")] == [1]
    await hears(house, "Ben", "general", "@soul once more: the release is out")
    assert len(await reports(house, ADA)) == 1


@pytest.mark.slow
async def test_while_remembering_is_paused_none_is_set_and_none_is_brought_up(house: House) -> None:
    await set_for(house, ASKED, asked("the release"))
    await house.answered("Ada", "dm", "pause remembering")
    confirmed = await set_for(house, "Remind me when the budget is talked about", asked("the budget"))
    assert "You could not set the reminder: remembering is paused" in confirmed
    await hears(house, "Ben", "general", "@soul the release is out")
    assert not await reports(house, ADA)
    await house.answered("Ada", "dm", "resume remembering")
    await house.answered("Ben", "dm", "pause remembering")
    await hears(house, "Ben", "general", "@soul the release is out")
    assert not await reports(house, ADA), "nothing is made of the words of who paused"
    await hears(house, "Chloe", "general", "@soul the release is out")
    assert len(await reports(house, ADA)) == 1


async def test_who_is_forgotten_waits_for_nothing_and_is_waited_for_by_no_one(house: House) -> None:
    for person in ("Ben", "Ada"):
        await set_for(house, "Tell me when <@U0BEN> writes", asked(who="<@U0BEN>"))
        assert await house.rows(WAITING), person
        await house.answered(person, "dm", "forget me")
        assert (await house.answered(person, "dm", "yes, forget me")).startswith("Forgotten:")
        assert not await house.rows("SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words"), person
        assert not await house.rows(WAITING), person


async def embedded(house: House) -> None:
    """Turn the clock until nothing waits to be embedded."""

    async def done() -> bool:
        house.clock.turn(3)
        return not await house.rows("SELECT 1 FROM vector_queue")

    await house.when(done)


@pytest.mark.slow
async def test_a_topic_is_also_met_by_what_is_meant_without_a_word_in_common(empty_house: House) -> None:
    await empty_house.start(embedder="local")
    await set_for(empty_house, "Remind me when the printer is talked about", asked("the printer"))
    await embedded(empty_house)
    await hears(empty_house, "Ben", "general", "@soul lunch at noon?")
    assert not await reports(empty_house, ADA)
    await hears(empty_house, "Ben", "general", "@soul the copy machine is out of toner")
    assert len(await reports(empty_house, ADA)) == 1
    await embedded(empty_house)
    stats = json.loads(await empty_house.command("memory", "stats", "--json"))
    assert "cue" not in stats["counts"] or not stats["counts"]["cue"]
    assert stats["vectors"]["have"] == stats["vectors"]["wanted"]
