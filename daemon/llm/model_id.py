"""Model ids and their vendors: the prefix before the first slash names the vendor."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ECHO: Final = "placeholder/echo"
"""What speaks where no model is set up: it repeats what it hears."""

REHEARSAL: Final = "placeholder/rehearsal"
"""What thinks as the lines of a message say, so that a mind can be tried without a language model."""


class Vendor(StrEnum):
    """A provider of models."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENROUTER = "openrouter"
    GROQ = "groq"
    OLLAMA = "ollama"
    LOCAL = "local"
    EXTENSION = "extension"
    PLACEHOLDER = "placeholder"


@dataclass(frozen=True, slots=True)
class ModelId:
    """A parsed id: `full` as in the settings, `name` as in the vendor's API."""

    full: str
    vendor: Vendor
    name: str


def parse_model_id(text: str) -> ModelId:
    """Split `groq/…`, `anthropic/…` and so on; an id with another prefix belongs to OpenRouter and stays whole."""
    prefix, slash, name = text.strip().partition("/")
    if slash and name and prefix in set(Vendor) - {Vendor.OPENROUTER}:
        return ModelId(text.strip(), Vendor(prefix), name)
    return ModelId(text.strip(), Vendor.OPENROUTER, text.strip())
