"""What the soul can really do here and now for the person who is answered: by settings, scopes, tools and readers."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from daemon.core.perception import Place
from daemon.core.ports.tools import Tool
from daemon.core.sentences import Words
from daemon.core.sessions import key_of
from daemon.runtime.cycle_state import Cycle

_SHOWN: Final = 5  # names of folders, tools or people in one line
_LONGEST_NAME: Final = 48
_ODD: Final = re.compile(r"[^\w ./@-]+")
_CLAUSES: Final[Mapping[str, str]] = {
    "help_remember": "remember what they say, and recall it",
    "help_paused": "not remember (they paused it)",
    "help_files": "open files that they send",
    "help_library": "look things up in {folders}",
    "help_tools": "use {tools}",
    "help_allowed": "after a click also {tools}",
    "help_problems": "work in several steps",
    "help_contacts": "hand a question on to {names}",
    "help_reminders": "remind them, also again and again",
    "help_sessions": "say who works on what",
    "help_souls": "hand the thread to {souls}",
}
"""The abilities that the prompt names, as a clause each."""


@dataclass(frozen=True, slots=True)
class Ability:
    """One thing that it can do: its sentence in the table, and the names in it."""

    key: str
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def said(self, words: Words) -> str:
        """The sentence for people."""
        return words.say(self.key, **{fact: _listed(names, words) for fact, names in self.names.items()})


async def abilities(cycle: Cycle) -> tuple[Ability, ...]:
    """All that holds before those who read here, for the author of the newest message. Raises StoreError."""
    services, newest = cycle.services, cycle.newest
    paused = bool(await services.standing.paused([newest.author]))
    found = [Ability("help_talk"), Ability("help_paused" if paused else "help_remember")]
    if cycle.channel.offers(newest.conversation).files:
        found.append(Ability("help_files"))
    found += _of_work(cycle)
    if services.timing.most_intentions:
        found.append(Ability("help_reminders"))
    if key_of(newest.author) is None:
        found.append(Ability("help_own"))
        if services.tick_budget(cycle.soul) is not None and cycle.channel.offers(newest.conversation).unasked:
            found.append(Ability("help_unasked"))
    return (*found, *await _among_others(cycle))


def _of_work(cycle: Cycle) -> list[Ability]:
    """What it looks up and does, as its autonomous loop may do it here."""
    services = cycle.services
    soul, usable = cycle.soul, services.capabilities.before(cycle.readers)
    if (limits := services.limits(soul)) is None:
        return []
    folders = usable.library.folders if usable.library is not None else {}
    found = [Ability("help_library", {"folders": _names(folders)})] if folders else []
    found += _of_tools(usable.toolbox.known if usable.toolbox is not None else (), writes=not limits.reads_only)
    if not limits.reads_only:
        found.append(Ability("help_problems"))
        if soul.contacts:
            found.append(Ability("help_contacts", {"names": _names(one.name for one in soul.contacts)}))
    return found


async def _among_others(cycle: Cycle) -> list[Ability]:
    """What it can do with sessions and other souls, and who reads along. Raises StoreError."""
    services, readers, found = cycle.services, cycle.readers, list[Ability]()
    if readers.members_only and not readers.apart and await services.asking.living.seen():
        found.append(Ability("help_sessions"))
    if cycle.newest.place is not Place.TERMINAL and await services.notes.others():
        called = await services.notes.called()
        souls = _names(shown for one, shown in called.items() if one != cycle.soul.name)
        found.append(Ability("help_souls", {"souls": souls}))
    return found if readers.members_only else [*found, Ability("help_outsiders")]


def for_prompt(found: Iterable[Ability]) -> str:
    """The abilities as the prompt has them."""
    clauses = "; ".join(_clause(one) for one in found if one.key in _CLAUSES)
    return f"For them, here: {clauses}. Offer nothing else; *help* lists it for them."


def _clause(ability: Ability) -> str:
    return _CLAUSES[ability.key].format(**{fact: ", ".join(names[:_SHOWN]) for fact, names in ability.names.items()})


def _of_tools(known: Iterable[Tool], *, writes: bool) -> list[Ability]:
    known = tuple(known)
    reading = _names(tool.name for tool in known if not tool.writes)
    changing = _names(tool.name for tool in known if tool.writes)
    found = [Ability("help_tools", {"tools": reading})] if reading else []
    return [*found, Ability("help_allowed", {"tools": changing})] if changing and writes else found


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as they may stand in a sentence: no markup, none too long."""
    return tuple(name for one in sorted(names) if (name := _ODD.sub(" ", one).strip()[:_LONGEST_NAME]))


def _listed(names: tuple[str, ...], words: Words) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} {words.say('help_more', count=len(names) - _SHOWN)}"
