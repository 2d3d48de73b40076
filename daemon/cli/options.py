"""Options that several commands share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def limit_option(what: str, default: int = 20) -> Callable[[Function], Function]:
    """`--limit`, the number of rows; `what` names them and their order."""
    return click.option(
        "--limit", type=click.IntRange(1, 10_000), default=default, show_default=True, help=f"How many {what}."
    )


def state_option(what: str, states: Sequence[str], default: str | None = None) -> Callable[[Function], Function]:
    """`--state`, the only state to list; `what` names the rows."""
    return click.option(
        "--state",
        type=click.Choice(states),
        default=default,
        show_default=default is not None,
        help=f"Only {what} in this state.",
    )
