"""`soul mind calibration`: how well a soul foresees what comes."""

from collections.abc import Mapping
from typing import Any, Final

import click

from daemon.cli.daemons_clock import daemons_clock
from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.options import since_when
from daemon.cli.output import facts, say, say_json, table
from daemon.cli.thoughts import require_soul
from daemon.core.config import load_settings
from daemon.memory.database import Database
from daemon.memory.expectations.listing import calibration

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
