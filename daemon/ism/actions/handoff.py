"""Handoff: give this thread to another soul, which knows what was said here and answers from now on (seed 003)."""

from daemon.core.perception import Modality, Place
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.mental_process import ProcessContext


def handoff(context: ProcessContext) -> Action | None:
    """The input is a soul's name; None where no other soul can answer, and where no person speaks in a thread."""
    notes, perception = context.cycle.notes, context.perception
    if notes is None or not notes.hands_to or perception.modality is not Modality.WORDS:
        return None
    if perception.place is Place.TERMINAL:
        return None
    souls = ", ".join(notes.hands_to)

    async def handle(use: ActionUse) -> Recurse:
        name = use.input.strip().casefold()
        if name not in notes.hands_to:
            return use.recurse(observation=f"There is no such soul here now. Give one of {souls}, and nothing else.")
        context.motor.hand_over(name)
        return use.recurse(observation=f"{name} answers here once you have, and knows what was said. Say goodbye.")

    return Action(
        "Handoff",
        f"hand this thread to another soul ({souls}), which answers here from now on and knows what was said; if "
        "they ask for it; input: its name",
        handle,
    )
