"""Which mental process may be entered from where and when: the one table of entry conditions, enforced."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from daemon.core.perception import Modality
from daemon.mind.mental_process import ProcessContext
from daemon.mind.recall.visit import Visit
from daemon.soul import Soul

SPOKEN = frozenset({"greeting", "curious", "engaged", "ready", "returning", "academic", "poetic", "problem_solving"})
"""Processes in which the soul answers words; silence leads to the others."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What entry conditions look at: the visit, the newest words, the soul, whether it may use the autonomous loop."""

    visit: Visit
    words: str
    soul: Soul
    autonomous: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """From which processes one may be entered, and in what a situation stands against it; empty: nothing does."""

    origins: frozenset[str]
    why_refused: Callable[[Situation], str]


def _nothing(_: Situation) -> str:
    return ""


def _against_greeting(situation: Situation) -> str:
    if situation.visit.met:
        return "they have met before"
    return "" if situation.visit.begins else "they have been talking already"


def _against_returning(situation: Situation) -> str:
    if not situation.visit.met or situation.visit.number < 2:  # noqa: PLR2004 - the second visit is the first return
        return "this is their first visit"
    return "" if situation.visit.begins and situation.visit.fresh else "they have been talking already"


def _against_curious(situation: Situation) -> str:
    return "the visit is too far on" if situation.visit.exchanges > _GETTING_TO_KNOW else ""


def _against_ready(situation: Situation) -> str:
    return "" if situation.soul.contacts else "the soul knows nobody to lead to"


def _without_mode(mode: str) -> Callable[[Situation], str]:
    return lambda situation: "" if situation.soul.mode(mode) else f"the soul has no mode {mode!r}"


def _against_solving(situation: Situation) -> str:
    return "" if situation.autonomous else "the autonomous loop is not enabled"


_GETTING_TO_KNOW = 3  # exchanges after which a first visit is no beginning any more

# The one table of entry conditions. Whoever transitions against it stays where it is, and the refusal is recorded.
TABLE: Mapping[str, Entry] = MappingProxyType(
    {
        "greeting": Entry(SPOKEN, _against_greeting),
        "returning": Entry(SPOKEN, _against_returning),
        "curious": Entry(frozenset({"greeting", "returning"}), _against_curious),
        "engaged": Entry(SPOKEN, _nothing),
        "ready": Entry(SPOKEN, _against_ready),
        "academic": Entry(SPOKEN, _without_mode("academic")),
        "poetic": Entry(SPOKEN, _without_mode("poetic")),
        "problem_solving": Entry(SPOKEN, _against_solving),
        "dormant": Entry(SPOKEN, _nothing),
        "exiting": Entry(SPOKEN | {"dormant"}, _nothing),
    }
)


def why_refused(origin: str, target: str, situation: Situation) -> str:
    """Why a process may not be entered from another one now; empty when it may."""
    entry = TABLE.get(target)
    if entry is None:
        return f"there is no process {target!r}"
    if not situation.soul.may_be(target):
        return f"{situation.soul.name} takes no part in {target!r}"
    if origin not in entry.origins:
        return f"nothing leads there from {origin!r}"
    return entry.why_refused(situation)


def opening_process(origin: str, situation: Situation) -> tuple[str, str] | None:
    """The process with which a spell of talk begins, and why; None where it goes on as it is."""
    for target, reason in (
        ("greeting", "they have never met here"),
        ("returning", f"visit {situation.visit.number} begins"),
    ):
        if situation.visit.begins and not why_refused(origin, target, situation):
            return target, reason
    return None


def situation_of(context: ProcessContext) -> Situation:
    """What entry conditions look at, taken from a process's context; only somebody's own words lead anywhere."""
    perception = context.perception
    words = perception.content if perception.modality is Modality.WORDS else ""
    return Situation(context.visit, words, context.soul, autonomous=context.capabilities.limits is not None)
