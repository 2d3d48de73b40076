"""The action Handoff: give this thread to another soul, which answers from now on (seed 003)."""

from daemon.core.perception import Modality, Place
from daemon.core.soul_names import shown_names, souls_named, unclear
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.process import ProcessContext


def handoff(context: ProcessContext) -> Action | None:
    """Build the action, or return None without another soul or a person's thread. Its input is a soul's name."""
    notes, perception = context.cycle.notes, context.perception
    if notes is None or not notes.hands_to or perception.modality is not Modality.WORDS:
        return None
    if perception.place is Place.TERMINAL:
        return None
    souls = shown_names(notes.hands_to, notes.called)

    async def handle(use: ActionUse) -> Recurse:
        found = souls_named(use.input, {one: notes.called.get(one, one) for one in notes.hands_to})
        if len(found) != 1:
            return use.recurse(observation=f"{unclear(found)} Give one of {souls}, and nothing else.")
        context.motor.hand_over(found[0])
        shown = shown_names(found, notes.called)
        return use.recurse(observation=f"{shown} answers here once you have, and knows what was said. Say goodbye.")

    return Action(
        "Handoff",
        f"hand this thread to another soul ({souls}), which answers here from now on and knows what was said; if "
        "they ask for it; input: its name",
        handle,
    )
