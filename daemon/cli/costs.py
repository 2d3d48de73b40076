"""`soul costs`: what model calls have cost, by day, model, step, room or person."""

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.output import say, say_json, table
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.memory.spending.costs import BY, CostSum, sums_of_costs

_DAY_MS = 24 * 3600 * 1000


@click.command("costs")
@click.option("--by", type=click.Choice(tuple(BY)), default="day", show_default=True, help="What costs are summed by.")
@click.option("--days", type=click.IntRange(1, 10_000), default=30, show_default=True, help="How many days back.")
@json_of(CostSum)
def costs_command(by: str, days: int, as_json: bool) -> None:
    """Show what model calls have cost, in US dollars.

    A figure marked with ≤ holds calls that count with the most that they can have cost: their price is not known, or
    their daemon died. Rooms and people are known for SOUL_CALL_DAYS days; then only sums of a day are kept. An empty
    key is work for no person, or in no room.
    """
    since = SystemClock().now_ms() - days * _DAY_MS
    found = with_database(load_settings(), lambda database: sums_of_costs(database, by, since))
    if as_json:
        say_json(found)
    elif not found:
        say(f"No model was called in the last {days} days.")
    else:
        heads = (by.upper(), "COST", "CALLS", "FAILED", "TOKENS IN", "CACHED", "OUT")
        table(heads, [(_key(one), _cost(one), *_counts(one)) for one in found])
        total = sum(one.cost_usd for one in found)
        bound = "at most " if any(one.unpriced for one in found) else ""
        say(f"{bound}${total:.4f} in all")


def _key(one: CostSum) -> str:
    return f"{one.key} ({one.name})" if one.name else one.key or "-"


def _cost(one: CostSum) -> str:
    return f"{'≤' if one.unpriced else ''}${one.cost_usd:.4f}"


def _counts(one: CostSum) -> tuple[str, ...]:
    return tuple(map(str, (one.calls, one.failed, one.tokens_in, one.tokens_cached, one.tokens_out)))
