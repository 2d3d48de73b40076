"""What a person's own words tell of the situation they are in: where they read, how pressed they are, what is at stake.

Plain rules over whole phrases, without a model. What the words don't tell stays empty, and is never guessed.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Location(StrEnum):
    """Where a user works or reads (seed 004, section 2.2)."""

    MOBILE = "mobile_ssh"
    LOCAL = "local_dev"
    CLOUD = "cloud_prod"


@dataclass(frozen=True, slots=True)
class ToldSituation:
    """What words tell; an empty field says nothing. The levels are `low` and `high`."""

    location_context: str = ""
    time_pressure: str = ""
    stakes_level: str = ""


def situation_of(words: str) -> ToldSituation:
    """What a message tells of its writer's situation; of several places the one named last counts.

    Quoted lines and code tell nothing: they are not the writer's words.
    """
    own = _UNSAID.sub("\n", words)
    last = {place: max(_said(pattern, own), default=-1) for place, pattern in _PLACES}
    place, found = max(last.items(), key=lambda one: one[1])
    return ToldSituation(
        location_context=place if found >= 0 else "",
        time_pressure=_level(own, _PRESSED, _AT_EASE),
        stakes_level=_level(own, _SERIOUS, _PLAYFUL),
    )


def asks_for_all_code(words: str) -> bool:
    """Whether a message asks for code in full, or for the rest of it."""
    return _ALL_CODE.search(_UNSAID.sub("\n", words)) is not None


def _said(pattern: re.Pattern[str], words: str) -> list[int]:
    """Where a phrase stands and is neither denied nor of the past or of a mere possibility."""
    starts = (hit.start() for hit in pattern.finditer(words))
    return [start for start in starts if not _DENIED.search(words[max(0, start - 24) : start])]


def _level(words: str, high: re.Pattern[str], low: re.Pattern[str]) -> str:
    return "low" if low.search(words) else "high" if high.search(words) else ""


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w)(?:{one})(?!\w)" for one in phrases), re.IGNORECASE)


_UNSAID: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|^[ \t]*(?:>|&gt;).*$", re.DOTALL | re.MULTILINE)
_DENIED: Final = re.compile(
    r"(?:\bnot|n['’]t|\bno longer|\bwas|\bwere|\bnever|\bif|\bwhen|\bnicht|\bwar|\bwenn)\s"  # noqa: RUF001
    r"(?:i['’]m\s|i am\s)?$",  # noqa: RUF001
    re.IGNORECASE,
)
_I_AM: Final = r"(?:i(?:['’]?m| am)|am|we(?:['’]?re| are))(?: (?:just|now|still|only|currently|back))*"  # noqa: RUF001
_ICH: Final = r"(?:ich )?bin(?: ich)?(?: (?:gerade|jetzt|noch|nur|wieder))*"
_PHONE: Final = r"(?:phone|mobile|cell(?:phone)?|smartphone|handy|tablet)"

_PLACES: Final = (
    (
        Location.MOBILE,
        _any(
            rf"{_I_AM} (?:on|at|using) (?:my|the|a) {_PHONE}",
            rf"{_I_AM} (?:on mobile|on the (?:train|bus|go|road|move))",
            rf"(?:typing|writing|reading|sshed in|working|connected)(?: this)? (?:on|from) (?:my|the|a) {_PHONE}",
            rf"(?:on|from) my {_PHONE}(?: (?:now|right now|today|here|at the moment))?(?=[ \t]*(?:[.,;:!?)]|$))",
            rf"{_ICH} (?:am|an meinem|mit dem) (?:handy|smartphone|telefon|tablet)",
            rf"{_ICH} (?:unterwegs|im zug)",
        ),
    ),
    (
        Location.LOCAL,
        _any(
            rf"{_I_AM} (?:at|on|in front of) (?:my|the) (?:desk|laptop|computer|workstation|pc|mac|office)",
            rf"{_I_AM} in the office",
            rf"{_I_AM} (?:not|no longer) (?:on|at) (?:my|the) {_PHONE}",
            r"back at (?:my|the) (?:desk|laptop|computer|keyboard|workstation)",
            rf"{_ICH} (?:am|an meinem) (?:rechner|laptop|computer|schreibtisch)",
        ),
    ),
    (
        Location.CLOUD,
        _any(
            rf"{_I_AM} (?:on|in|logged into|connected to) (?:the )?(?:prod(?:uction)?|live)(?: server| box| host)?",
            rf"{_ICH} (?:auf|in) (?:der )?(?:produktion|prod)",
        ),
    ),
)
_PRESSED: Final = _any(
    r"asap",
    r"urgent(?:ly)?",
    r"right away",
    r"in a (?:hurry|rush)",
    r"i only have (?:a|one|two|five|\d+) minutes?",
    r"dringend",
    r"eilt",
)
_AT_EASE: Final = _any(
    r"no (?:rush|hurry)", r"take your time", r"whenever you (?:can|like)", r"not urgent", r"eilt nicht", r"keine eile"
)
_SERIOUS: Final = _any(
    r"(?:prod(?:uction)?|the site|everything) is (?:down|broken|on fire)",
    r"outage",
    r"data loss",
    r"incident",
    r"ausfall",
)
_PLAYFUL: Final = _any(r"just (?:playing|curious|for fun)", r"nothing (?:serious|important)", r"nur so")
_ALL_CODE: Final = _any(
    r"(?:show|give|send|post|write|paste)(?: me)? (?:the |all |it |them )*"
    r"(?:rest|remainder|full|whole|entire|complete|all)"
    r"(?: of (?:it|them|that|the code))?(?: \w+){0,3}",
    r"(?:the )?rest of (?:it|that|the (?:code|script|file|function|snippet|example))",
    r"(?:full|whole|entire|complete) (?:code|script|file|function|class|listing|snippet|example|program|source)",
    r"(?:all|every line) of (?:the code|it|that)",
    r"(?:the )?rest,? please",
    r"in full",
    r"(?:zeig|schick|gib)e?(?: mir)? (?:bitte )?(?:den rest|alles|den ganzen code|das ganze)",
    r"(?:den|der) rest(?: bitte| vom code| des codes)?",
)
