"""What journeys of reminders that wait share: setting one, and looking for what still waits."""

import json

from daemon.core.ports.models import Prompt
from tests.given import shown, tagged, wanting
from tests.journeys.house import House

WAITING = "SELECT * FROM intentions WHERE state = 'waiting' AND slot <> 'idle'"
CAME_UP = "It has come up."
DAY = 86_400.0


def asked(about: str = "", who: str = "", silence: str = "", **more: object) -> str:
    """The model's reading of a request."""
    return json.dumps({"what": about or who or "this", "about": about, "who": who, "silence": silence, **more})


async def answering(prompt: Prompt) -> str:
    """What the model says where no test scripts it."""
    reports = ("Who wrote it and where", "There were no words here", "It has not happened within its time")
    return tagged(CAME_UP if any(one in shown(prompt) for one in reports) else "I see.")


async def set_for(
    house: House, words: str, answer: str, *, room: str = "dm", person: str = "Ada", thread: str = ""
) -> str:
    """Have a reminder set; gives the prompt of the confirmation."""
    house.model.default = answering
    house.model.replies += [wanting("reminder"), answer, tagged("Noted.")]
    assert (await house.answered(person, room, words, thread=thread)).startswith("Noted.")
    return shown(house.prompts[-1])


async def hears(house: House, person: str, room: str, text: str) -> str:
    """A message that is answered; gives its ts once all that follows from it is done."""
    house.model.default = answering
    ts = await house.say(person, room, text)
    assert await house.final_state(ts) == "answered"
    await settled(house)
    return ts


async def settled(house: House) -> None:
    """Wait until every message was held against the cues, what came up fell due, and all is answered."""
    left = """
        SELECT 1 FROM heard_words WHERE not_before <= ?1
        UNION ALL SELECT 1 FROM intentions WHERE state = 'waiting' AND due_ms <= ?1
        """
    house.clock.turn(3)  # an aside rings no bell
    await house.no_row(left, house.clock.now_ms())
    await house.idle()


async def reports(house: House, room: str) -> list[str]:
    """The reports in a room, without the model's sentence."""
    found = [one for one in await house.replies(room) if one.startswith(CAME_UP)]
    return [one.removeprefix(CAME_UP).strip() for one in found]
