"""The home page of one person: made anew each time it is opened, and after each act there, from what holds then."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from daemon.core.errors import ChannelError
from daemon.core.home import HomeButton, HomeItem, HomePage, HomeSection
from daemon.core.phrases import USAGE, Phrase
from daemon.core.text import numbered, one_line, shortened
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.queues.memory_acts import Asker, Corrected, MemoryAct, Shown
from daemon.memory.queues.typed_commands import DONE, act_pressed
from daemon.memory.records import Delivery
from daemon.memory.shared.own_keys import KeysEnded
from daemon.runtime.abilities import abilities
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words, turns_of
from daemon.runtime.people.following_up import unasked_section
from daemon.runtime.people.helping import status_of_person
from daemon.runtime.people.house import house_section
from daemon.runtime.people.own_memory import day_in
from daemon.runtime.people.own_reminders import lines_of

_PAGE: Final = 8  # facts at a time
_MOST: Final = 10  # reminders, keys
_LONGEST: Final = 500
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


async def heed_home(cycle: Cycle, phrase: Phrase) -> Delivery | None:
    """Do what was pressed there, commit, and show the page as it is now.

    Raises StoreError and LostLease; where the platform doesn't take the page, the next opening shows it.
    """
    services, newest = cycle.services, cycle.newest
    act, _, about = phrase.words.partition(" ")
    acts = () if DONE in newest.params else await _acts(cycle, phrase.words)
    turns = turns_of(cycle) if any(isinstance(one, Corrected) for one in acts) else ()
    first = int(about) if act == "page" and about.isdecimal() and len(about) < 4 else 0  # noqa: PLR2004
    facts = await services.known.facts(newest.author, cycle.readers, cycle.claim.conversation)
    effect = effect_of_words(cycle, (), turns)
    asker = Asker(newest.author, cycle.claim.conversation, cycle.claim.audience, newest.ts)
    acts = acts or (Shown(tuple(one.id for one in facts)),)
    delivery = await services.commits.commit(replace(effect, acts=acts, asker=asker, rooms=cycle.readers.rooms))
    if act == "key":  # what waits with it hears that it is ended
        services.news.tell()
        services.wake()
    try:
        await services.channels.main.show_home(newest.author, await page_of(cycle, first))
    except ChannelError as error:
        services.emit("home.not_shown", trace=cycle.trace_id, reason=error.message)
    services.emit("home.shown", trace=cycle.trace_id, act=act)
    return delivery


async def _acts(cycle: Cycle, pressed: str) -> tuple[MemoryAct, ...]:
    """What a press does that did not take effect when it came; words that were typed have to be heard for it."""
    act, _, about = pressed.partition(" ")
    author, text = cycle.newest.author, cycle.newest.content.strip()[:_LONGEST]
    if act == "wrong":
        paused = author in await cycle.services.standing.paused([author])
        return (Corrected(about, one_line(text)),) if text and not paused and _ID.fullmatch(about) else ()
    if act == "key" and _ID.fullmatch(about):
        return (KeysEnded((about,)),)
    does = act_pressed(pressed)
    return () if does is None else (does,)


async def page_of(cycle: Cycle, first: int = 0) -> HomePage:
    """All sections; of the facts those from the number `first` on, counted from 0. Raises StoreError."""
    say = cycle.words.say
    can = "\n".join(f"• {one.said(cycle.words)}" for one in await abilities(cycle))
    command = cycle.channel.offers(cycle.newest.conversation).command
    how = say("help_command", command=command, usage=USAGE) if command else say("help_words", usage=USAGE)
    sections = [
        HomeSection(say("home_can"), (HomeItem(can), HomeItem(how))),
        await _known(cycle, first),
        await _reminders(cycle),
        await unasked_section(cycle),
        await _allowed(cycle),
        await _rooms(cycle, command),
        HomeSection(say("home_well"), (HomeItem(await status_of_person(cycle)),)),
        HomeSection(say("home_privacy"), (HomeItem(say("home_notice")),)),
    ]
    if cycle.newest.author in cycle.services.capabilities.admins:
        sections.append(await house_section(cycle))
    return tuple(one for one in sections if one.items)


async def _known(cycle: Cycle, first: int) -> HomeSection:
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    facts = await services.known.facts(newest.author, cycle.readers, cycle.claim.conversation)
    paused = newest.author in await services.standing.paused([newest.author])
    first = first if first < len(facts) else 0
    items = [_fact(cycle, number, one) for number, one in enumerate(facts[first : first + _PAGE], first + 1)]
    items = items or [HomeItem(say("own_nothing"))]
    turning = []
    if first:
        turning.append(HomeButton(say("home_before"), f"page {max(0, first - _PAGE)}"))
    if first + _PAGE < len(facts):
        turning.append(HomeButton(say("home_more"), f"page {first + _PAGE}"))
    switch = HomeButton(say("home_resume"), "resume") if paused else HomeButton(say("home_pause"), "pause")
    items.append(HomeItem(say("status_paused" if paused else "status_remembers"), (*turning, switch)))
    return HomeSection(say("home_known"), tuple(items))


def _fact(cycle: Cycle, number: int, fact: Fact) -> HomeItem:
    say, day = cycle.words.say, day_in(fact.valid_from_ms, cycle.newest.zone)
    buttons = (
        HomeButton(say("home_correct"), f"wrong {fact.id}"),
        HomeButton(say("home_forget"), f"forget {fact.id}", say("home_forget_asks")),
    )
    return HomeItem(f"{numbered(number)}. {shortened(one_line(fact.text), _LONGEST)} ({day})", buttons)


async def _reminders(cycle: Cycle) -> HomeSection:
    waiting = (await cycle.services.capabilities.own_things.reminders(cycle.newest.author))[:_MOST]
    cancel = cycle.words.say("home_cancel")
    items = [
        HomeItem(line, (HomeButton(cancel, f"cancel {one.id}"),))
        for one, line in zip(waiting, await lines_of(cycle, waiting), strict=True)
    ]
    return HomeSection(cycle.words.say("home_reminders"), _or(items, cycle.words.say("reminders_none")))


async def _allowed(cycle: Cycle) -> HomeSection:
    """The machines that have a key of theirs, and what they allowed to be done once."""
    services, say, newest = cycle.services, cycle.words.say, cycle.newest
    items = [
        HomeItem(
            say("home_key", machine=shortened(one_line(key.machine), 60).replace("`", "'") or "…"),
            (HomeButton(say("home_end_key"), f"key {key.id}", say("home_end_key_asks")),),
        )
        for key in (await services.pairings.keys_of(newest.author))[:_MOST]
    ]
    items += [
        HomeItem(say("home_allowed_once", tool=tool.replace("`", "'"), day=day_in(at, newest.zone)))
        for tool, at in await services.capabilities.own_things.allowed(newest.author)
    ]
    return HomeSection(say("home_allowed"), _or(items, say("home_allowed_nothing")))


async def _rooms(cycle: Cycle, command: str) -> HomeSection:
    """The channels whose form they may open; without any, or where the platform can't say now, no section."""
    say = cycle.words.say
    try:
        rooms = await cycle.services.channels.main.managed_rooms(cycle.newest.author)
    except ChannelError as error:
        cycle.services.emit("home.rooms_unknown", trace=cycle.trace_id, reason=error.message)
        rooms = ()
    items = [
        HomeItem(f"#{one_line(room.name)}", (HomeButton(say("home_set_up"), f"room {room.id}"),))
        for room in rooms[:_MOST]
    ]
    if len(rooms) > _MOST and command:
        items.append(HomeItem(say("home_more_rooms", count=len(rooms) - _MOST, command=command)))
    return HomeSection(say("home_rooms"), tuple(items))


def _or(items: Sequence[HomeItem], nothing: str) -> tuple[HomeItem, ...]:
    return tuple(items) or (HomeItem(nothing),)
