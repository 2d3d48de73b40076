"""The fixed pipeline of seed 000: thought, reply and self-check, in one call or one call per step."""

from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

from daemon.core.errors import ModelError
from daemon.core.ports import ModelRole
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.mental_process import ProcessContext
from daemon.mind.reminders import heed_reminders
from daemon.mind.steps.external_dialog import external_dialog
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.mind.steps.mental_query import mental_query
from daemon.mind.steps.respond import REPLY, respond
from daemon.soul import Soul
from daemon.soul_engine import with_stance

T = TypeVar("T")

_LEARNED = "In their last message the person told something lasting about themselves."
_MOVED = "The soul's own mood, topic or task changed with the last few turns."
_MOODS_EVERY = 3  # replies between two mood checks; a mood seldom changes faster


async def converse(context: ProcessContext, stance: str = "") -> WorkingMemory:
    """Reply to the newest message by the soul's pipeline; gives the memory afterwards.

    `stance` is the mental process's instruction for the reply, in the daemon's own words. Raises ModelError.
    """
    stances = (stance, await heed_reminders(context))
    context = replace(context, memory=with_stance(context.memory, " ".join(one for one in stances if one)))
    return await (_unified(context) if _keeps_form(context) else _split(context))


def _keeps_form(context: ProcessContext) -> bool:
    """Whether the soul and its model speak in elements; a model that often lost them does without for a while."""
    habit = context.mind.habit(ModelRole.PERSONA)
    return context.soul.pipeline == "unified" and not habit.speaks_split(context.mind.clock.now_ms())


async def _unified(context: ProcessContext) -> WorkingMemory:
    """One streamed call; only its reply part is shown while it streams."""
    async with aclosing(
        context.mind.stream(context.memory, with_soul_creativity(context.soul, respond(context.soul)))
    ) as thought:
        await context.motor.speak(thought)
        memory, response = await thought.finished()
    context.motor.settle(response.reply, cut=response.cut)
    context.motor.annotate(
        monologue=response.monologue,
        monologue_verb=response.monologue_verb,
        reply_verb=response.reply_verb,
        stimulus_verb=response.stimulus_verb,
        user_model_check=response.user_model,
        soul_state_check=response.soul_state,
    )
    return memory


async def _split(context: ProcessContext) -> WorkingMemory:
    """One call per step: a private thought, the reply, and the self-check."""
    soul, mind = context.soul, context.mind
    think = internal_monologue(soul.display_name, "What is this person after, and what do you make of it?")
    memory, monologue = await mind.run(context.memory, with_soul_creativity(soul, think))
    memory = await say(replace(context, memory=memory), external_dialog(soul, REPLY))
    context.motor.annotate(monologue=monologue)
    await _self_check(replace(context, memory=memory))
    return memory


async def _self_check(context: ProcessContext) -> None:
    """The checks that a unified answer contains; a model that fails here does not harm the reply."""
    checks = {"user_model_check": _LEARNED}
    if context.visit.exchanges % _MOODS_EVERY == _MOODS_EVERY - 1:
        checks["soul_state_check"] = _MOVED
    for check, statement in checks.items():
        try:
            _, holds = await context.mind.run(
                context.memory, with_soul_creativity(context.soul, mental_query(statement))
            )
        except ModelError:
            return
        context.motor.annotate(**{check: holds})


async def say(context: ProcessContext, step: Step[str]) -> WorkingMemory:
    """Stream a step's text as the reply and settle on it; gives the memory afterwards. Raises ModelError."""
    async with aclosing(context.mind.stream(context.memory, with_soul_creativity(context.soul, step))) as thought:
        await context.motor.speak(thought)
        memory, reply = await thought.finished()
        cut = thought.cut
    context.motor.settle(reply, cut=cut)
    return memory


def with_soul_creativity(soul: Soul, step: Step[T]) -> Step[T]:
    """The step with the soul's own creativity, if soul.toml gives one for it."""
    return replace(step, creativity=soul.creativity_of(step.name, step.creativity))
