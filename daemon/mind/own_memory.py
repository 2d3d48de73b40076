"""Leads other words for one's own memory to the phrases that are obeyed without a model."""

from daemon.core.perception import AudienceKind
from daemon.mind.mental_process import ProcessContext

_SHOWN = (
    "What you know about them, and the phrases by which they decide of it, stand below your reply. Say so in one "
    "sentence; claim nothing else about it, and don't say that anything was changed or deleted."
)
_ELSEWHERE = (
    "Nothing was shown, changed or deleted. How they can see what you know of them, in private, stands below your "
    "reply. Say so in one sentence."
)


async def show_own_memory(context: ProcessContext) -> str:
    """Put the person's list, or where others read along the way to it, below the reply; gives what the prompt says."""
    motor, perception = context.motor, context.perception
    if context.cycle.readers.audience.kind is not AudienceKind.DM:
        motor.add_below(f"_{motor.words.say('own_way')}_")
        return _ELSEWHERE
    text, acts = await context.capabilities.own_memory(perception, context.cycle.readers, motor.words)
    motor.show_below(text)
    for act in acts:
        motor.decide(act)
    return _SHOWN
