"""Words that nobody asked for are looked at once more in the commit that posts them.

A thought may begin hours before: a daemon that died leaves it to the next one. What may not be said any more by then,
since it is quiet, somebody was faster or they want none, is stored as a thought that said nothing.
"""

import json
from dataclasses import replace
from typing import Final

from daemon.core.initiative import QuietHours, QuietThere, WhySilent
from daemon.core.perception import ConversationKey
from daemon.core.tempo import REFLECTING
from daemon.memory.database import Transaction
from daemon.memory.knowledge.zones import zone_in
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.initiatives import SpokeUnasked
from daemon.memory.queues.invitations import why_silent
from daemon.memory.queues.promises import PromisesKept, is_promised
from daemon.memory.records import Speaks
from daemon.memory.stream.new_thought import NewThought

SPEECH: Final = "external_speech"
"""The field of a thought whose words are said."""


async def as_may_be_said(transaction: Transaction, effect: CycleEffect, now: int) -> CycleEffect:
    """The effect, without its words where nobody asked for them and they may not be said now."""
    if effect.quiet is None or not effect.parts or effect.asker is None:
        return effect
    where, person = effect.claim.conversation, effect.asker.person
    kept = next((one for one in effect.acts if isinstance(one, PromisesKept)), None)
    goals = kept.goals if kept is not None else ()
    early = kept is not None and kept.early
    owed = [one for one in goals if await is_promised(transaction, where.soul, one, now, early=early)]
    if goals and not owed:
        return _unsaid(effect, "not_now")
    is_tick = any(one.perception.process == REFLECTING for one in effect.claim.messages)
    invited = bool(goals) or not is_tick  # else it is a silence, into which the soul speaks by its file
    why = await must_be_silent(transaction, where, person, now, effect.quiet, promised=invited)
    return _unsaid(effect, why) if why else effect


async def must_be_silent(
    transaction: Transaction, conversation: ConversationKey, person: str, now: int, quiet: QuietHours, *, promised: bool
) -> WhySilent:
    """Why an unasked thought that begins now may say nothing; of what was promised, quiet hours alone are a reason."""
    if not promised:
        return await why_silent(transaction, conversation, person, now, quiet)
    return "quiet" if quiet.over(now, await zone_in(transaction, conversation.workspace, person)) > now else ""


async def quiet_of_posts(transaction: Transaction, effect: CycleEffect) -> str:
    """In which hours the posts of an effect aren't begun, as their rows say it; empty where somebody waits for them."""
    if effect.quiet is None or effect.asker is None:
        return ""
    zone = await zone_in(transaction, effect.claim.conversation.workspace, effect.asker.person)
    return str(QuietThere(effect.quiet, zone))


def _unsaid(effect: CycleEffect, why: WhySilent) -> CycleEffect:
    thoughts = effect.thoughts
    if thoughts is not None:
        thoughts = replace(thoughts, thoughts=tuple(_silenced(one, why) for one in thoughts.thoughts))
    return replace(
        effect,
        parts=(),
        files=(),
        turns=tuple(one for one in effect.turns if one.speaker is not Speaks.SOUL),
        acts=tuple(one for one in effect.acts if not isinstance(one, PromisesKept | SpokeUnasked)),
        surfaced=(),
        known_facts=(),
        thoughts=thoughts,
        silent=True,
    )


def _silenced(thought: NewThought, why: WhySilent) -> NewThought:
    """The thought without its speech, which is refused; one that said nothing stays as it is."""
    output = json.loads(thought.output)
    if not thought.spoke and not output.get(SPEECH):
        return thought
    output.pop(SPEECH, None)
    return replace(
        thought, output=json.dumps(output, ensure_ascii=False), spoke=False, refused=(*thought.refused, (SPEECH, why))
    )
