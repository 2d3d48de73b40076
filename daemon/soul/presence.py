"""What a soul says unasked, and how it shows that it says nothing: `[presence]` in soul.toml."""

from pydantic import Field

from daemon.soul.field_types import Emoji, SoulSection


class SpeakingFirst(SoulSection):
    """Whether the soul speaks without a message to answer, and how it shows that it read one and says nothing."""

    speaks_when_dormant: bool = Field(False, description="Whether it may say something into a silence.")
    says_farewell: bool = Field(False, description="Whether it takes its leave aloud when a visit ends.")
    introduces_itself: bool = Field(True, description="Whether it says who it is in a channel that it is invited to.")
    nod: Emoji = Field(
        "",
        description='With `mind = "cycle"`: the emoji, such as `thumbsup`, by which it answers what needs no words; '
        "needs the scope reactions:write. Empty: it always answers in words.",
    )
