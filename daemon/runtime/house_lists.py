"""The house's true list below the soul's own answer to *what are your goals?* and *what are you expecting?*"""

from collections.abc import Iterator, Sequence
from typing import Final

from daemon.core.house_lists import HouseList, list_asked
from daemon.core.perception import Modality
from daemon.core.reminder_words import time_in
from daemon.core.sentences import Words
from daemon.core.text import one_line, shortened
from daemon.mind.motor import Motor
from daemon.runtime.cycle_state import Cycle

_SHOWN: Final = 12
_LONGEST: Final = 200  # characters of words


def list_below(cycle: Cycle, motor: Motor) -> None:
    """Show the list below a reply that a person asked for: what those who read it may know, as it was when they asked.

    A soul that answers in words and holds nothing of the kind has no list.
    """
    newest = cycle.newest
    if newest.modality is not Modality.WORDS or not motor.reply or (what := list_asked(newest.content)) is None:
        return
    lines = list(_goals(cycle) if what is HouseList.GOALS else _expected(cycle))
    if lines or cycle.soul.mind == "cycle":
        motor.show_below(_listed(lines, what, motor.words))


def _listed(lines: Sequence[str], what: HouseList, words: Words) -> str:
    if not lines:
        return words.say(f"{what}_none")
    more = [words.say("help_more", count=len(lines) - _SHOWN)] if len(lines) > _SHOWN else []
    return "\n".join((words.say(f"{what}_head"), *(f"- {line}" for line in lines[:_SHOWN]), *more))


def _goals(cycle: Cycle) -> Iterator[str]:
    for one in cycle.at_hand.goals:
        due = f", {_time(cycle, one.due_ms)}" if one.due_ms else ""
        yield f"{one.id}: {_plain(one.goal)}{due}"


def _expected(cycle: Cycle) -> Iterator[str]:
    for one in cycle.at_hand.expected.open:
        until = f", {_time(cycle, one.due_ms)}" if one.exchanges is None else ""
        yield f"{one.id}: {_plain(one.what)} ({one.confidence:.0%}){until}"


def _time(cycle: Cycle, ms: int) -> str:
    """A time on the clock of the person who asks."""
    return time_in(ms, cycle.newest.zone)


def _plain(text: str) -> str:
    return shortened(one_line(text), _LONGEST)
