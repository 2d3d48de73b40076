"""Obeys *follow up on*, *off* and *status*: a person says whether the soul may write to them unasked."""

from daemon.core.initiative import state_of
from daemon.core.perception import Modality
from daemon.core.phrase_words import time_in
from daemon.core.phrases import Command, Phrase
from daemon.core.settings_place import HomeItem, HomeSection
from daemon.memory.queues.invitations import How, Invited
from daemon.memory.records import Speaks
from daemon.mind.motor import in_short
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import Answer, in_dm, phrase


@phrase(Command.FOLLOW_UP_ON, Command.FOLLOW_UP_OFF, Command.FOLLOW_UP_STATUS)
async def handle_following_up(cycle: Cycle, phrase: Phrase) -> Answer:
    newest, where, say, how = cycle.newest, cycle.claim.conversation, cycle.words.say, how_decided(cycle)
    if how is None:
        return Answer()
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot or not cycle.channel.offers(where).unasked:
        return Answer(say("follow_up_not_here"))
    if phrase.command is Command.FOLLOW_UP_OFF:
        return Answer(say("follow_up_off"), (Invited(invited=False, how=how),))
    if cycle.services.tick_budget(cycle.soul) is None:
        return Answer(say("follow_up_never"))
    if phrase.command is Command.FOLLOW_UP_ON:
        sentence = "follow_up_on" if in_dm(cycle) else "follow_up_in_dm"
        return Answer(say(sentence), (Invited(invited=True, how=how),))
    return Answer(await _as_it_stands(cycle))


def how_decided(cycle: Cycle) -> How | None:
    """Return how a person decided: by words or by a click, None where an admin or time ended the question."""
    newest = cycle.newest
    if newest.modality is not Modality.DECISION:
        return "phrase"
    return "click" if newest.params.get("by") == newest.author else None


async def unasked_section(cycle: Cycle) -> HomeSection:
    """Return the home page's section about unasked posts, empty without unasked thoughts. Raises StoreError."""
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    if services.tick_budget(cycle.soul) is None:
        return HomeSection(say("home_unasked"), ())
    where = cycle.claim.conversation
    promised = await services.store.minds.promises_open(where.soul, where.workspace, newest.author)
    lines = [say("home_promised", what=in_short(one.goal), when=time_in(one.due_ms, newest.zone)) for one in promised]
    return HomeSection(say("home_unasked"), tuple(map(HomeItem, (await _as_it_stands(cycle), *lines))))


async def _as_it_stands(cycle: Cycle) -> str:
    newest, services, say = cycle.newest, cycle.services, cycle.words.say
    found = await services.store.minds.invitation_of(cycle.claim.conversation, newest.author)
    state = state_of(found.state, found.until_ms, services.clock.now_ms())
    if state == "paused":
        return say("follow_up_is_paused", when=time_in(found.until_ms, newest.zone))
    if state == "unasked":
        return say("follow_up_is_asked" if found.asked else "follow_up_is_off")
    return say("follow_up_is_on" if state == "invited" else "follow_up_is_declined")
