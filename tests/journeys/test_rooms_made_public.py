"""A room is made public: what was said there before is for its members, also in what the soul thinks of it later."""

import json
from typing import Final

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import after, musing

SECRET: Final = "quincunx"
HOUR: Final = 3_600
TOLD: Final = {
    "memory_ops": [
        {"type": "write_semantic", "content": f"The launch is the {SECRET}."},
        {"type": "journal", "content": f"So it is the {SECRET}."},
    ],
    "world_model_updates": {"launch": {"code": SECRET}},
    "self_model_updates": {"current_state": f"thinking of the {SECRET}"},
    "goal_updates": [adding(f"look after the {SECRET}")],
}


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, also by itself."""
    await musing(empty_house)
    return empty_house


async def thought_later(house: House, *kinds: str) -> set[str]:
    """Why parts of a thought had no effect on a talk from before its room became what it is, by kind."""
    room = await house.people.add_channel("plans", kind=kinds[0], members=["Ada", "Ben"])
    house.model.replies.append(thought("I see.", goal_updates=[adding("look at it again", due="in 2h")]))
    await house.answered("Ada", str(room["id"]), f"@soul the launch is the {SECRET}")
    for kind in kinds[1:]:
        await house.people.convert("Ada", "plans", kind)
        await house.acknowledged()
    house.model.replies.append(thought(None, inner_speech=f"it is the {SECRET}", **TOLD))
    await after(house, 2 * HOUR + 1, 1)
    assert SECRET in shown(house.prompts[-1])  # of its own talk
    row = await house.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    return {reason for _, reason in json.loads(row["refused"])}


@pytest.mark.parametrize(
    "kinds", [("group", "channel"), pytest.param(("channel", "group", "channel"), marks=pytest.mark.slow)]
)
async def test_what_the_soul_thinks_by_itself_of_an_earlier_talk_is_kept_for_no_more_people(
    thinker: House, kinds: tuple[str, ...]
) -> None:
    assert await thought_later(thinker, *kinds) == {"private"}
    thinker.model.replies.append(thought("Nothing."))
    await thinker.answered("Chloe", "dm", "what do you know of the launch?")
    assert SECRET not in shown(thinker.prompts[-1])
    (before,) = await thinker.rows("SELECT audience FROM conversations WHERE channel = 'C0PLANS'")
    assert before["audience"] == "channel:C0PLANS"


async def test_in_a_room_that_is_made_private_what_it_thinks_goes_on_and_is_for_its_members(thinker: House) -> None:
    assert not await thought_later(thinker, "channel", "group")
    held = await thinker.rows("SELECT DISTINCT audience FROM mind_documents UNION SELECT audience FROM goals")
    assert {row["audience"] for row in held} == {"channel:C0PLANS"}
