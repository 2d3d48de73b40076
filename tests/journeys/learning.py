"""For journeys about learning: answers of the model, messages that teach, and the notes that result."""

import json
import re

from daemon.core.ports.services import ModelRole, Prompt
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.models import FakeModel, Reply, Script

MINUTE = 60.0


ABOUT_ME = "let me tell you of me: I keep, like, plan and think of much"


def noted(*lines: str, whisper: str = "", quote: str = ABOUT_ME) -> str:
    """What a model proposes to note of the words quoted."""
    return json.dumps({"add": [{"text": line, "quote": quote} for line in lines], "whispers": whisper})


def feeling(state: str, topic: str = "", task: str = "", question: str = "") -> str:
    return json.dumps({"emotional_state": state, "topic": topic, "task": task, "question": question})


def will_learn(model: FakeModel, *lines: str, whisper: str = "I hope it holds.", quote: str = ABOUT_ME) -> None:
    """Script the notes and the whisper that the model makes of the next message that teaches it something."""
    model.steps["visitor_notes"].append(noted(*lines, whisper=whisper, quote=quote))


async def tell(house: House, person: str, room: str, words: str, *, learned: bool = True) -> None:
    """Post a message; the reply is marked as one that taught the soul something, or not."""
    house.model.replies.append(tagged("I see.", learned=learned))
    await house.answered(person, room, words)


async def teach(house: House, person: str, room: str, *lines: str, whisper: str = "I hope it holds.") -> None:
    """Have these lines noted about a user, from what they write in a room."""
    await tell(house, person, room, "@soul hello there", learned=False)
    will_learn(house.model, *lines, whisper=whisper)
    await tell(house, person, room, f"@soul {ABOUT_ME}")
    await house.events.until("person.modelled")


async def notes(house: House) -> dict[str, list[str]]:
    """The notes by user and audience."""
    rows = await house.rows(
        """
        SELECT r.person, r.audience, json_group_array(r.text) AS notes FROM records r JOIN facts f ON f.id = r.id
        WHERE f.valid_until_ms IS NULL GROUP BY r.person, r.audience ORDER BY r.person, r.audience
        """
    )
    return {f"{row['person']} {row['audience']}": json.loads(row["notes"]) for row in rows}


_SOUL = 'name = "brief"\ndisplay_name = "Brief"\n[budgets]\ntranscript = 200\n'


async def facts(prompt: Prompt) -> Reply:
    """A model whose summaries keep the words that begin with `fact`."""
    if prompt.role is ModelRole.PERSONA:
        return tagged("I see.")
    return "Known: " + " ".join(dict.fromkeys(re.findall(r"fact\w+", shown(prompt))))


async def brief_soul(house: House, mind: Script = facts) -> None:
    """Start a soul with a short transcript, so that summaries come soon."""
    folder = house.settings.home / "souls" / "brief"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text(_SOUL)
    (folder / "soul.md").write_text("Brief is brief.")
    house.model.default = mind
    await house.start(name="brief")
