"""The home page of one person, the introduction in a channel, and the answers to *help*, *status* and *stop*."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import ChannelError
from daemon.core.phrases import USAGE, Command, Phrase
from daemon.core.sentences import Words
from daemon.core.settings_place import HomeButton, HomeItem, HomePage, HomeSection
from daemon.core.spending import PaidBy
from daemon.core.tempo import sentence_of
from daemon.core.text import bar_line, numbered, one_line, shortened
from daemon.memory.knowledge.records.kinds import Fact
from daemon.memory.queues.memory_acts import Corrected, MemoryAct, Shown
from daemon.memory.queues.typed_commands import DONE, STOPS, act_pressed
from daemon.memory.shared.keys import KeysEnded
from daemon.mind.recall.mood import current_mood
from daemon.runtime.abilities import Ability, abilities
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import turns_of
from daemon.runtime.people.answers import DaemonAnswer, phrase
from daemon.runtime.people.inviting import unasked_section
from daemon.runtime.people.own_memory import day_in
from daemon.runtime.people.reminders import lines_of

_DAY_MS: Final = 86_400_000
_DAYS: Final = 14
_MOST: Final = 10  # alarms
_MODELS: Final = 5


async def admin_section(cycle: Cycle) -> HomeSection:
    """Return the section for admins. Raises StoreError."""
    services, say = cycle.services, cycle.words.say
    things = services.store.own_things
    house = await things.house(services.clock.now_ms() - _DAY_MS)
    lines = [
        say("home_connected" if services.channels.main.healthy() else "home_unconnected", daemons=house.daemons),
        say("home_queue", waiting=house.waiting, to_send=house.to_send),
        say("home_spent", usd=f"{house.cost_usd:.2f}", calls=house.calls, failed=house.failed),
        *await _money(cycle),
        await _days(cycle),
    ]
    alarms = [f":warning: {services.channels.main.trouble()}"] if services.channels.main.trouble() else []
    alarms += [f":warning: {say('home_dead', dead=house.dead)}"] if house.dead else []
    alarms += [f":warning: {sentence_of(one)}" for one in (await things.alarms())[:_MOST]]
    return HomeSection(say("home_house"), tuple(map(HomeItem, (*lines, *(alarms or [say("home_no_alarm")])))))


async def _money(cycle: Cycle) -> list[str]:
    """Return the rest of the soul's cap today, and the models that cost most in the last 24 hours."""
    services, say = cycle.services, cycle.words.say
    till, things = services.till, services.store.own_things
    caps, lines = till.terms.caps().known, list[str]()
    if (cap := caps.pop(PaidBy.SOUL, None)) is not None:
        spent = await things.spent(till.day().date)
        lines.append(say("home_left", left=f"{spent.left_of(cap):.2f}", cap=f"{cap:g}"))
    for paid_by, usd in caps.items():
        lines.append(say("home_cap_person" if paid_by is PaidBy.PERSON else "home_cap_room", cap=f"{usd:g}"))
    models = await things.costs("model", services.clock.now_ms() - _DAY_MS)
    if models:
        named = [f"{shortened(one_line(one.key), 60)} ${one.cost_usd:.2f}" for one in models[:_MODELS]]
        lines.append(say("home_by_model", models=", ".join(named)))
    return lines


async def _days(cycle: Cycle) -> str:
    """Return a curve of the last days for each number, oldest first."""
    services, say = cycle.services, cycle.words.say
    now = services.clock.now_ms()
    days = [services.till.day(now - back * _DAY_MS) for back in reversed(range(_DAYS))]
    found = await services.store.own_things.days(days)
    curves = (
        ("home_days_heard", [float(one.heard) for one in found], "{:.0f}"),
        ("home_days_answered", [float(one.answered) for one in found], "{:.0f}"),
        ("home_days_wait", [one.wait_s for one in found], "{:.0f}"),
        ("home_days_cost", [one.cost_usd for one in found], "{:.2f}"),
    )
    lines = [
        say(key, bars=bar_line(numbers), today=form.format(numbers[-1]), most=form.format(max(numbers)))
        for key, numbers, form in curves
    ]
    return "\n".join((say("home_days", days=_DAYS), *lines))


_PAGE: Final = 8  # facts at a time
_LONGEST: Final = 500
_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@phrase(Command.HOME)
async def handle_home(cycle: Cycle, phrase: Phrase) -> DaemonAnswer:
    """Do what was pressed on the page, and then show the page as it is now. Raises StoreError.

    If the platform doesn't take the page, the next opening shows it.
    """
    newest = cycle.newest
    act, _, about = phrase.words.partition(" ")
    acts = () if DONE in newest.params else await _acts(cycle, phrase.words)
    turns = turns_of(cycle) if any(isinstance(one, Corrected) for one in acts) else ()
    first = int(about) if act == "page" and about.isdecimal() and len(about) < 4 else 0  # noqa: PLR2004
    facts = await cycle.services.store.known.facts(newest.author, cycle.readers, cycle.claim.conversation)
    acts = acts or (Shown(tuple(one.id for one in facts)),)
    return DaemonAnswer(
        "", acts, turns, {"rooms": cycle.readers.rooms}, here=False, after=partial(_show, cycle, act, first)
    )


async def _show(cycle: Cycle, act: str, first: int) -> None:
    services = cycle.services
    try:
        await services.channels.main.show_home(cycle.newest.author, await page_of(cycle, first))
    except ChannelError as error:
        services.emit("home.not_shown", trace=cycle.trace_id, reason=error.message)
    services.emit("home.shown", trace=cycle.trace_id, act=act)


async def _acts(cycle: Cycle, pressed: str) -> tuple[MemoryAct, ...]:
    """Return the acts of a press. A correction is dropped while the person has paused remembering."""
    act, _, about = pressed.partition(" ")
    author, text = cycle.newest.author, cycle.newest.content.strip()[:_LONGEST]
    if act == "wrong":
        paused = author in await cycle.services.store.standing.paused([author])
        return (Corrected(about, one_line(text)),) if text and not paused and _ID.fullmatch(about) else ()
    if act == "key" and _ID.fullmatch(about):
        return (KeysEnded((about,)),)
    does = act_pressed(pressed)
    return () if does is None else (does,)


async def page_of(cycle: Cycle, first: int = 0) -> HomePage:
    """Return all sections, with the facts from the number `first` on, counted from 0. Raises StoreError."""
    say = cycle.words.say
    can = "\n".join(f"• {one.said(cycle.words)}" for one in await abilities(cycle))
    command = cycle.channel.offers(cycle.newest.conversation).command
    sections = [
        HomeSection(say("home_can"), (HomeItem(can), HomeItem(how_to_use(cycle)))),
        await _known(cycle, first),
        await _reminders(cycle),
        await unasked_section(cycle),
        await _allowed(cycle),
        await _rooms(cycle, command),
        HomeSection(say("home_well"), (HomeItem(await status_of_person(cycle)),)),
        HomeSection(say("home_privacy"), (HomeItem(say("home_notice")),)),
    ]
    if cycle.newest.author in cycle.services.capabilities.admins:
        sections.append(await admin_section(cycle))
    return tuple(one for one in sections if one.items)


async def _known(cycle: Cycle, first: int) -> HomeSection:
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    facts = await services.store.known.facts(newest.author, cycle.readers, cycle.claim.conversation)
    paused = newest.author in await services.store.standing.paused([newest.author])
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
    waiting = (await cycle.services.store.own_things.reminders(cycle.newest.author))[:_MOST]
    cancel = cycle.words.say("home_cancel")
    items = [
        HomeItem(line, (HomeButton(cancel, f"cancel {one.id}"),))
        for one, line in zip(waiting, await lines_of(cycle, waiting), strict=True)
    ]
    return HomeSection(cycle.words.say("home_reminders"), _or(items, cycle.words.say("reminders_none")))


async def _allowed(cycle: Cycle) -> HomeSection:
    """Return the machines that have a key of this person, and the actions that the person allowed once."""
    services, say, newest = cycle.services, cycle.words.say, cycle.newest
    items = [
        HomeItem(
            say("home_key", machine=shortened(one_line(key.machine), 60).replace("`", "'") or "…"),
            (HomeButton(say("home_end_key"), f"key {key.id}", say("home_end_key_asks")),),
        )
        for key in (await services.store.pairings.keys_of(newest.author))[:_MOST]
    ]
    items += [
        HomeItem(say("home_allowed_once", tool=tool.replace("`", "'"), day=day_in(at, newest.zone)))
        for tool, at in await services.store.own_things.allowed(newest.author)
    ]
    return HomeSection(say("home_allowed"), _or(items, say("home_allowed_nothing")))


async def _rooms(cycle: Cycle, command: str) -> HomeSection:
    """Return the channels whose form the person may open, no section without any or if Slack can't say now."""
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


_CLAUSES: Final = frozenset(
    {
        *("help_talk", "help_remember", "help_files", "help_library", "help_tools", "help_problems"),
        *("help_contacts", "help_reminders", "help_sessions", "help_souls"),
    }
)
"""The abilities that make a clause. The sentence of each begins with `can` in place of `help`."""


@phrase(Command.INTRODUCE, names_sessions=True)
async def introduce(cycle: Cycle, _: Phrase) -> DaemonAnswer:
    """Introduce the soul, once in a channel. The post is dropped without a word where Slack refuses it."""
    soul = cycle.soul
    if not soul.presence.introduces_itself:
        cycle.dismiss("it does not introduce itself")
        return DaemonAnswer(here=False)
    command = cycle.channel.offers(cycle.claim.conversation).command
    text = introduction(cycle.words, soul.display_name, await abilities(cycle), command)
    return DaemonAnswer(text, more={"unasked": True, "rooms": frozenset()})


def introduction(words: Words, name: str, found: Iterable[Ability], command: str) -> str:
    clauses = [replace(one, key=f"can_{one.key.partition('_')[2]}").said(words) for one in found if one.key in _CLAUSES]
    *first, last = clauses
    can = words.say("introduction_list", first=", ".join(first), last=last) if first else last
    return words.say("introduction", name=name, can=can, help=f"`{command} help`" if command else "*help*")


_LONGEST_WORDS: Final = 60


@phrase(Command.HELP, names_sessions=True)
async def show_help(cycle: Cycle, phrase: Phrase) -> str:
    """Say what the soul can do. Raises StoreError."""
    words = cycle.words
    lines = [words.say("help_head"), "", *(f"- {one.said(words)}" for one in await abilities(cycle))]
    if phrase.words:
        unknown = shortened(one_line(phrase.words), _LONGEST_WORDS).replace("`", "'")
        lines = [words.say("help_unknown", words=unknown), "", *lines]
    return "\n".join((*lines, "", how_to_use(cycle)))


def how_to_use(cycle: Cycle) -> str:
    command = cycle.channel.offers(cycle.newest.conversation).command
    say = cycle.words.say
    return say("help_command", command=command, usage=USAGE) if command else say("help_words", usage=USAGE)


@phrase(Command.STOP)
async def tell_what_stopped(cycle: Cycle, _: Phrase) -> str:
    count = cycle.newest.params.get(STOPS, 0)
    if not count:
        return cycle.words.say("stop_nothing")
    return cycle.words.say("stop_one") if count == 1 else cycle.words.say("stop_several", count=count)


async def status_of_person(cycle: Cycle) -> str:
    """Return the soul's state, as this person may know it, and what waits for them. Raises StoreError."""
    services, newest, say = cycle.services, cycle.newest, cycle.words.say
    soul, audience = cycle.soul, cycle.readers.audience
    state = None
    if audience in cycle.readers.may_know(cycle.claim.conversation.workspace):
        state = await services.store.soul_states.known(audience, cycle.claim.conversation)
    paused = bool(await services.store.standing.paused([newest.author]))
    own = services.capabilities.own_things
    asked = tuple(one.id for one in cycle.messages)
    waiting, reminders = await own.waiting(newest.author, asked), len(await own.reminders(newest.author))
    mood = current_mood(state, services.clock.now_ms(), soul)
    return "\n".join(
        (
            say("status_head", mood=mood),
            say("status_paused" if paused else "status_remembers"),
            say("status_waiting", waiting=waiting, reminders=reminders),
        )
    )
