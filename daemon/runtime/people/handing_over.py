"""Obeys *hand this thread to Rolf* without a model: another soul answers there from the next message on."""

from dataclasses import replace

from daemon.core.perception import Place
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
    services, to = cycle.services, name.casefold()
    souls = await services.notes.others()
    if cycle.newest.place is Place.TERMINAL:
        return await say(cycle, cycle.words.say("handoff_not_here"))
    if to not in souls:
        return await say(cycle, _why_not(cycle, name, souls))
    if why := await why_not_there(cycle, to):
        return await say(cycle, why)
    await cycle.require_same_readers()
    effect = effect_of_words(cycle, (), ())
    effect = replace(effect, handoff=Handoff(to, effect.recipient, effect.reply_to))
    delivery = await services.commits.commit(effect)
    tell_others(cycle, effect)
    services.emit("conversation.handed", conversation=str(cycle.claim.conversation), to=to, trace=cycle.trace_id)
    return delivery


def _why_not(cycle: Cycle, name: str, souls: tuple[str, ...]) -> str:
    soul = cycle.services.soul()
    if name.casefold() in (soul.name.casefold(), soul.display_name.casefold()):
        return cycle.words.say("handoff_mine")
    if not souls:
        return cycle.words.say("handoff_alone", name=name)
    return cycle.words.say("handoff_unknown", name=name, souls=", ".join(souls))
