"""Answers with words of the daemon alone, which no model made."""

from dataclasses import replace

from daemon.memory.queues.beside import TYPED
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.sharing import tell_others


async def say(cycle: Cycle, text: str, *acts: MemoryAct) -> Delivery | None:
    """Answer in the conversation itself and commit, with what is done; returns the first post, claimed for sending.

    Without a text nothing is said. Raises StoreError, LostLease, and ReadersChanged where others read along by now, or
    an act has to be made anew.
    """
    await cycle.require_same_readers()
    parts = cycle.channel.split(text, cycle.claim.conversation, cycle.hosts) if text else ()
    effect = effect_of_words(cycle, parts, ())
    effect = replace(effect, rooms=cycle.readers.rooms, acts=(*effect.acts, *acts))
    delivery = await commit_shown(cycle, effect)
    tell_others(cycle, effect)
    return delivery


async def commit_shown(cycle: Cycle, effect: CycleEffect) -> Delivery | None:
    """Commit; what a slash command asked for is then shown where it was typed, to its user alone, in place of a post.

    Where that is not known here, and where buttons stand below the answer, it is posted like any other.
    Raises what a commit raises.
    """
    services, command = cycle.services, str(cycle.newest.params.get(TYPED, ""))
    if not command or not services.channels.main.waits_for(command):
        return await services.commits.commit(effect)
    shown, stored = effect.parts, replace(effect, parts=())
    if effect.approval is not None:
        shown, stored = (cycle.words.say("own_in_private"),), effect
    delivery = await services.commits.commit(stored)
    if shown and not await services.channels.main.answer_command(command, shown):
        services.emit("commands.unanswered", trace=cycle.trace_id)
    return delivery
