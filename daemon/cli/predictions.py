"""`soul mind predictions`: what a soul expects, and what came of it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, at
from daemon.cli.options import limit_option, state_option
from daemon.cli.output import say
from daemon.cli.thoughts import soul_and_conversation
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.config import load_settings
from daemon.core.timetable import moment
from daemon.memory.database import Database
from daemon.memory.expectations.listing import STATES, ListedPrediction, list_predictions

_WORDS: Final = ("what", "timeframe")
_EXPECTED: Final = RowListing[ListedPrediction](
    ListedPrediction,
    "id",
    at("made_ms", "MADE"),
    ("SURE", lambda one, _: f"{one.confidence:.0%}"),
    ("CHECK", lambda one, _: one.check.get("kind", "none")),
    ("UNTIL", lambda one, _: "replies" if one.due_ms is None else moment(one.due_ms)),
    "state",
    ("SURPRISE", lambda one, _: "" if one.surprise is None else f"{one.surprise:.2f}"),
    "conversation",
    nothing='Nothing is expected. A soul expects something whose soul.toml says `mind = "cycle"`.',
)


@click.command("predictions")
@click.option("--conversation", default="", metavar="C", help="Only of this one: its id, or any unique part of it.")
@click.option(
    "--soul", "soul", default="", help="Of which soul; default: the conversation's, else the one of SOUL_NAME."
)
@state_option("expectations", STATES)
@limit_option("of the newest expectations, oldest first")
@words_options
@_EXPECTED.option
def predictions_command(
    *, conversation: str, soul: str, state: str | None, limit: int, wanted: WordsWanted, as_json: bool
) -> None:
    """Show what a soul expects, what decides it, and what came of it. Times are UTC.

    Without `due_ms` it waits for so many replies; `scored_by` is rule or person, null if it is not scored. `what` and
    `timeframe` are empty, and `check` is its kind alone, without --words, for what not the whole workspace may know
    without --private, and for what was erased.
    """
    settings = load_settings()

    async def look(database: Database) -> None:
        of, where = await soul_and_conversation(settings, database, soul, conversation)
        found = await list_predictions(database, of, where, state or "", limit)
        shown = await words_of(database, wanted, "mind predictions", [one.thought for one in found])
        if _EXPECTED.show(found, as_json=as_json, plain=lambda one: plain(one, shown)) and found:
            for one in found:
                if text := shown.of(one.thought, one.what):
                    say(f"{one.id}: {text}")
            shown.say_what_is_missing()

    with_database(settings, look)


def plain(one: ListedPrediction, shown: WordsShown) -> Mapping[str, object]:
    """An expectation as JSON values; the words as far as they may be shown with those of its thought."""
    values = asdict(one)
    if one.thought in shown.ids:
        return values
    return {**values, **dict.fromkeys(_WORDS, ""), "check": {"kind": one.check.get("kind", "none")}}
