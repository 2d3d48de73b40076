"""Settings about a mind that goes on beside its replies."""

import re

from pydantic import Field, field_validator

from daemon.core.config.fields import SettingsFields
from daemon.core.initiative import QUIET_HOURS


class MindFields(SettingsFields):
    """Further fields of `Settings`."""

    # Thinking unasked
    cycle_enabled: bool = Field(
        False,
        description='Whether souls with mind = "cycle" think unasked about what is due (docs/MIND.md); '
        "soul.toml can override it. Of such thoughts only what was promised is posted, and what is said to people or "
        "in channels where the soul is invited to write unasked.",
    )
    cycle_tokens_hour: int = Field(
        20_000,
        ge=0,
        description="Tokens, in and out, that each soul may take for such thoughts within an hour; "
        "for what it promised only the day's count.",
    )
    cycle_tokens_day: int = Field(
        100_000, ge=0, description="Tokens, in and out, that each soul may take for such thoughts in a day."
    )
    cycle_usd_day: float = Field(
        1.0, ge=0, description="US dollars that each soul may spend on such thoughts in a day."
    )
    quiet_hours: str = Field(
        "20:00-08:00",
        description="When a soul says nothing unasked, on each person's own clock; empty: at no time.",
    )

    @field_validator("quiet_hours")
    @classmethod
    def _hours(cls, value: str) -> str:
        if not re.fullmatch(QUIET_HOURS, value):
            raise ValueError("must be two times of day, such as 20:00-08:00, or empty for none")
        return value
