"""For journeys through visits: what a model says of one, and one from its first words to its end."""

import json

from tests.given import tagged
from tests.journeys.house import House
from tests.journeys.learning import feeling
from tests.journeys.silences import DORMANT, END, fallen

EPISODES = "SELECT r.*, e.* FROM records r JOIN episodes e ON e.id = r.id WHERE r.kind = 'episode' ORDER BY r.seq"
JOURNAL = "SELECT * FROM records WHERE kind = 'journal' ORDER BY seq"


def report(**changed: object) -> str:
    """What a model says of a visit."""
    said = {
        "content": "Ada and the soul chose the north valve for pump two.",
        "action_taken": "The soul compared two valves.",
        "key_outcome": "The north valve was chosen.",
        "future_implication": "The north valve has to be ordered.",
        "current_task": "order the valve",
        "completed_items": ["compare valves"],
        "pending_items": ["ask Ben for the price"],
        "significance": 6,
        "tags": ["valve", "pump two"],
        "journal": "She laughed at last; hold on to the plain figures.",
        "tone": "glad",
    }
    return json.dumps({**said, **changed})


async def visit(house: House, words: str, *, said: str = "", room: str = "dm") -> str:
    """A visit in which something was learned, over its end; `said` is what the model makes of it."""
    house.model.steps["close_episode"].append(said or report())
    ts = await speak(house, words, room)
    before = len(await house.rows("SELECT * FROM inbox WHERE modality = 'time'"))
    house.clock.turn(DORMANT)
    await fallen(house, before + 1)
    house.clock.turn(END)
    await fallen(house, before + 2)
    return ts


async def speak(house: House, words: str, room: str = "dm") -> str:
    """A message whose reply says that it moved the soul; gives its ts."""
    house.model.replies.append(tagged("I see.", moved=True))
    house.model.steps["feel"].append(feeling("neutral", "the valve", "choose a valve"))
    return await house.heard("Ada", room, words)
