"""The table of entry conditions: which mental process may be entered from where and when.

How the state of a conversation is decided, in order, for each perception:

1. `state_machine`: a scheduled perception visits the process it names, a decision visits the one that asked for it.
2. `opening_process`, below: a message that begins a visit enters `greeting` or `returning`.
3. `daemon.processes`: the process that runs first lets the model answer (`daemon.mind.fixed_pipeline.converse`).
4. `following`: the answer begins with what the message calls for; that leads elsewhere before a word is said.
5. `why_refused`, below: the state machine checks every entry against TABLE, and records it or its refusal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from daemon.mind.mental_process import SPOKEN, ProcessContext
from daemon.mind.recall.visit import Visit
from daemon.soul import Soul


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of entry conditions: visit, soul, whether autonomous work has anything to do, sessions may be asked."""

    visit: Visit
    soul: Soul
    autonomous: bool = False
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """Allowed origins, and a check that returns why entry is refused (empty: allowed)."""

    origins: frozenset[str]
    why_refused: Callable[[Situation], str]


def _allowed(_: Situation) -> str:
    return ""


def _refused_greeting(situation: Situation) -> str:
    if situation.visit.met:
        return "they have met before"
    return "" if situation.visit.begins else "they have been talking already"


def _refused_returning(situation: Situation) -> str:
    if not situation.visit.met or situation.visit.number < 2:  # noqa: PLR2004 - the second visit is the first return
        return "this is their first visit"
    return "" if situation.visit.begins and situation.visit.fresh else "they have been talking already"


def _refused_curious(situation: Situation) -> str:
    return "the visit is too far on" if situation.visit.exchanges > _GETTING_TO_KNOW else ""


def _refused_without_mode(mode: str) -> Callable[[Situation], str]:
    return lambda situation: "" if situation.soul.mode(mode) else f"the soul has no mode {mode!r}"


def _refused_problem_solving(situation: Situation) -> str:
    return "" if situation.autonomous else "the autonomous loop is not enabled, or has nothing to look in here"


def _refused_liaising(situation: Situation) -> str:
    return "" if situation.sessions else "there is no session that could be asked from here"


_GETTING_TO_KNOW = 3  # replies after which a first visit is no longer a beginning

# A transition that the table refuses does not happen; the refusal is recorded.
TABLE: Mapping[str, Entry] = MappingProxyType(
    {
        "greeting": Entry(SPOKEN, _refused_greeting),
        "returning": Entry(SPOKEN, _refused_returning),
        "curious": Entry(frozenset({"greeting", "returning"}), _refused_curious),
        "engaged": Entry(SPOKEN, _allowed),
        "ready": Entry(SPOKEN, _allowed),
        "academic": Entry(SPOKEN, _refused_without_mode("academic")),
        "poetic": Entry(SPOKEN, _refused_without_mode("poetic")),
        "problem_solving": Entry(SPOKEN, _refused_problem_solving),
        "liaising": Entry(SPOKEN, _refused_liaising),
        "attending": Entry(SPOKEN | {"dormant", "exiting"}, _allowed),
        "dormant": Entry(SPOKEN, _allowed),
        "reflecting": Entry(SPOKEN | {"dormant", "exiting"}, _allowed),
        "exiting": Entry(SPOKEN | {"dormant"}, _allowed),
    }
)


def why_refused(origin: str, target: str, situation: Situation) -> str:
    """Why a process may not be entered from another one now; empty if it may."""
    entry = TABLE.get(target)
    if entry is None:
        return f"there is no process {target!r}"
    if not situation.soul.may_be(target):
        return f"{situation.soul.name} takes no part in {target!r}"
    if origin not in entry.origins:
        return f"nothing leads there from {origin!r}"
    return entry.why_refused(situation)


def opening_process(origin: str, situation: Situation) -> tuple[str, str] | None:
    """The process that a new visit begins with, and why; None if no visit begins."""
    for target, reason in (
        ("greeting", "they have never met here"),
        ("returning", f"visit {situation.visit.number} begins"),
    ):
        if situation.visit.begins and not why_refused(origin, target, situation):
            return target, reason
    return None


def situation_of(context: ProcessContext) -> Situation:
    """The situation in a process's context."""
    return Situation(
        context.visit, context.soul, autonomous=context.autonomous, sessions=context.cycle.put_to_session is not None
    )
