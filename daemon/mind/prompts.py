"""The standing texts that the mind gives to models, from `prompts.toml`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from daemon.core.packaged import packaged_table
from daemon.core.sentences import placeholders_in

_GROUPS: Final = packaged_table("mind/prompts.toml")

STANCES: Final[Mapping[str, str]] = MappingProxyType(_GROUPS.pop("stances"))
"""The stances of mental processes, empty where a process has none."""


def checked(groups: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the prompts of all groups by name. Raises ValueError for a bad one and for a name that occurs twice."""
    found: dict[str, str] = {}
    for name, text in (pair for group in groups.values() for pair in group.items()):
        if name in found or not text.strip():
            raise ValueError(f"prompts.toml: {name} is empty or occurs twice")
        placeholders_in(text)
        found[name] = text
    return found


PROMPTS: Final = checked(_GROUPS)


def prompt(name: str, /, **facts: object) -> str:
    """Return a prompt with its facts. Raises KeyError for an unknown name or a missing fact."""
    return PROMPTS[name].format(**facts)
