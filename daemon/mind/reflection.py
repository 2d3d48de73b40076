"""An unasked whole thought (seed 002): it stays silent, except for what was promised or invited."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace

from daemon.core.authority import Function, Level
from daemon.core.errors import MalformedReply
from daemon.core.working_memory import WorkingMemory
from daemon.memory.mind.goal_changes import Goal
from daemon.memory.queues.promises import OpenPromise
from daemon.memory.stream.keeping import NewThought
from daemon.mind.extended_steps import with_soul_creativity
from daemon.mind.motor import (
    Motor,
    Silence,
    due_early,
    due_promises,
    fallback_text,
    promised_by_now,
    with_early,
    with_invitation,
    with_promises,
)
from daemon.mind.process import ProcessContext
from daemon.mind.reading_tools import reading_tools_of, with_results
from daemon.mind.recall.mood import with_occasion
from daemon.mind.steps.think import Considered, think
from daemon.mind.taking_effect import MOST_LOOKS, look_again, take_effect
from daemon.mind.thought import CognitiveOutput, Refused, occasion_of
from daemon.mind.thought.reading import Reason
from daemon.mind.thought_input import given_to, with_passing_time
from daemon.soul_engine import with_stance

_SPEECH: Final = "external_speech"


async def reflect(context: ProcessContext, stance: str) -> WorkingMemory:
    """Think unasked, with at most `MOST_LOOKS` looks, and return the unchanged memory. Raises ModelError.

    An answer that can't be read leaves a degraded thought, which changes nothing. Where words were promised, the
    soul's words are said, or else a sentence of the daemon. The daemon also speaks of promises that the readers may
    not know any more and the model isn't shown.
    """
    context.motor.keep_silence(Silence.UNSEEN)
    context = replace(context, memory=with_occasion(context.memory, context.perception))
    owed = due_promises(context.perception, context.cycle.at_hand)
    promised = promised_by_now(context.perception, context.cycle.at_hand)
    early = due_early(context.perception, context.cycle.at_hand)
    why_not = "" if promised or early else _why_silent(context)
    if promised:
        context = replace(context, memory=with_promises(context.memory, promised))
    elif early:
        context = replace(context, memory=with_early(context.memory, early))
    elif not why_not:
        context = replace(context, memory=with_invitation(context.memory, context.perception.place))
    reading = await reading_tools_of(context)
    context = replace(context, memory=with_results(context.memory, await reading.use_allowed(context)))
    for look in range(MOST_LOOKS + 1):
        may_look = look < MOST_LOOKS
        asked = think(
            context.soul, may_look=may_look, may_be_silent=lambda _: True, tools=reading.described, alone=True
        )
        shown = with_stance(with_passing_time(context.memory, context), stance)
        try:
            _, considered = await context.mind.run(shown, with_soul_creativity(context.soul, asked))
        except MalformedReply as fault:
            context.cycle.emit("thought.degraded", trace=context.mind.trace_id, reason=fault.message)
            context.motor.think(_degraded(context))
            promised = ()
            break
        thought = _unsaid(considered, why_not) if why_not else considered
        context.motor.settle(thought.reply, cut=thought.cut)
        used = await reading.use(context, thought.output, looks=may_look)
        take_effect(context, thought, used, shown)
        if look == MOST_LOOKS or thought.reply or not thought.looks:
            break
        context = replace(context, memory=await look_again(context, thought, used))
    _say_what_is_owed(context.motor, owed, promised)
    return context.memory


def _say_what_is_owed(motor: Motor, owed: Sequence[OpenPromise], shown: Sequence[Goal]) -> None:
    """Have the daemon speak of all that is owed if the soul is silent, else of what the soul was not shown."""
    if owed and not motor.reply:
        motor.settle(fallback_text(motor.words, owed, shown))
    elif unshown := fallback_text(motor.words, (one for one in owed if all(one.id != goal.id for goal in shown))):
        motor.show_below(unshown)


def _why_silent(context: ProcessContext) -> Reason | Literal[""]:
    allowed = context.cycle.thoughts.authority.level(Function.INITIATIVE) >= Level.CHECKED
    return context.cycle.silent_for if allowed else "authority"


def _unsaid(thought: Considered, why: Reason) -> Considered:
    output = thought.output
    if not output.external_speech:
        return thought
    refused = (*thought.read.refused, Refused(_SPEECH, why))
    return Considered(replace(thought.read, output=output.model_copy(update={_SPEECH: None}), refused=refused))


def _degraded(context: ProcessContext) -> NewThought:
    return NewThought(
        occasion_of(context.perception),
        context.state.process,
        given_to(context).model_dump_json(exclude_defaults=True),
        CognitiveOutput(inner_speech="").model_dump_json(exclude_defaults=True),
        degraded=True,
        surprise=context.cycle.at_hand.expected.surprise,
    )
