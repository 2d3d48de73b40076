"""The step that looks at pictures from users: their content, their text, and how they feel (one call for all)."""

import json
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import Effort
from daemon.core.step import Step
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line, shortened, storable
from daemon.mind.prompts import prompt
from daemon.mind.reply import structured

DESCRIPTION_CAP: Final = 600
VISIBLE_CAP: Final = 2_000
WORD_CAP: Final = 60


@dataclass(frozen=True, slots=True)
class Seen:
    """The description of one picture. `intensity` is between 0 and 1."""

    description: str
    visible_text: str = ""
    texture: str = ""
    soundscape: str = ""
    temperature_feel: str = ""
    intensity: float = 0.5


class _Seen(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    description: str
    visible_text: str = ""
    texture: str = ""
    soundscape: str = ""
    temperature_feel: str = ""
    intensity: Annotated[float, Field(strict=False)] = 0.5


class _Pictures(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    pictures: list[_Seen]


def look(count: int) -> Step[tuple[Seen, ...]]:
    """Build the step for `count` pictures, in their order. A model that sees no pictures raises CannotSee."""
    json_schema, read_pictures = structured(_Pictures)

    def read(answer: str) -> tuple[Seen, ...]:
        found = read_pictures(answer).pictures
        if len(found) != count:
            raise MalformedReply(
                f"it tells of {len(found)}", reply=answer, hint=f"tell of each of the {count}, in order"
            )
        return tuple(_clean(one) for one in found)

    return Step(
        name="look",
        command=prompt(
            "look",
            count="one picture" if count == 1 else f"{count} pictures",
            description=DESCRIPTION_CAP,
            visible=VISIBLE_CAP,
        ),
        read=read,
        remember=lambda _: (),
        creativity=0.2,
        effort=Effort.LOW,
        json_schema=json_schema,
        placeholder=json.dumps({"pictures": [{"description": ""}] * count}),
        max_output_tokens=400 + 900 * count,
        sees=True,
        needs_eyes=True,
    )


def _clean(seen: _Seen) -> Seen:
    intensity = seen.intensity if 0 <= seen.intensity <= 1 else 0.5  # also for what is no number at all
    return Seen(
        _line(seen.description, DESCRIPTION_CAP),
        storable(remove_keys(seen.visible_text)).replace("\0", "")[:VISIBLE_CAP].strip(),
        _line(seen.texture, WORD_CAP),
        _line(seen.soundscape, WORD_CAP),
        _line(seen.temperature_feel, WORD_CAP),
        intensity,
    )


def _line(text: str, cap: int) -> str:
    return shortened(one_line(remove_keys(text)), cap)
