"""How a step is asked once more after an answer that could not be used."""

from dataclasses import replace
from typing import TypeVar

from daemon.core.errors import CutShort, MalformedReply, WrongOpening
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.soul_engine import FAULTY_REPLY, heading

T = TypeVar("T")

FAULTY_CAP = 6_000
"""Characters of a malformed answer that the model is shown when it is asked again."""

_SHORTER = "(Your last answer met its length limit before anything was said: be much shorter.)"


def reopened(step: Step[T], fault: WrongOpening) -> Step[T]:
    """The step once more, with what was wrong with the beginning of its reply; that is not weighed again."""
    cue = f"{step.cue}\n\n" if step.cue else ""
    return replace(step, opening=None, cue=f"{cue}(Your last answer was not shown: {fault.message}.)")


def corrected(memory: WorkingMemory, step: Step[T], fault: MalformedReply) -> tuple[WorkingMemory, Step[T]]:
    """The step's own repair, or the step again with the faulty answer as data and a cue that says what was wrong."""
    if step.repair is not None:
        return memory, replace(step.repair(), cue=_SHORTER if isinstance(fault, CutShort) else "")
    faulty = fault.reply[:FAULTY_CAP] or "(it was empty)"
    where = heading(FAULTY_REPLY)
    cue = f'What stands under "{where}" could not be used: {fault.message}. Answer again.'
    if fault.hint:
        cue = f"{cue} This time: {fault.hint}."
    return memory.with_region(FAULTY_REPLY, Memory(Role.USER, faulty)), replace(step, cue=cue)
