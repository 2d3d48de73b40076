"""The step that looks at pictures from users: their content, their text, and how they feel (one call for all)."""

import json
from typing import Annotated, Final

from msgspec.structs import replace
from pydantic import Field

from daemon.core.errors import MalformedReply
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import storable
from daemon.core.value import Value
from daemon.mind.prompts import prompt
from daemon.mind.structured import JSONAnswer, structured_step, within

DESCRIPTION_CAP: Final = 600
VISIBLE_CAP: Final = 2_000
_Word = Annotated[str, within(60)]


class Seen(Value):
    """The description of one picture. `intensity` is between 0 and 1."""

    description: str
    visible_text: str = ""
    texture: str = ""
    soundscape: str = ""
    temperature_feel: str = ""
    intensity: float = 0.5


class _Seen(JSONAnswer, strict=True):
    description: Annotated[str, within(DESCRIPTION_CAP)]
    visible_text: str = ""
    texture: _Word = ""
    soundscape: _Word = ""
    temperature_feel: _Word = ""
    intensity: Annotated[float, Field(strict=False)] = 0.5


class _Pictures(JSONAnswer, strict=True):
    pictures: list[_Seen]


def look(count: int) -> Step[tuple[Seen, ...]]:
    """Build the step for `count` pictures, in their order. A model that sees no pictures raises CannotSee."""

    def take(answer: _Pictures) -> tuple[Seen, ...]:
        found = answer.pictures
        if len(found) != count:
            raise MalformedReply(f"it tells of {len(found)}", hint=f"tell of each of the {count}, in order")
        return tuple(map(_clean, found))

    pictures = "one picture" if count == 1 else f"{count} pictures"
    step = structured_step(
        "look",
        prompt("look", count=pictures, description=DESCRIPTION_CAP, visible=VISIBLE_CAP),
        _Pictures,
        take,
        placeholder=json.dumps({"pictures": [{"description": ""}] * count}),
        max_output_tokens=400 + 900 * count,
    )
    return replace(step, sees=True, needs_eyes=True)


def _clean(seen: _Seen) -> Seen:
    intensity = seen.intensity if 0 <= seen.intensity <= 1 else 0.5  # also for what is no number at all
    visible = storable(remove_keys(seen.visible_text)).replace("\0", "")[:VISIBLE_CAP].strip()
    return Seen(seen.description, visible, seen.texture, seen.soundscape, seen.temperature_feel, intensity)
