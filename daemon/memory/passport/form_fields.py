"""The parts of a passport's forms: types of fields, links and origins."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from daemon.memory.knowledge.records.links import Relation
from daemon.memory.passport.names import LATEST_MS

Moment = Annotated[int, Field(ge=0, le=LATEST_MS)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Words = tuple[str, ...]


class Form(BaseModel):
    """The base of all forms."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, frozen=True)


class OurLink(Form):
    """A link without a field in the seed, or with the words that prove it."""

    relation: Relation
    target: str
    quote: str = ""


class OurOrigin(Form):
    """The owner, the audience and the origin of a memory. Without an audience, only the admin may see it."""

    soul: str = ""
    workspace: str = ""
    audience: str = ""
    channel: str = ""
    conversation: str | None = None
    place: str = ""
