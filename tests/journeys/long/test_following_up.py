"""A person invites a soul to write to them unasked: by a phrase, seldom, and never in quiet hours."""

import asyncio
import json
from typing import Any

import pytest

from daemon.core.timetable import when
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.own_memory import content_of, shared_files
from tests.journeys.presses import offered
from tests.journeys.problems import forged
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import NEVER_QUIET
from tests.models import after as until

HOUR, DAY = 3_600, 86_400


async def thinking(house: House, **settings: Any) -> House:  # noqa: ANN401  # any setting
    """Start a daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await house.start(**NEVER_QUIET | settings)
    return house


@pytest.fixture
async def thinker(empty_house: House) -> House:
    return await thinking(empty_house)


async def planned(house: House, *goals: str, person: str = "Ada", room: str = "dm") -> None:
    """Say something that the soul answers with goals that fall due after 2, 4, 6 … hours."""
    due = [adding(goal, due=f"in {2 * number}h") for number, goal in enumerate(goals, 1)]
    house.model.replies.append(thought("I see.", goal_updates=due))
    await house.answered(person, room, "please look at it")


async def turned(house: House, seconds: float, ticks: int) -> None:
    """Let time pass until so many unasked thoughts were counted in all."""
    house.clock.turn(seconds)
    await house.row("SELECT 1 FROM (SELECT coalesce(sum(n), 0) AS n FROM tick_counts) WHERE n >= ?", ticks)
    await house.idle()  # what it said is committed, and posted a moment later


def done(goal: str) -> dict[str, object]:
    """A goal that is completed, as a model writes it."""
    return {"action": "complete", "goal_id": goal, "why": "it ran"}


async def test_an_invited_soul_writes_once_until_it_is_answered_and_twice_a_day_at_most(thinker: House) -> None:
    assert "*follow up on*, *follow up off*, *follow up status*" in await thinker.answered("Ada", "dm", "help")
    assert "`follow up on` invites me" in await thinker.answered("Ada", "dm", "follow up status")
    assert "twice a day at most" in await thinker.answered("Ada", "dm", "follow up on")
    assert "You invited me" in await thinker.answered("Ada", "dm", "follow up status")
    assert not thinker.prompts
    await planned(thinker, "the import", "the report")
    thinker.model.replies.append(thought("Word 1.", goal_updates=[done("G1")]))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.reply("D0ADA", "Word 1.")
    assert "They invited you to write to them unasked" in shown(thinker.prompts[-1])
    thinker.model.replies.append(thought("Word, though nobody answered.", goal_updates=[done("G2")]))
    await turned(thinker, 2 * HOUR, 2)
    assert await refusals(thinker) == '[["external_speech", "rate"]]'
    for number in (3, 4):
        await planned(thinker, f"matter {number}")
        thinker.model.replies.append(thought(f"Word {number}.", goal_updates=[done(f"G{number}")]))
        await turned(thinker, 2 * HOUR + 1, number)
    said = [one for one in await thinker.replies("D0ADA") if one.startswith("Word")]
    assert said == ["Word 1.", "Word 3."]


async def test_uninvited_it_says_nothing_and_an_invitation_holds_for_direct_messages_alone(thinker: House) -> None:
    said_last = {"Ada": (), "Ben": ("follow up off",), "Chloe": ("forget me", "yes, forget me")}
    for number, (person, last) in enumerate(said_last.items(), 1):
        for words in ("follow up on", *last) if last else ():
            await thinker.answered(person, "dm", words)
        await planned(thinker, "the import", person=person)
        thinker.model.replies.append(thought("The import ran.", goal_updates=[done(f"G{number}")]))
        await turned(thinker, 2 * HOUR + 1, number)
        assert [len(thinker.events.named(name)) for name in ("cycle.silent", "cycle.silent_unasked")] == [0, number]
    assert "direct messages" in await thinker.answered("Ada", "general", "@soul follow up on")
    thinker.model.replies.append(thought("I see.", goal_updates=[adding("the import", due="in 2h")]))
    await thinker.answered("Ada", "general", "@soul the import")
    thinker.model.replies.append(thought("The import ran."))
    await turned(thinker, 2 * HOUR + 1, 4)
    assert not any("import ran" in str(call["args"]) for call in await thinker.posting_calls())


async def spoken(house: House, number: int = 1, *, words: str = "Word") -> dict[str, Any]:
    """Have an invited soul say something by itself; gives its post."""
    await planned(house, f"matter {number}")
    house.model.replies.append(thought(f"{words} {number}."))
    house.clock.turn(2 * HOUR + 1)
    return await house.reply("D0ADA", f"{words} {number}.")


async def refusals(house: House) -> str:
    """What of the newest thought was refused."""
    return str((await house.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1"))["refused"])


async def invitation(house: House) -> tuple[object, ...]:
    """How it stands with the only person."""
    return tuple(await house.one("SELECT state, how, granted_by, pause_ms FROM invitations WHERE who = 'U0ADA'"))


async def judged(house: House, value: str = "bad", count: int = 1) -> None:
    """Wait until so many judgements are kept."""
    await house.row("SELECT 1 FROM feedback WHERE value = ?", value, count=count)


async def test_not_now_pauses_without_a_call_and_the_next_pause_is_twice_as_long(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    await spoken(thinker)
    calls = len(thinker.prompts)
    assert "I won't write anything of this kind by myself" in await thinker.answered("Ada", "dm", "not now")
    assert len(thinker.prompts) == calls
    assert await invitation(thinker) == ("invited", "phrase", "U0ADA", DAY * 1_000)
    assert "I pause until" in await thinker.answered("Ada", "dm", "follow up status")
    thinker.clock.turn(20 * HOUR)
    await thinker.idle()
    assert len(thinker.prompts) == calls, "its goal is open, but the matter is dropped"
    thinker.model.replies.append(thought("Talk."))
    assert await thinker.answered("Ada", "dm", "not now") == "Talk."
    await planned(thinker, "matter 2")
    thinker.model.replies.append(thought("Word 2.", goal_updates=[done("G2")]))
    await turned(thinker, 2 * HOUR + 1, 2)
    assert await refusals(thinker) == '[["external_speech", "not_now"]]', "in a pause it thinks and says nothing"
    thinker.clock.turn(DAY)
    await thinker.idle()
    await spoken(thinker, 3)
    await thinker.answered("Ada", "dm", "not now")
    assert (await invitation(thinker))[3] == 2 * DAY * 1_000
    await thinker.answered("Ada", "dm", "follow up on")
    assert (await invitation(thinker))[3] == 0, "who invites it again begins anew"


async def test_a_bad_mark_pauses_once_and_not_at_an_answer_that_was_asked_for(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    await planned(thinker, "matter 1")
    post = await thinker.reply("D0ADA", "I see.")
    await thinker.people.click("Ada", "dm", post["ts"], "soul_feedback", "bad")
    await judged(thinker)
    assert (await invitation(thinker))[3] == 0
    thinker.model.replies.append(thought("Word 1."))
    thinker.clock.turn(2 * HOUR + 1)
    post = await thinker.settled("D0ADA", "Word 1.")
    await thinker.people.click("Ada", "dm", post["ts"], "soul_feedback", "bad")
    await judged(thinker, count=2)
    assert await invitation(thinker) == ("invited", "phrase", "U0ADA", DAY * 1_000)
    await thinker.people.click("Ada", "dm", post["ts"], "soul_feedback", "good")
    await judged(thinker, "good")
    await thinker.people.click("Ada", "dm", post["ts"], "soul_feedback", "bad")
    await judged(thinker, count=2)
    assert (await invitation(thinker))[3] == DAY * 1_000


async def test_a_bad_mark_at_a_kept_promise_counts_as_well(thinker: House) -> None:
    thinker.model.replies.append(thought("I will.", goal_updates=[adding("the import", due="in 2h", follow_up=True)]))
    await thinker.answered("Ada", "dm", "the import, please")
    thinker.model.replies.append(thought("The import ran."))
    thinker.clock.turn(2 * HOUR + 1)
    post = await thinker.settled("D0ADA", "The import ran.")
    await thinker.people.react("Ada", "dm", post["ts"], "thumbsdown")
    await judged(thinker)
    assert await invitation(thinker) == ("unasked", "", "", DAY * 1_000)


async def in_vain(thinker: House) -> None:
    """What nobody answers twice in a row pauses what it says by itself."""
    await thinker.answered("Ada", "dm", "follow up on")
    promised = adding("the report", due="in 3h", follow_up=True)
    thinker.model.replies.append(
        thought("I see.", goal_updates=[adding("the import", due="in 2h"), promised, adding("the docs", due="in 4h")])
    )
    await thinker.answered("Ada", "dm", "please look at it")
    said = ((2 * HOUR + 1, "The import ran.", "G2"), (HOUR, "The report is there.", "G1"))  # promises come first
    for seconds, words, goal in said:
        thinker.model.replies.append(thought(words, goal_updates=[done(goal)]))
        thinker.clock.turn(seconds)
        await thinker.reply("D0ADA", words)
    thinker.model.replies.append(thought("The docs are there."))
    await turned(thinker, HOUR, 3)
    assert await refusals(thinker) == '[["external_speech", "not_now"]]'
    assert (await invitation(thinker))[3] == DAY * 1_000


async def visited(house: House, times: int) -> str:
    """Visit the soul so many times, days apart; gives the last reply."""
    reply = ""
    for number in range(times):
        house.clock.turn(3 * DAY)
        house.model.replies.append(thought(f"Hello {number}."))
        reply = await house.answered("Ada", "dm", f"hello {number}")
    return reply


@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_after_three_visits_it_asks_once_and_their_click_decides(empty_house: House, answer: str) -> None:
    house = await thinking(empty_house, visit_silence=DAY)
    assert "May I write to you here by myself" not in await visited(house, 3)
    assert "May I write to you here by myself" in await visited(house, 1)
    post = await house.reply("D0ADA", "May I write")
    assert offered(post) == ["Yes", "No"]
    await house.idle()
    name, calls = (await house.one("SELECT id FROM approvals"))["id"], len(house.prompts)
    forgery = {"value": f"invite_yes:{name}", "action": "soul_invite_yes"}
    assert await forged(house, "Ben", "D0ADA", ts=post["ts"], **forgery) != "accepted"
    assert (await invitation(house))[0] == "unasked"
    await house.people.click("Ada", "dm", post["ts"], f"soul_invite_{answer}")
    await house.reply("D0ADA", "I'll write to you here" if answer == "yes" else "I won't write to you by myself")
    asked = await house.reply("D0ADA", "May I write")
    assert asked["text"].endswith("\n\n_Allowed._" if answer == "yes" else "\n\n_Answered: no._")
    assert len(house.prompts) == calls
    assert await invitation(house) == ("invited" if answer == "yes" else "declined", "click", "U0ADA", 0)
    assert "May I write" not in await visited(house, 1)


async def test_it_asks_nobody_who_has_decided_or_where_it_does_not_think_by_itself(empty_house: House) -> None:
    house = await thinking(empty_house, visit_silence=DAY)
    await house.answered("Ada", "dm", "follow up off")
    assert "May I write" not in await visited(house, 4)
    await house.change("DELETE FROM invitations")
    await house.restart(**NEVER_QUIET | {"visit_silence": DAY, "cycle_enabled": False})
    assert "May I write" not in await visited(house, 2)


async def test_in_an_allowed_channel_it_speaks_once_a_day_in_its_thread_until_told_not_now(thinker: House) -> None:
    due = [adding(f"matter {hours}", due=f"in {hours}h") for hours in (2, 4, 6, 31)]
    thinker.model.replies.append(thought("I see.", goal_updates=due))
    ts = await thinker.say("Ada", "general", "@soul please look at it")
    await thinker.reply("general", "I see.")
    await thinker.command("mind", "initiative", "allow", "C0GENERAL", "--soul", "tess")
    await thinker.command("mind", "initiative", "deny", "C0GENERAL", "--soul", "tess")
    thinker.model.replies.append(thought("Never said.", goal_updates=[done("G1")]))
    await turned(thinker, 2 * HOUR + 1, 1)
    assert await refusals(thinker) == '[["external_speech", "not_invited"]]'
    await thinker.command("mind", "initiative", "allow", "C0GENERAL", "--soul", "tess")
    thinker.model.replies.append(thought("The import ran.", goal_updates=[done("G2")]))
    thinker.clock.turn(2 * HOUR)
    await thinker.reply("general", "The import ran.")
    assert "You may write in this thread unasked" in shown(thinker.prompts[-1])
    thinker.model.replies.append(thought("Well."))
    await thinker.say("Ben", "general", "@soul thanks", thread=ts)
    await thinker.reply("general", "Well.")
    thinker.model.replies.append(thought("The report is there.", goal_updates=[done("G3")]))
    await turned(thinker, 2 * HOUR, 3)
    assert await refusals(thinker) == '[["external_speech", "rate"]]'
    said = [call["args"] for call in await thinker.posting_calls() if "The import ran." in str(call["args"])]
    assert {one.get("thread_ts") for one in said} == {ts}
    assert (await thinker.one("SELECT who, promised FROM initiatives"))["who"] == "C0GENERAL"
    thinker.model.replies.append(thought("The docs are there."))
    thinker.clock.turn(25 * HOUR)
    await thinker.reply("general", "The docs are there.")
    calls = len(thinker.prompts)
    await thinker.say("Ben", "general", "@soul not now", thread=ts)
    await thinker.reply("general", "I won't write anything of this kind by myself")
    assert len(thinker.prompts) == calls
    row = await thinker.one("SELECT who, state, pause_ms FROM invitations")
    assert tuple(row) == ("C0GENERAL", "invited", DAY * 1_000)


def wait_until(house: House, local: str) -> None:
    """Turn the clock to a time of the day where Ada lives."""
    house.clock.turn((when(local, house.clock.now_ms(), "Europe/Athens") - house.clock.now_ms()) / 1_000)


async def begun(house: House, reply: str, *, promised: bool = False) -> asyncio.Event:
    """Let an unasked thought begin, whose answer comes when the event is set."""
    goal = adding("the import", due="in 2h", follow_up=promised)
    house.model.replies.append(thought("I see.", goal_updates=[goal]))
    await house.answered("Ada", "dm", "please look at it")
    may = asyncio.Event()
    house.model.steps["think"].append(until(may, reply))
    calls = len(house.prompts)
    house.clock.turn(2 * HOUR + 1)
    await house.called(calls + 1)
    return may


async def test_what_is_unwanted_or_too_much_when_the_thought_is_ready_is_not_posted(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    may = await begun(thinker, thought("The import ran.", goal_updates=[done("G1")]))
    await thinker.change("UPDATE invitations SET state = 'declined'")
    may.set()
    await turned(thinker, 0, 1)
    assert await refusals(thinker) == '[["external_speech", "not_invited"]]'
    row = await thinker.one("SELECT spoke, output FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert (row["spoke"], "import ran" in row["output"]) == (0, False)
    assert not await thinker.rows("SELECT 1 FROM initiatives")
    await thinker.answered("Ada", "dm", "follow up on")
    may = await begun(thinker, thought("The import ran."))
    await thinker.change(
        "INSERT INTO initiatives (soul, workspace, conversation, who, person, at_ms)"
        " VALUES ('tess', 'T0LOCAL', 'tess/T0LOCAL/D0ADA/', 'U0ADA', 'U0ADA', ?)",
        thinker.clock.now_ms(),
    )
    may.set()
    await turned(thinker, 0, 2)
    assert await refusals(thinker) == '[["external_speech", "rate"]]', "what another conversation said counts"
    assert not any("import ran" in one for one in await thinker.replies("D0ADA"))


AT_NIGHT = {"quiet_hours": "20:00-08:00"}


async def test_an_unfinished_thought_is_said_after_quiet_hours_and_not_in_them(empty_house: House) -> None:
    house = await thinking(empty_house, **AT_NIGHT)
    wait_until(house, "17:59")
    await house.answered("Ada", "dm", "follow up on")
    await begun(house, thought("never"))
    await house.stop()
    house.clock.turn(120)
    calls = len(house.prompts)
    await house.start(**NEVER_QUIET | AT_NIGHT)
    await house.row("SELECT 1 FROM tick_counts WHERE reason = 'quiet'")
    assert len(house.prompts) == calls, "no model is asked for it"
    house.model.replies.append(thought("The import ran."))
    house.clock.turn(12 * HOUR)
    await house.reply("D0ADA", "The import ran.")


async def test_a_promise_whose_thought_is_ready_in_quiet_hours_is_kept_after_them(empty_house: House) -> None:
    house = await thinking(empty_house, **AT_NIGHT)
    wait_until(house, "17:59")
    may = await begun(house, thought("The import ran at night."), promised=True)
    house.clock.turn(60)
    may.set()
    await house.row("SELECT 1 FROM tick_counts WHERE reason = 'quiet'")
    assert await refusals(house) == '[["external_speech", "quiet"]]'
    house.model.replies.append(thought("The import ran."))
    house.clock.turn(12 * HOUR)
    await house.reply("D0ADA", "The import ran.")
    assert not any("at night" in one for one in await house.replies("D0ADA"))


async def test_the_export_says_how_it_stands_and_when_it_wrote_and_forget_me_takes_all(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    await spoken(thinker)
    await thinker.answered("Ada", "dm", "export my memory")
    (file,) = await shared_files(thinker)
    held = json.loads(content_of(thinker, file["id"]))
    (invitation_,) = held["invitation"]
    assert (invitation_["state"], invitation_["how"]) == ("invited", "phrase")
    assert [one["promised"] for one in held["written_unasked"]] == [0]
    await thinker.answered("Ada", "dm", "forget me")
    await thinker.answered("Ada", "dm", "yes, forget me")
    for table in ("invitations", "initiatives"):
        assert not await thinker.rows(f"SELECT 1 FROM {table}")


@pytest.mark.parametrize("promised", [False, True])
async def test_a_post_that_waits_until_it_is_quiet_is_not_sent_then(empty_house: House, *, promised: bool) -> None:
    house = await thinking(empty_house, **AT_NIGHT)
    wait_until(house, "17:59")
    if not promised:
        await house.answered("Ada", "dm", "follow up on")
    goal = adding("the import", due="in 2h", follow_up=promised)
    house.model.replies.append(thought("I see.", goal_updates=[goal]))
    await house.answered("Ada", "dm", "the import, please")
    await house.people.fault("chat.postMessage", status=429, retry_after=120, times=1)
    house.model.replies.append(thought("The import ran.", goal_updates=[done("G1")]))
    house.clock.turn(2 * HOUR + 1)
    await house.row("SELECT 1 FROM outbox WHERE state = 'pending' AND not_before > 0")
    house.clock.turn(150)
    await house.events.until("outbox.quiet")
    house.clock.turn(12 * HOUR + 60)
    if promised:
        await house.settled("D0ADA", "The import ran.")
    said = [one for one in await house.replies("D0ADA") if "import ran" in one]
    assert len(said) == promised


@pytest.mark.parametrize(("how", "hours"), [("not now", 12), pytest.param("bad mark", 30, marks=pytest.mark.slow)])
async def test_in_vain_it_pauses_and_who_finds_it_unwanted_is_left_alone(thinker: House, how: str, hours: int) -> None:
    await in_vain(thinker)
    thinker.clock.turn(hours * HOUR)
    await thinker.idle()
    if how == "not now":
        assert "I won't write anything of this kind by myself" in await thinker.answered("Ada", "dm", "not now")
    else:
        post = await thinker.reply("D0ADA", "The report is there.")
        await thinker.people.click("Ada", "dm", post["ts"], "soul_feedback", "bad")
        await judged(thinker)
    row = await thinker.one("SELECT until_ms FROM invitations WHERE who = 'U0ADA'")
    assert row["until_ms"] > thinker.clock.now_ms() + 47 * HOUR * 1_000
