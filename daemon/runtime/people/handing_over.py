"""Obeys *hand this thread to Rolf* without a model: another soul answers there from the next message on."""

from collections.abc import Mapping
from dataclasses import replace

from daemon.core.perception import Place
from daemon.core.soul_names import shown_names, souls_named
from daemon.memory.queues.handoffs import Handoff
from daemon.memory.records import Delivery
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words
from daemon.runtime.people.own_words import say
from daemon.runtime.sharing import tell_others, why_not_there


async def hand_over(cycle: Cycle, name: str) -> Delivery | None:
    """Hand the thread over, or say why not, and commit; returns the first post, claimed for sending.

    Raises StoreError, NotDelivered while it can't be asked who is there, and what a commit raises.
    """
    services = cycle.services
    if cycle.newest.place is Place.TERMINAL:
        return await say(cycle, cycle.words.say("handoff_not_here"))
    called = await services.notes.called()
    found = souls_named(name, called)
    if len(found) != 1 or cycle.soul.name in found:
        return await say(cycle, _why_not(cycle, name, found, called))
    [to] = found
    if why := await why_not_there(cycle, to):
        return await say(cycle, why)
    await cycle.require_same_readers()
    effect = effect_of_words(cycle, (), ())
    effect = replace(effect, handoff=Handoff(to, effect.recipient, effect.reply_to))
    delivery = await services.commits.commit(effect)
    tell_others(cycle, effect)
    services.emit("conversation.handed", conversation=str(cycle.claim.conversation), to=to, trace=cycle.trace_id)
    return delivery


def _why_not(cycle: Cycle, name: str, found: tuple[str, ...], called: Mapping[str, str]) -> str:
    mine, say = cycle.soul.name, cycle.words.say
    if len(found) > 1:
        return say("handoff_several", name=name, souls=shown_names(found, called))
    if found:
        return say("handoff_mine")
    if not (others := [one for one in called if one != mine]):
        return say("handoff_alone", name=name)
    return say("handoff_unknown", name=name, souls=shown_names(others, called))
