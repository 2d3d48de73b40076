"""A person invites a soul to write to them unasked: by a phrase, seldom, and never in quiet hours."""

from typing import Any

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought

HOUR, DAY = 3_600, 86_400
ALONE: dict[str, Any] = {
    "name": "tess",
    "visit_silence": 60 * DAY,
    "dormant_after": 90 * DAY,
    "cycle_enabled": True,
    "cycle_tokens_hour": 1_000_000,
    "cycle_tokens_day": 10_000_000,
    "quiet_hours": "",
}
"""No silence is so long that the soul itself thinks of it, no budget is met, and it is never quiet."""


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE)
    return empty_house


async def planned(house: House, *goals: str, person: str = "Ada", room: str = "dm") -> None:
    """Say something that the soul answers with goals that fall due after 2, 4, 6 … hours."""
    due = [adding(goal, due=f"in {2 * number}h") for number, goal in enumerate(goals, 1)]
    house.model.replies.append(thought("I see.", goal_updates=due))
    await house.answered(person, room, "please look at it")


async def turned(house: House, seconds: float, ticks: int) -> None:
    """Let time pass until so many unasked thoughts were counted in all."""
    house.clock.turn(seconds)

    async def enough() -> bool:
        return int((await house.one("SELECT coalesce(sum(n), 0) AS n FROM tick_counts"))["n"]) >= ticks

    await house.when(enough)


def done(goal: str) -> dict[str, object]:
    """A goal that is completed, as a model writes it."""
    return {"action": "complete", "goal_id": goal, "why": "it ran"}


async def test_an_invited_soul_writes_in_the_direct_messages_and_once_until_it_is_answered(thinker: House) -> None:
    assert "twice a day at most" in await thinker.answered("Ada", "dm", "follow up on")
    assert not thinker.prompts
    await planned(thinker, "the import", "the report")
    thinker.model.replies.append(thought("The import ran.", goal_updates=[done("G1")]))
    thinker.clock.turn(2 * HOUR + 1)
    await thinker.reply("D0ADA", "The import ran.")
    assert "They invited you to write to them unasked" in shown(thinker.prompts[-1])
    thinker.model.replies.append(thought("The report is there.", goal_updates=[done("G2")]))
    await turned(thinker, 2 * HOUR, 2)
    row = await thinker.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert row["refused"] == '[["external_speech", "rate"]]'
    assert not any("The report" in one for one in await thinker.replies("D0ADA"))


async def test_two_a_day_are_the_most(thinker: House) -> None:
    await thinker.answered("Ada", "dm", "follow up on")
    for number in (1, 2, 3):
        await planned(thinker, f"matter {number}")
        thinker.model.replies.append(thought(f"Word {number}.", goal_updates=[done(f"G{number}")]))
        await turned(thinker, 2 * HOUR + 1, number)
    said = [one for one in await thinker.replies("D0ADA") if one.startswith("Word")]
    assert said == ["Word 1.", "Word 2."]


@pytest.mark.parametrize("last", ["follow up off", "forget me", ""])
async def test_uninvited_it_says_nothing(thinker: House, last: str) -> None:
    if last:
        await thinker.answered("Ada", "dm", "follow up on")
        await thinker.answered("Ada", "dm", last)
    if last == "forget me":
        await thinker.answered("Ada", "dm", "yes, forget me")
    await planned(thinker, "the import")
    thinker.model.replies.append(thought("The import ran."))
    await turned(thinker, 2 * HOUR + 1, 1)
    assert not any("import ran" in one for one in await thinker.replies("D0ADA"))


async def test_an_invitation_holds_for_direct_messages_alone(thinker: House) -> None:
    assert "direct messages" in await thinker.answered("Ada", "general", "@soul follow up on")
    thinker.model.replies.append(thought("I see.", goal_updates=[adding("the import", due="in 2h")]))
    await thinker.answered("Ada", "general", "@soul the import")
    thinker.model.replies.append(thought("The import ran."))
    await turned(thinker, 2 * HOUR + 1, 1)
    assert not any("import ran" in str(call["args"]) for call in await thinker.posting_calls())


async def test_in_quiet_hours_it_waits_without_a_call(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**ALONE | {"quiet_hours": "20:00-08:00"})
    empty_house.clock.turn(DAY - empty_house.clock.now_ms() / 1_000 % DAY + 19 * HOUR)
    await empty_house.answered("Ada", "dm", "follow up on")
    await planned(empty_house, "the import")
    await turned(empty_house, 3 * HOUR, 1)
    assert (len(empty_house.prompts), (await empty_house.one("SELECT reason FROM tick_counts"))["reason"]) == (
        1,
        "quiet",
    )
    empty_house.model.replies.append(thought("The import ran."))
    empty_house.clock.turn(12 * HOUR)
    await empty_house.reply("D0ADA", "The import ran.")


async def test_it_says_how_it_stands(thinker: House) -> None:
    assert "`follow up on` invites me" in await thinker.answered("Ada", "dm", "follow up status")
    await thinker.answered("Ada", "dm", "follow up on")
    assert "You invited me" in await thinker.answered("Ada", "dm", "follow up status")
