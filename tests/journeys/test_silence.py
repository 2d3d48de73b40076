"""Dormancy, the end of a visit and scheduled intentions happen once each, also over a restart."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from daemon.mind.steps.mental_query import mental_query
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.learning import feeling
from tests.journeys.silences import DORMANT, END, HOUR, MINUTE, fallen
from tests.journeys.souls import write_soul

NO = mental_query("").placeholder
YES = NO.replace("false", "true")


async def conversation(house: House) -> dict[str, object]:
    """The stored process of the conversation."""
    row = await house.one(
        "SELECT process, previous, invocations, params, process_memory, visit, exchanges FROM conversations"
    )
    return dict(row)


def spoken(house: House) -> list[str]:
    """The kinds of steps for which the model was called."""
    return [prompt.step for prompt in house.prompts]


async def leave_open(house: House, room: str = "dm", words: str = "hello") -> str:
    """A message after which the soul has something to do for Ada; gives the message's ts."""
    house.model.replies.append(tagged("I'll think about the squeak.", moved=True))
    house.model.steps["feel"].append(feeling("neutral", "a loom", "find out why the loom squeaks"))
    return await house.heard("Ada", room, words)


# -- silence -----------------------------------------------------------------------------------------------------------


async def test_a_silence_costs_nothing_and_hands_the_conversation_back(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    before, calls, posts = await conversation(house), len(house.prompts), len(await house.posting_calls())
    house.clock.turn(DORMANT)
    await fallen(house, 1)
    house.clock.turn(END)
    await fallen(house, 2)
    assert (len(house.prompts), len(await house.posting_calls())) == (calls, posts)
    assert await conversation(house) == before
    assert (await house.path())[2:] == [
        "visit: curious → dormant, schedule",
        "stay: dormant → dormant, rule",
        "return: dormant → curious, schedule",
        "visit: curious → exiting, schedule",
        "stay: exiting → exiting, rule",
        "return: exiting → curious, schedule",
    ]
    assert "a visit hands the conversation back" in await house.command("mind", "trace", "D0ADA")
    house.clock.turn(END)
    assert await house.rows("SELECT * FROM intentions WHERE state = 'waiting'") == []


@pytest.mark.parametrize(
    ("presence", "after", "count", "steps"),
    [
        ("speaks_when_dormant", DORMANT, 1, ["mental_query"]),
        pytest.param("says_farewell", END, 2, [], marks=pytest.mark.slow),
    ],
)
async def test_a_soul_that_may_speak_first_breaks_the_silence_once(
    empty_house: House, presence: str, after: float, count: int, steps: list[str]
) -> None:
    house = empty_house
    write_soul(house.settings.home, more=f"[presence]\n{presence} = true\n")
    await house.start(name="tess", quiet_hours="")
    await leave_open(house)
    before = await conversation(house)
    house.model.steps["mental_query"].append(YES)
    house.model.steps["external_dialog"].append("The loom rests.")
    house.clock.turn(after)  # once: a turn in the middle of a reply would outlast its lease
    await fallen(house, count)
    post = await house.reply("D0ADA", "The loom rests.")
    assert "thread_ts" not in post, "it stands in the timeline, under no message"
    assert [one for one in spoken(house) if one != "close_episode"] == ["respond", "feel", *steps, "external_dialog"]
    assert await conversation(house) == before
    house.clock.turn(END)
    await house.idle()
    assert len(await house.replies("D0ADA")) == 2
    await house.answered("Ada", "dm", "so it does")
    assert "The loom rests." in house.last_prompt(), "it remembers what it said"


async def test_in_quiet_hours_it_breaks_no_silence(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more="[presence]\nspeaks_when_dormant = true\nsays_farewell = true\n")
    begun = datetime.fromtimestamp(house.clock.now_ms() / 1_000, ZoneInfo("Europe/Athens"))
    dormant, ended = (begun + timedelta(seconds=seconds) for seconds in (DORMANT - 5 * MINUTE, END + HOUR))
    await house.start(name="tess", quiet_hours=f"{dormant:%H:%M}-{ended:%H:%M}")
    await leave_open(house)
    calls, posts = len(house.prompts), len(await house.posting_calls())
    for count, after in enumerate((DORMANT, END), 1):
        house.clock.turn(after)
        await fallen(house, count)
    assert not {"external_dialog", "mental_query"}.intersection(spoken(house)[calls:])
    assert len(await house.posting_calls()) == posts


async def test_silence_is_the_normal_answer_of_a_soul_that_may_speak_first(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more="[presence]\nspeaks_when_dormant = true\n")
    await empty_house.start(name="tess", quiet_hours="")
    await empty_house.answered("Ada", "dm", "hello")
    for words in ("still here", "and still"):
        empty_house.clock.turn(20 * MINUTE)
        await empty_house.answered("Ada", "dm", words)
    assert not any("dormant" in step for step in await empty_house.path()), "a message postpones it"
    waiting = await empty_house.rows("SELECT process FROM intentions WHERE state = 'waiting'")
    assert [row["process"] for row in waiting] == ["dormant"]
    empty_house.clock.turn(DORMANT)
    await fallen(empty_house, 1)
    assert spoken(empty_house) == ["respond"] * 3, "where nothing is open it costs nothing"
    await leave_open(empty_house)
    empty_house.model.steps["mental_query"].append(NO)
    calls = len(empty_house.prompts)
    empty_house.clock.turn(DORMANT)
    await fallen(empty_house, 2)
    assert spoken(empty_house)[calls:] == ["mental_query"]
    assert len(await empty_house.replies("D0ADA")) == 4
    root = await leave_open(empty_house, "general", "@soul hello")
    empty_house.model.steps["mental_query"].append(YES)
    empty_house.model.steps["external_dialog"].append("It is the treadle.")
    empty_house.clock.turn(DORMANT)
    assert (await empty_house.reply("general", "It is the treadle."))["thread_ts"] == root


async def test_to_a_user_whom_the_gate_refuses_by_now_nothing_is_said_first_and_no_reminder(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more="[presence]\nspeaks_when_dormant = true\nsays_farewell = true\n")
    await house.start(name="tess", quiet_hours="")
    await house.answered("Ada", "dm", "hello")
    await house.command("schedule", "add", "D0ADA", "ask about the kiln", "--in", "20m", env={"SOUL_NAME": "tess"})
    await house.stop()
    posts = len(await house.posting_calls())
    await house.start(name="tess", members=("U0BEN",))
    house.clock.turn(DORMANT)
    await fallen(house, 2)
    assert (len(house.prompts), len(await house.posting_calls())) == (1, posts)
    states = await house.rows("SELECT state FROM inbox WHERE modality = 'time'")
    assert [row["state"] for row in states] == ["ignored"] * 2


# -- what was scheduled ------------------------------------------------------------------------------------------------


async def test_a_reminder_is_perceived_and_said_in_the_timeline_once_also_over_a_restart(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    before = await conversation(house)
    added = await house.command("schedule", "add", "D0ADA", "ask about the kiln", "--in", "20m")
    assert "for U0ADA" in added
    await house.command("schedule", "add", "D0ADA", "read up on glaze", "--in", "20m")
    row = await house.one("SELECT id FROM intentions WHERE content LIKE '%glaze%'")
    assert "is cancelled" in await house.command("schedule", "cancel", row["id"])
    house.clock.turn(21 * MINUTE)
    post = await house.reply("D0ADA", "ask about the kiln")
    assert "thread_ts" not in post
    assert "What you meant to bring up here has fallen due" in house.last_prompt()
    await house.idle()
    assert (await conversation(house))["process"] == before["process"]
    await house.restart()
    house.clock.turn(HOUR)
    await fallen(house, 2)
    assert len([words for words in await house.replies("D0ADA") if "kiln" in words]) == 1
    assert not any("glaze" in shown(prompt) for prompt in house.prompts), "a cancelled one never falls due"
