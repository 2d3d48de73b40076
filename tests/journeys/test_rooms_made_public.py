"""A room is made public: what was said there before is for its members, also in what the soul thinks of it later."""

import json
from typing import Final

import pytest

from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, thought
from tests.journeys.ticking import after

SECRET: Final = "quincunx"
HOUR, DAY = 3_600, 86_400
TOLD: Final = {
    "memory_ops": [
        {"type": "write_semantic", "content": f"The launch is the {SECRET}."},
        {"type": "journal", "content": f"So it is the {SECRET}."},
    ],
    "world_model_updates": {"launch": {"code": SECRET}},
    "self_model_updates": {"current_state": f"thinking of the {SECRET}"},
    "goal_updates": [adding(f"look after the {SECRET}")],
}


@pytest.mark.parametrize("kinds", [("group", "channel"), ("channel", "group", "channel")], ids=["once", "again"])
async def test_what_the_soul_thinks_by_itself_of_an_earlier_talk_is_kept_for_no_more_people(
    empty_house: House, kinds: tuple[str, ...]
) -> None:
    house = empty_house
    write_soul(house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await house.start(name="tess", visit_silence=60 * DAY, dormant_after=90 * DAY, cycle_enabled=True, quiet_hours="")
    room = await house.people.add_channel("plans", kind=kinds[0], members=["Ada", "Ben"])
    house.model.replies.append(thought("I see.", goal_updates=[adding("look at it again", due="in 2h")]))
    await house.answered("Ada", str(room["id"]), f"@soul the launch is the {SECRET}")
    for kind in kinds[1:]:
        await house.people.convert("Ada", "plans", kind)
        await house.acknowledged()
    before = (await house.rows("SELECT id, audience FROM conversations"))[0]
    house.model.replies.append(thought(None, inner_speech=f"it is the {SECRET}", **TOLD))
    await after(house, 2 * HOUR + 1, 1)
    assert SECRET in shown(house.prompts[-1])  # of its own talk
    row = await house.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert {reason for _, reason in json.loads(row["refused"])} == {"private"}
    house.model.replies.append(thought("Nothing."))
    await house.answered("Chloe", "dm", "what do you know of the launch?")
    assert SECRET not in shown(house.prompts[-1])
    assert before["audience"] == (await house.one("SELECT audience FROM conversations ORDER BY rowid"))["audience"]
