"""Questions that the soul answers, and below whose reply the house lists what is true: goals and expectations.

They count as phrases do: only where nothing else stands in the message.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from daemon.core.levelling import levelled


class HouseList(StrEnum):
    """What is listed."""

    GOALS = "goals"
    EXPECTATIONS = "expectations"


QUESTIONS: Final[Mapping[HouseList, tuple[str, ...]]] = MappingProxyType(
    {
        HouseList.GOALS: ("what are your goals", "was sind deine ziele", "welche ziele hast du"),
        HouseList.EXPECTATIONS: ("what are you expecting", "what do you expect", "was erwartest du"),
    }
)

_LONGEST: Final = 80  # characters
_ASKED: Final = {levelled(one): what for what, questions in QUESTIONS.items() for one in questions}


def list_asked(text: str) -> HouseList | None:
    """Which list the message asks for, if it is such a question and nothing else."""
    return _ASKED.get(levelled(text)) if len(text) <= _LONGEST else None
