"""What the forms of a passport's files are made of: types of fields, links, and where a memory comes from."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from daemon.memory.knowledge.records.links import Relation
from daemon.memory.passport.names import LATEST_MS

Moment = Annotated[int, Field(ge=0, le=LATEST_MS)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Words = tuple[str, ...]


class Form(BaseModel):
    """What all forms have in common."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, frozen=True)


class OurLink(Form):
    """A link that the seed has no field for, or one with the words that prove it."""

    relation: Relation
    target: str
    quote: str = ""


class OurOrigin(Form):
    """Whose memory it is, who may ever hear it, and where it comes from; without an audience, the admin alone may."""

    soul: str = ""
    workspace: str = ""
    audience: str = ""
    channel: str = ""
    conversation: str | None = None
    place: str = ""
