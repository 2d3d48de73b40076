"""A talk whose every word is noted, guessed, felt, summed up and said again by the model, to be forgotten."""

import json

from daemon.core.ports.services import Prompt
from tests.given import tagged, wanting
from tests.given_files import attached, picture
from tests.journeys.house import House
from tests.journeys.nights import AT_THREE, night
from tests.journeys.own_memory import KNOWN
from tests.models import Reply
from tests.repeating import Repeating

THEIRS = ("zqbees", "zqherd", "zqloom", "zqkiln", "zqfile", "zqmist")
"""Ada's words, which nobody else says."""
OTHERS = "wvyarn"
"""Ben's."""

_PARROT = Repeating(r"(?:zq|wv)\w+", r"my zq\w+ stands in the garden")
_VISIT_ENDS = 5 * 3600.0
_VISITS = 8  # of which a core is made


async def _repeats(prompt: Prompt) -> Reply:
    return _PARROT.answer(prompt)


async def begin(house: House) -> None:
    """A daemon with all that memory can do: vectors, nights, and the mirror."""
    await house.start(embedder="local", consolidate=AT_THREE, mirror="mirror")


async def talk(house: House) -> None:
    """Ada says a word in each kind of room and shows one in a file; Ben asks for them in a thread and in his DM."""
    house.model.default = _repeats
    await house.answered("Ada", "dm", "my zqbees stands in the garden")
    await house.answered("Ada", "general", "@soul my zqherd stands in the garden")
    await house.answered("Ada", "founders", "@soul my zqloom stands in the garden")
    files = [
        attached("zqfile.txt", b"the zqmist lies over all", "text/plain"),
        attached("zqfile.png", picture(), "image/png"),
    ]
    await house.people.say("Ada", "general", "@soul my zqkiln stands in the garden", files=files)
    await house.reply("general", count=2)
    await house.idle()
    thread = await house.heard("Ben", "general", f"@soul my {OTHERS} stands in the garden")
    await house.answered("Ada", "general", "@soul my zqherd stands in the garden", thread=thread)
    await house.answered("Ben", "general", "@soul what stands in the garden?", thread=thread)
    await house.answered("Ben", "dm", "what stands in the garden?")
    await house.answered("Ada", "dm", KNOWN)
    await house.answered("Ada", "dm", "why")
    await _remind(house, "Ada", "zqloom")
    await _remind(house, "Ben", "loom in the attic")
    for number in range(_VISITS):
        house.clock.turn(_VISIT_ENDS)
        await house.answered("Ada", "dm", "does my zqbees stand in the garden?")
        await house.answered("Ben" if number else "Ada", "general", "@soul and what else stands in the garden?")
        await house.answered("Ben", "dm", "and what else stands in the garden?")
        await house.idle()
    house.clock.turn(_VISIT_ENDS)
    await night(house)


async def _remind(house: House, person: str, topic: str) -> None:
    """The person has a reminder set that waits for words."""
    asked = json.dumps({"what": topic, "about": topic, "who": "", "silence": ""})
    house.model.replies += [wanting("reminder"), asked, tagged("Noted.")]
    await house.answered(person, "dm", f"remind me when the {topic} is talked about again")
