"""Obeys *follow up on*, *off* and *status*: a person says whether the soul may write to them unasked."""

from daemon.core.perception import Place
from daemon.core.phrases import Command, Phrase
from daemon.memory.queues.invitations import Invited
from daemon.memory.records import Delivery, Speaks
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.own_words import say


async def heed_following_up(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Answer and commit; returns the first post, claimed for sending. Raises what `say` raises."""
    newest, services, where = cycle.newest, cycle.services, cycle.claim.conversation
    soul = services.soul()
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot or not services.channel.offers(where).unasked:
        return await say(cycle, cycle.words.say("follow_up_not_here"))
    if phrase.command is Command.FOLLOW_UP_OFF:
        return await say(cycle, cycle.words.say("follow_up_off"), Invited(invited=False))
    if services.tick_budget(soul) is None:
        return await say(cycle, cycle.words.say("follow_up_never"))
    if phrase.command is Command.FOLLOW_UP_ON:
        alone = newest.place is Place.DM
        return await say(cycle, cycle.words.say("follow_up_on" if alone else "follow_up_in_dm"), Invited(invited=True))
    invited = await services.minds.is_invited(where.soul, where.workspace, newest.author)
    return await say(cycle, cycle.words.say("follow_up_is_on" if invited else "follow_up_is_off"))
