"""`soul mind predictions` and `calibration`: a soul's expectations, their outcomes and scores."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    at,
    daemons_clock,
    facts,
    json_of,
    say,
    say_json,
    table,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import limit_option, since_when, state_option
from daemon.cli.thoughts import require_soul, soul_and_conversation
from daemon.core.config import load_settings
from daemon.core.timetable import moment
from daemon.memory.database import Database
from daemon.memory.expectations.expected import STATES, ListedPrediction, calibration, list_predictions

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
    """Return an expectation as JSON values, with words only if those of its thought may be shown."""
    values = asdict(one)
    if one.thought in shown.ids:
        return values
    return {**values, **dict.fromkeys(_WORDS, ""), "check": {"kind": one.check.get("kind", "none")}}


_KEYS: Final = (
    *("soul", "scored", "hits", "brier", "base_rate", "brier_base", "skill"),
    *("bins [{from, to, n, confidence, hits}]", "by_check {kind: {…}}", "unresolved", "open"),
)


@click.command("calibration")
@click.option("--since", metavar="SPAN", default="", help="Only what was scored within a span, as 6h, 2 days.")
@click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
@json_of(_KEYS)
def calibration_command(*, since: str, soul: str, as_json: bool) -> None:
    """Show how well a soul foresees: Brier scores (0 is perfect) beside those of one who says the base rate each time.

    A skill of 1 is perfect, 0 no better than the base rate; null where nothing was scored.
    """
    settings = load_settings()
    since_ms = since_when(since, daemons_clock(settings).now_ms()) if since else 0

    async def look(database: Database) -> Mapping[str, Any]:
        await require_soul(settings, database, soul)
        return await calibration(database, soul or settings.name, since_ms)

    found = {"soul": soul or settings.name, **with_database(settings, look)}
    if as_json:
        say_json(found)
        return
    if not found["scored"]:
        say(f"Nothing was scored yet; {found['open']} expectations are open.")
        return
    facts({key: _shown(found[key]) for key in found if key not in ("bins", "by_check")})
    header = ("SURE", "SCORED", "CAME TRUE")
    table(header, [(f"{one['from']:.0%}-{one['to']:.0%}", str(one["n"]), str(one["hits"])) for one in found["bins"]])


def _shown(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value
