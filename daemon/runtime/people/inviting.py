"""Obeys *follow up on*, *off*, *status* and *not now*: a person says what the soul may write to them unasked."""

from collections.abc import Sequence

from daemon.core.initiative import next_pause, state_of
from daemon.core.perception import Modality
from daemon.core.phrases import Command, Phrase
from daemon.core.sentences import Words
from daemon.core.settings_place import HomeItem, HomeSection
from daemon.core.timeframes import time_in
from daemon.memory.queues.initiatives import NotNow
from daemon.memory.queues.invitations import How, Invited
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.promises import PromisesDeclined
from daemon.memory.records import Speaks
from daemon.mind.motor import in_short
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, in_dm, phrase


@phrase(Command.FOLLOW_UP_ON, Command.FOLLOW_UP_OFF, Command.FOLLOW_UP_STATUS)
async def handle_following_up(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    newest, where, say, how = cycle.newest, cycle.claim.conversation, cycle.words.say, how_decided(cycle)
    if how is None:
        return DaemonAnswer()
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot or not cycle.channel.offers(where).unasked:
        return DaemonAnswer(say("follow_up_not_here"))
    if phrase.command is Command.FOLLOW_UP_OFF:
        return DaemonAnswer(say("follow_up_off"), (Invited(invited=False, how=how),))
    if cycle.services.tick_budget(cycle.soul) is None:
        return DaemonAnswer(say("follow_up_never"))
    if phrase.command is Command.FOLLOW_UP_ON:
        sentence = "follow_up_on" if in_dm(cycle) else "follow_up_in_dm"
        return DaemonAnswer(say(sentence), (Invited(invited=True, how=how),))
    return DaemonAnswer(await _as_it_stands(cycle))


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


async def says_what_is_unwanted(cycle: Cycle) -> bool:
    """Return whether the person may mean a promise of the soul here, or an unasked post. Else *not now* is talk."""
    newest, where, minds = cycle.newest, cycle.claim.conversation, cycle.services.store.minds
    if Speaks.of(newest.author) is not Speaks.PERSON or newest.bot:
        return False
    return (
        bool(await minds.promised_here(where, newest.author, _below(cycle)))
        or await minds.unwanted_from(where, newest.author) is not None
    )


@phrase(Command.NOT_NOW)
async def decline_unasked(cycle: Cycle, _: Phrase) -> DaemonAnswer:
    newest, where, minds = cycle.newest, cycle.claim.conversation, cycle.services.store.minds
    lines, acts = list[str](), list[MemoryAct]()
    if held := await minds.promised_here(where, newest.author, below := _below(cycle)):
        lines.append(cycle.words.say("promises_declined", what=named(cycle.words, held)))
        acts.append(PromisesDeclined(below))
    if (who := await minds.unwanted_from(where, newest.author)) is not None:
        found = await minds.invitation_of(where, who)
        until = cycle.services.clock.now_ms() + next_pause(found.pause_ms)
        lines.append(cycle.words.say("not_now_besides" if held else "not_now_paused", when=time_in(until, newest.zone)))
        acts.append(NotNow())
    return DaemonAnswer("\n".join(lines), tuple(acts))


def _below(cycle: Cycle) -> str:
    """Return the thread of *not now*, empty where it begins one: then it means the whole talk."""
    thread = cycle.channel.reply_to(cycle.newest)
    return "" if thread == cycle.newest.ts else thread


def named(words: Words, goals: Sequence[str]) -> str:
    """Name these goals in one sentence, each in the quotation marks of its language."""
    *several, last = (words.say("promises_named", what=in_short(one)) for one in goals)
    return words.say("promises_and", several=", ".join(several), last=last) if several else last
