"""`--words` and `--private`: words of people are shown only to an admin who asks, which is recorded and told to them.

Before anything is printed, the audit says who looked at whose words by which command; the soul then tells each of these
people by direct message, once a day at most (`daemon/runtime/people/telling.py`).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import click

from daemon.cli.database_access import os_user
from daemon.cli.output import say
from daemon.core.clock import SystemClock
from daemon.memory.database import Database
from daemon.memory.people.readings import record_readings, worded


@dataclass(frozen=True, slots=True)
class WordsWanted:
    """Whether words are asked for, and those that were not said to the whole workspace, too."""

    words: bool
    private: bool


@dataclass(frozen=True, slots=True)
class WordsShown:
    """What may be printed: the ids whose words were asked for and recorded, and how many other texts there are."""

    ids: frozenset[str]
    private: int
    other: int

    def of(self, name: str, text: str) -> str:
        """The text of an id, or an empty one where it may not be shown."""
        return text if name in self.ids else ""

    def say_what_is_missing(self) -> None:
        """Print what was left out, and which option shows it."""
        if self.other:
            say(f"{_texts(self.other)} not shown: add --words, which is recorded and told to the people.")
        if self.private:
            say(f"{_texts(self.private)} not shown, said in private: add --words --private.")


def words_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--words` and `--private`, which the command gets as `wanted`, a `WordsWanted`."""

    @wraps(function)
    def command(*, words: bool, private: bool, **given: object) -> object:
        if private and not words:
            raise click.UsageError("--private shows more of the words: give --words, too")
        return function(wanted=WordsWanted(words, private), **given)

    words = click.option("--words", is_flag=True, help="Show words, too; that is recorded, and the people learn of it.")
    private = click.option(
        "--private", is_flag=True, help="With --words: those of direct messages and private rooms, too."
    )
    return words(private(command))


async def words_of(database: Database, wanted: WordsWanted, command: str, ids: Collection[str]) -> WordsShown:
    """Record that a command shows the words of these turns, records and passages, and give those that it may show.

    To be called once, with the id of each text, one that several texts have as often; `command` is its name, as
    `memory why`. Raises StoreError.
    """
    found = await database.read(partial(worded, ids=tuple(ids)))
    kept = [one for one in found if wanted.words and (wanted.private or not one.private)]
    if kept:
        actor, now = os_user(), SystemClock().now_ms()
        await database.write(partial(record_readings, shown=kept, actor=actor, command=command, now=now))
    left = {one.id: one for one in found if one not in kept}
    hidden = [left[name].private for name in ids if name in left]
    return WordsShown(frozenset(one.id for one in kept), _count(hidden), len(hidden) - _count(hidden))


def _texts(number: int) -> str:
    return "1 text is" if number == 1 else f"{number} texts are"


def _count(values: Iterable[bool]) -> int:
    return sum(values)
