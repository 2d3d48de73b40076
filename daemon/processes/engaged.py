"""In conversation: think, reply, weigh what was learned; in one call or one call per step, as the soul chooses."""

from dataclasses import replace
from typing import TypeVar

from daemon.cognition import Step
from daemon.errors import ModelError
from daemon.mental_process import ProcessContext, Stay
from daemon.soul import Soul
from daemon.steps.external_dialog import external_dialog
from daemon.steps.internal_monologue import internal_monologue
from daemon.steps.mental_query import mental_query
from daemon.steps.respond import respond

T = TypeVar("T")

_LEARNED = "In their last message the person told something lasting about themselves."


async def engaged(context: ProcessContext) -> Stay:
    """The fixed pipeline of seed 000, unified or split (design, ruling 2)."""
    return await (_unified(context) if context.soul.pipeline == "unified" else _split(context))


async def _unified(context: ProcessContext) -> Stay:
    """One streamed call; only the reply leaves while it is made."""
    thought = context.mind.stream(context.memory, _tempered(context.soul, respond(context.soul)))
    await context.motor.speak(thought)
    memory, response = await thought.finished()
    context.motor.settle(response.reply)
    context.motor.reflect(
        monologue=response.monologue,
        monologue_verb=response.monologue_verb,
        reply_verb=response.reply_verb,
        stimulus_verb=response.stimulus_verb,
        user_model_check=response.user_model,
        soul_state_check=response.soul_state,
    )
    return Stay(memory)


async def _split(context: ProcessContext) -> Stay:
    """One call per step: a private thought, the reply made with it in mind, and the check."""
    soul, mind = context.soul, context.mind
    think = internal_monologue(soul.display_name, "What is this person after, and what do you make of it?")
    memory, monologue = await mind.run(context.memory, _tempered(soul, think))
    say = external_dialog(soul, "Reply to what was said last.")
    thought = mind.stream(memory, _tempered(soul, say))
    await context.motor.speak(thought)
    memory, reply = await thought.finished()
    context.motor.settle(reply)
    context.motor.reflect(monologue=monologue)
    try:
        memory, learned = await mind.run(memory, _tempered(soul, mental_query(_LEARNED)))
    except ModelError:  # what was said stands, whatever becomes of the afterthought
        return Stay(memory)
    context.motor.reflect(user_model_check=learned)
    return Stay(memory)


def _tempered(soul: Soul, step: Step[T]) -> Step[T]:
    """The step with the soul's own creativity, where it has one for it."""
    return replace(step, creativity=soul.creativity_of(step.name, step.creativity))
