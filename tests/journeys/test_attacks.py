"""What somebody might try who wants more than is theirs, through Slack alone, and what overloads a conversation."""

import asyncio
import json

from tests.journeys.house import House
from tests.journeys.model import tagged


def _wish(when: str = "", what: str = "", drop: tuple[int, ...] = ()) -> str:
    return json.dumps({"when": when, "what": what, "drop": drop})


async def test_many_reminders_due_at_once_are_all_brought_up_and_none_is_given_up(house: House) -> None:
    house.model.replies.append(tagged("Hello."))
    await house.answered("Ada", "dm", "hi")
    conversation = (await house.one("SELECT id FROM conversations"))["id"]
    for number in range(7):
        await house.command("schedule", "add", conversation, f"errand {number}", "--in", "10m")
    house.model.replies += [tagged(f"Brought up {number}.") for number in range(7)]
    house.clock.turn(10 * 60 + 1)
    await house.told.until("schedule.due")
    await house.idle()
    replies = await house.replies(await house.people.open_dm("Ada"))
    assert replies[1:] == [f"Brought up {number}." for number in range(7)]
