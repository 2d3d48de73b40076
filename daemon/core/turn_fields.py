"""What a turn says of itself beside its words (seed 004, section 3), read from attributes that a model wrote.

An attribute that is missing or wrong is its default: no reply is refused and none is asked for again for its sake.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from daemon.core.fencing import clean_name
from daemon.core.text import one_line

SURE_OF_INTENT: Final = 0.7
"""The confidence from which on an intent is kept: never assume one (seed 004, rule 1)."""

MOST_ANCHORS, LONGEST_ANCHOR, LONGEST_INTENT = 5, 40, 120
"""The most key words of a message, and the most characters of one, and of an intent."""

_EMOTION: Final = re.compile(r"[^\W\d_][\w'-]{0,39}")
_BETWEEN: Final = re.compile(r"[,;|]")
_NUMBER: Final = re.compile(r"[01]?\.?\d{1,8}", re.ASCII)


class EpistemicMode(StrEnum):
    """How a reply stands to what it says."""

    EXPLORE = "explore"
    HYPOTHESIZE = "hypothesize"
    ASSERT = "assert"
    CAUTION = "caution"
    REFLECT = "reflect"


@dataclass(frozen=True, slots=True)
class Heard:
    """How the soul heard a message: the feeling in it, its key words, and what its writer is after, if that is sure."""

    emotion_signal: str = ""
    salience_anchor: tuple[str, ...] = ()
    intent: str = ""
    intent_confidence: float = 0.0

    def within(self, words: str) -> "Heard":
        """The same for a message with these words: a key word that doesn't stand in them is none of it."""
        said = one_line(words).casefold()
        return replace(self, salience_anchor=tuple(one for one in self.salience_anchor if one.casefold() in said))


@dataclass(frozen=True, slots=True)
class Stated:
    """How the soul stated its reply, and how sure it is of it, from 0 to 1."""

    epistemic_mode: EpistemicMode = EpistemicMode.ASSERT
    confidence: float = 0.5


NOTHING_HEARD: Final = Heard()
PLAINLY_STATED: Final = Stated()


def heard_in(attributes: Mapping[str, str]) -> Heard:
    """What the attributes of a `stimulus_verb` tell; `confidence` is that of the intent."""
    emotion = one_line(attributes.get("emotion_signal", ""))
    anchors = (_plain(one, LONGEST_ANCHOR) for one in _BETWEEN.split(attributes.get("salience_anchor", "")))
    sure = share_in(attributes.get("confidence", ""), 0.0)
    intent = _plain(attributes.get("intent", ""), LONGEST_INTENT) if sure >= SURE_OF_INTENT else ""
    return Heard(
        emotion_signal=emotion.casefold() if _EMOTION.fullmatch(emotion) else "",
        salience_anchor=tuple(dict.fromkeys(filter(None, anchors)))[:MOST_ANCHORS],
        intent=intent,
        intent_confidence=sure if intent else 0.0,
    )


def stated_in(attributes: Mapping[str, str]) -> Stated:
    """What the attributes of an `external_dialogue` tell."""
    confidence = share_in(attributes.get("confidence", ""), PLAINLY_STATED.confidence)
    return Stated(mode_in(attributes) or PLAINLY_STATED.epistemic_mode, confidence)


def mode_in(attributes: Mapping[str, str]) -> EpistemicMode | None:
    """The epistemic mode that the attributes name; None for none or an unknown one."""
    named = attributes.get("epistemic_mode", "").strip().casefold()
    return EpistemicMode(named) if named in frozenset(EpistemicMode) else None


def _plain(text: str, most: int) -> str:
    """A text on one line without markup; empty where nothing is left of it or it is too long to be meant."""
    text = one_line(text)
    return clean_name(text) if 0 < len(text) <= most and re.search(r"\w", clean_name(text)) else ""


def share_in(text: str, default: float) -> float:
    """A number from 0 to 1; the default for anything else."""
    if not _NUMBER.fullmatch(text.strip()):
        return default
    number = float(text)
    return number if math.isfinite(number) and 0 <= number <= 1 else default
