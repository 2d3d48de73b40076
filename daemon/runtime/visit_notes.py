"""What a cycle says of the visit that it belongs to: by plain rules, without a model."""

from dataclasses import replace
from typing import Final

from daemon.core.perception import Modality
from daemon.memory.knowledge.records.kinds import SituationContext
from daemon.memory.knowledge.visits import UNKNOWN, VisitNote
from daemon.memory.records import ProcessState
from daemon.mind.matter import Matter
from daemon.processes.subprocesses import AFTER_A_VISIT
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul

_DEEP: Final = ("academic", "problem_solving")
_LAST: Final = "exiting"


def note_of_visit(cycle: Cycle, soul: Soul, state: ProcessState) -> VisitNote:
    """Place, process and role make the situation; silence and the last process its end."""
    claim, services = cycle.claim, cycle.services
    words = [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]
    silent_ms = services.clock.now_ms() - claim.visit_state.spoken_ms
    newest = cycle.newest if cycle.messages else None
    return VisitNote(
        persona=soul.name,
        situation=_situation(soul, state, str(newest.place) if newest else ""),
        visit=claim.visit_state.visit + (bool(words) and not claim.visit_state.exchanges),
        begins=bool(words) and 0 < services.timing.visit_timeout_ms < silent_ms and claim.visit_state.spoken_ms > 0,
        ends=newest is not None and newest.modality is Modality.TIME and newest.process == _LAST,
        opens=bool(words),
        then=tuple(name for name in AFTER_A_VISIT if name in soul.subprocesses),
        wakes=services.tick_budget(soul) is not None,
    )


def _situation(soul: Soul, state: ProcessState, place: str) -> SituationContext:
    role = soul.role_in(state.process)
    deep = state.process in _DEEP or (state.process == "engaged" and Matter.kept(state.process_memory).wants_depth)
    return replace(
        UNKNOWN,
        interaction_mode="deep_discussion" if deep else "",
        domain_area=place,
        agent_role=role[0] if role else "",
    )
