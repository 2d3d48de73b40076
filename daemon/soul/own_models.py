"""The models that a soul has of its own, as a whole, and for single steps."""

from pydantic import Field, field_validator

from daemon.soul.field_types import SoulSection


class Models(SoulSection):
    """Prefixed model ids that this soul uses instead of those in the settings; empty for the settings' own."""

    persona: str = Field("", description="The model that speaks, such as `anthropic/…`; empty: the settings'.")
    thinking: str = Field("", description="The model that thinks in silence; empty: the settings'.")
    persona_standby: str = Field("", description="The model that speaks when the first is down; empty: the settings'.")
    thinking_standby: str = Field("", description="The model that thinks when the first is down; empty: the settings'.")
    steps: tuple[tuple[str, str], ...] = Field(
        (), description="Models of single cognitive steps, by the step's name; the others keep to their part's."
    )

    @field_validator("steps", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        for step, model in value.items():
            if not isinstance(model, str) or not model.strip():
                raise ValueError(f"{step} must be the prefixed id of a model")
        return tuple((step, model.strip()) for step, model in value.items())
