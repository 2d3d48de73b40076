"""What a soul promises to come back to: said below its reply, kept when it is due, and declined by a phrase."""

import asyncio
from typing import Any

import pytest

from daemon.core.errors import ModelUnavailable
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.promising import HOUR, posts, promised, promising, quiet_after, said_after
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import NEVER_QUIET, after, counted, musing
from tests.models import after as until

DAY = 86_400
UNSEEN = "I said that I'd come back to “{}”. I couldn't look at it in time; ask me again later."


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    await musing(empty_house)
    return empty_house


async def test_a_promise_stands_below_the_reply_and_kept_once_when_it_is_due(thinker: House) -> None:
    reply = await promised(thinker, "import")
    assert reply.startswith("I will look.")
    assert "I'll come back to “import” by " in reply
    assert "`not now`" in reply
    done = {"action": "complete", "goal_id": "G1", "why": "it ran"}
    thinker.model.replies.append(thought("The import ran.", goal_updates=[done]))
    await said_after(thinker, 2 * HOUR + 1, "The import ran.")
    prompt = shown(thinker.prompts[-1])
    assert "You promised them here to come back to this" in prompt
    assert 'about="your goal G1">\nimport\n</note-' in prompt
    row = await thinker.one("SELECT occasion, spoke, refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert tuple(row) == ("due", 1, "[]")
    await quiet_after(thinker, 3 * DAY)
    assert (await thinker.one("SELECT state FROM goals"))["state"] == "done"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([thought(None, inner_speech="no idea")], "I have nothing new to say about it yet."),
        ([ModelUnavailable("it is down", hint="wait")] * 4, UNSEEN.format("import")),
        (["I am no JSON", "nor am I"], UNSEEN.format("import")),
    ],
)
async def test_a_promise_is_kept_though_nothing_is_said_no_model_answers_or_none_in_form(
    thinker: House, answers: list[Any], words: str
) -> None:
    await promised(thinker, "import")
    thinker.model.replies += answers
    await said_after(thinker, 2 * HOUR + 1, words)
    thinker.model.replies += [thought("and again", inner_speech=f"{number}") for number in range(6)]
    await quiet_after(thinker, DAY)
    turn = await thinker.one("SELECT body, kind FROM turns ORDER BY seq DESC LIMIT 1")
    assert "come back to “import”" in turn["body"]


async def test_each_promise_of_an_hour_is_thought_about_though_one_may_take_its_budget(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(name="tess", cycle_enabled=True, quiet_hours="")
    for minutes, what in ((10, "import"), (20, "report"), (30, "docs")):
        await promised(empty_house, what, f"in {minutes}m")
    for what in ("import", "report", "docs"):
        empty_house.model.replies.append(thought(f"The {what} ran."))
        await said_after(empty_house, 601, f"The {what} ran.")
        await empty_house.change("UPDATE llm_calls SET tokens_in = 12000 WHERE tick = 1")
    assert not empty_house.events.named("tick.skipped")


async def test_what_is_thought_unasked_leaves_the_day_what_a_promise_can_cost(empty_house: House) -> None:
    await musing(empty_house, cycle_tokens_day=9_000)
    await promised(empty_house, "import")
    empty_house.model.replies.append(thought("I see.", goal_updates=[adding("look at the roof", due="in 1h")]))
    await empty_house.answered("Ben", "dm", "the roof, please")
    await after(empty_house, HOUR + 1, 1)
    assert await counted(empty_house) == {"budget": 1}
    empty_house.model.replies.append(thought("The import ran."))
    await said_after(empty_house, HOUR + 1, "The import ran.")


async def test_without_a_budget_what_was_promised_elsewhere_waits_for_no_budget(empty_house: House) -> None:
    await musing(empty_house, cycle_tokens_day=100)
    await promised(empty_house, "import")
    await promised(empty_house, "export", person="Ben")
    empty_house.clock.turn(2 * HOUR + 1)
    await empty_house.reply("D0ADA", UNSEEN.format("import"))
    await empty_house.reply("D0BEN", UNSEEN.format("export"))
    await empty_house.idle()
    await quiet_after(empty_house, DAY)


async def test_not_now_declines_it_without_a_call_and_is_talk_where_nothing_is_promised(thinker: House) -> None:
    await promised(thinker, "import")
    calls = len(thinker.prompts)
    assert "I won't come back to “import”" in await thinker.answered("Ada", "dm", "not now")
    await quiet_after(thinker, DAY)
    assert len(thinker.prompts) == calls
    assert [row["state"] for row in await thinker.rows("SELECT state FROM goals")] == ["abandoned"]
    thinker.model.replies.append(thought("All right."))
    assert await thinker.answered("Ada", "dm", "not now") == "All right."
    await promised(thinker, "import")
    done = {"action": "complete", "goal_id": "G2", "why": "it ran"}
    thinker.model.replies.append(thought("It ran already.", goal_updates=[done]))
    await thinker.answered("Ada", "dm", "any news?")
    await quiet_after(thinker, DAY)


async def test_not_now_below_one_post_declines_what_that_post_promised_alone(thinker: House) -> None:
    await promised(thinker, "import")
    await promised(thinker, "export")
    post = await thinker.reply("D0ADA", "export")
    said = await thinker.answered("Ada", "dm", "not now", thread=post["thread_ts"])
    assert "I won't come back to “export”" in said
    assert "import" not in said
    goals = {row["goal"]: row["state"] for row in await thinker.rows("SELECT goal, state FROM goals")}
    assert goals == {"import": "open", "export": "abandoned"}
    assert "I won't come back to “import”" in await thinker.answered("Ada", "dm", "not now")


async def test_in_quiet_hours_nothing_is_said_and_a_promise_is_dated_past_them(empty_house: House) -> None:
    await musing(empty_house, quiet_hours="20:00-08:00")
    empty_house.clock.turn(DAY - empty_house.clock.now_ms() / 1_000 % DAY + 19 * HOUR)  # 19:00 UTC
    reply = await promised(empty_house, "import", "in 3h")
    zone = (await empty_house.rows("SELECT zone FROM person_zones"))[0]["zone"]
    assert "08:00" in reply, zone
    await empty_house.restart(**NEVER_QUIET | {"quiet_hours": "20:00-08:00"})
    await quiet_after(empty_house, 6 * HOUR)
    calls = len(empty_house.prompts)
    assert calls == 1
    empty_house.model.replies.append(thought("The import ran."))
    await said_after(empty_house, 14 * HOUR, "The import ran.")


async def test_three_are_the_most_and_a_fourth_is_kept_as_a_goal(thinker: House) -> None:
    reply = await promised(thinker, "<think>Ada is slow</think>import", "in 40h")
    assert "“import”" in reply
    assert "slow" not in reply, "what a model marks as private stands in no line"
    for what in ("report", "docs"):
        await promised(thinker, what, "in 40h")
    assert "come back" not in await promised(thinker, "plan", "in 40h")
    row = await thinker.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert row["refused"] == '[["goal_updates", "too_many"]]'
    assert (await thinker.one("SELECT sum(follow_up) AS n FROM goals"))["n"] == 3


async def test_with_the_cycle_off_nothing_is_promised(empty_house: House) -> None:
    await musing(empty_house, "\n[cycle]\nenabled = false\n")
    assert await promised(empty_house, "import") == "I will look."


async def test_words_that_come_meanwhile_are_answered_first_and_the_promise_is_kept_then(thinker: House) -> None:
    await promised(thinker, "import")
    never = asyncio.Event()
    thinker.model.steps["think"].append(until(never, thought(None)))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.thinks(2)
    thinker.model.replies += [thought("Here I am."), thought("The import ran.")]
    await thinker.answered("Ada", "dm", "hello?")
    await thinker.reply("D0ADA", "The import ran.")
    assert sum("come back" in one or "The import ran" in one for one in await thinker.replies("D0ADA")) == 2


async def test_two_people_in_one_thread_each_hear_of_their_own(thinker: House) -> None:
    ts = await thinker.say("Ada", "general", "@soul hello")
    for person, what in (("Ada", "import"), ("Ben", "report")):
        thinker.model.replies.append(thought("I will look.", goal_updates=[promising(what)]))
        await thinker.say(person, "general", f"@soul the {what}, please", thread=ts)
        await thinker.reply("general", f"“{what}”")
    thinker.model.replies += [thought("One ran."), thought("The other ran.")]
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.reply("general", "The other ran.")
    kept = [call["args"] for call in await thinker.posting_calls() if " ran." in str(call["args"])]
    assert [one.get("thread_ts") for one in kept] == [ts, ts]
    assert [one["behalf"] for one in await thinker.rows("SELECT behalf FROM goals WHERE kept_ms > 0 ORDER BY seq")] == [
        await thinker.person("Ada"),
        await thinker.person("Ben"),
    ]


async def test_what_no_post_says_is_no_promise(thinker: House) -> None:
    await promised(thinker, "import")
    await thinker.change("UPDATE outbox SET state = 'dead'")
    thinker.model.replies.append(thought("The import ran."))
    before = await posts(thinker)
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.row("SELECT 1 FROM tick_counts")
    assert await posts(thinker) == before
    row = await thinker.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert row["refused"] == '[["external_speech", "not_invited"]]'


@pytest.mark.parametrize(
    "change",
    ['mind = "process"\n', pytest.param('mind = "cycle"\n\n[cycle]\nenabled = false\n', marks=pytest.mark.slow)],
)
async def test_the_house_keeps_it_where_the_soul_thinks_by_itself_no_more(thinker: House, change: str) -> None:
    await promised(thinker, "import")
    write_soul(thinker.settings.home, more=f"subprocesses = []\n{change}")
    await thinker.restart(**NEVER_QUIET)
    calls = len(thinker.prompts)
    await said_after(thinker, 2 * HOUR + 1, UNSEEN.format("import"))
    await quiet_after(thinker, DAY)
    assert len(thinker.prompts) == calls
