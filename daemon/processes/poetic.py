"""A poem is wanted: the poetic mode chooses a register and an image domain, and composes."""

import re
from collections.abc import Sequence
from dataclasses import replace

from daemon.core.errors import ModelError
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.fixed_pipeline import say
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.steps.decision import decision
from daemon.mind.steps.poetic_composition import poetic_composition
from daemon.soul_engine import with_mode


async def poetic(context: ProcessContext) -> Outcome:
    """Compose, then go back to `engaged`."""
    mode = context.soul.mode("poetic")
    if mode is None:  # its folder was removed while the conversation was in this process
        return Transition(context.memory, "engaged", "the soul has no poetic mode any more", execute_now=True)
    context = replace(context, memory=with_mode(context.memory, mode.personality))
    register = await _choose(context, "Which register does this poem call for?", mode.registers)
    images = await _choose(context, "From which world should its images come?", mode.image_domains)
    composition = poetic_composition(
        context.soul, "Compose what was asked for last.", register=register, image_domain=images
    )
    memory = await say(context, composition)
    context.motor.annotate(register=register or None, image_domain=images or None)
    return Transition(memory, "engaged", "the poem is given")


async def _choose(context: ProcessContext, question: str, options: Sequence[str]) -> str:
    """One of the options: named in the message, else decided by the model; the first if the model fails."""
    said = context.perception.content
    if named := next((one for one in options if re.search(rf"\b{re.escape(one)}\b", said, re.IGNORECASE)), ""):
        return named
    if len(options) < 2:  # noqa: PLR2004 - nothing to choose
        return next(iter(options), "")
    try:
        _, chosen = await context.mind.run(
            context.memory, with_soul_creativity(context.soul, decision(question, options))
        )
    except ModelError:
        return options[0]
    return chosen
