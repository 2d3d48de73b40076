"""Turns a perception into memories: a user's message, or a sentence of the daemon's own (seed 000)."""

from daemon.core.fencing import clean_name
from daemon.core.perception import Modality, Perception
from daemon.core.working_memory import Memory, Role, WorkingMemory

NOTE = "note"
"""The kind, in a memory's metadata, of data that nobody says here and that is fenced as a note."""

_DUE = "(What you meant to bring up here has fallen due. Nobody has said anything just now. The note says:)"


def integrate(memory: WorkingMemory, perception: Perception) -> WorkingMemory:
    """Add a perception as the newest memory: a user's message, or a sentence of the daemon's own (seed 000).

    A late message carries how late it is. A time event without content leaves no memory.
    """
    name = clean_name(perception.name)
    match perception.modality:
        case Modality.WORDS:
            metadata = {"source": perception.author, "ts": perception.ts}
            if perception.late:
                metadata["late"] = _lateness(perception)
            return memory.with_memory(Memory(Role.USER, perception.content, name=name, metadata=metadata))
        case Modality.TIME if perception.content.strip():
            due = Memory(Role.USER, perception.content, name=f"made for {name}", metadata={"kind": NOTE})
            return memory.with_memory(Memory(Role.SYSTEM, _DUE)).with_memory(due)
        case Modality.DECISION:
            return memory.with_memory(Memory(Role.SYSTEM, _decision(perception)))
        case _:
            return memory


def _decision(perception: Perception) -> str:
    """The decision, without the decider's name: users choose their names, and this text is not fenced."""
    if perception.params.get("expired"):
        return "(Nobody answered in time what you asked to be allowed: you may not do it.)"
    allowed = "allowed" if perception.params.get("approved") else "refused"
    return f"(Somebody who was asked has {allowed} what you asked to be allowed.)"


def _lateness(perception: Perception) -> str:
    try:
        minutes = round((perception.received_ms / 1000 - float(perception.ts)) / 60)
    except (ValueError, OverflowError):
        return "some time"
    if minutes < 1:
        return "less than a minute"
    hours = round(minutes / 60)
    return f"{minutes} minutes" if hours <= 1 else f"{hours} hours"
