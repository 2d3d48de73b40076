"""Model ids and the vendors they belong to: the prefix before the first slash says who is asked (design, ruling 1)."""

from dataclasses import dataclass
from enum import StrEnum


class Vendor(StrEnum):
    """Who runs a model."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENROUTER = "openrouter"
    GROQ = "groq"
    OLLAMA = "ollama"
    PLACEHOLDER = "placeholder"


@dataclass(frozen=True, slots=True)
class ModelId:
    """A parsed id: `full` as people write it in settings, `name` as the vendor's own API calls it."""

    full: str
    vendor: Vendor
    name: str


def parse_model_id(text: str) -> ModelId:
    """Split `groq/…`, `anthropic/…` and so on; an id with any other beginning belongs to OpenRouter and stays whole."""
    prefix, slash, name = text.strip().partition("/")
    if slash and name and prefix in set(Vendor) - {Vendor.OPENROUTER}:
        return ModelId(text.strip(), Vendor(prefix), name)
    return ModelId(text.strip(), Vendor.OPENROUTER, text.strip())
