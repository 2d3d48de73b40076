"""Options and error handling that several commands share."""

import math
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, Generic, Self, TypeVar

import click

from daemon.core.contexts import ContextRefused
from daemon.core.errors import DaemonError
from daemon.core.perception import Audience
from daemon.core.ports.services import SystemClock
from daemon.core.systemd import exit_code
from daemon.core.timetable import span_ms

Function = TypeVar("Function", bound=Callable[..., Any])
Name = TypeVar("Name", str, int)

_MOST_AT_ONCE = 10_000


class _Share(click.FloatRange):
    """A number from 0 to 1: click lets `nan` into every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


SHARE: Final = _Share(0, 1)
"""The type of an option that is a number from 0 to 1."""


def limit_option(what: str, default: int = 20) -> Callable[[Function], Function]:
    """Add `--limit`, the number of rows. `what` names them and their order."""
    return click.option(
        "--limit", type=click.IntRange(1, 10_000), default=default, show_default=True, help=f"How many {what}."
    )


def state_option(what: str, states: Sequence[str], default: str | None = None) -> Callable[[Function], Function]:
    """Add `--state`, the only state to list. `what` names the rows."""
    return click.option(
        "--state",
        type=click.Choice(states),
        default=default,
        show_default=default is not None,
        help=f"Only {what} in this state.",
    )


def audience_in(text: str) -> Audience:
    """Return the audience of an option, such as `workspace:T123`. Raises ContextRefused."""
    try:
        return Audience.parse(text)
    except ValueError as error:
        raise ContextRefused(
            f"{text[:80]} is no audience", hint="e.g. workspace:T123, channel:C123 or dm:D123"
        ) from error


def since_when(span: str, now_ms: int) -> int:
    """Return the moment (ms, UTC) of `--since`, 0 at least. Raises click.BadParameter."""
    try:
        return max(0, now_ms - span_ms(span))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--since") from error


def many_options(states: Sequence[str]) -> Callable[[Function], Function]:
    """Add `--state` and `--since`, which choose many rows at once instead of naming them."""

    def both(function: Function) -> Function:
        since = click.option("--since", metavar="SPAN", help="With --state: settled within a span, as 90m, 6h, 2 days.")
        state = click.option("--state", type=click.Choice(states), help="All rows in this state; needs --since.")
        return state(since(function))

    return both


@dataclass(frozen=True, slots=True)
class Selection(Generic[Name]):
    """The chosen rows: by name, or (no names) those of a state settled since a time in ms."""

    names: tuple[Name, ...]
    state: str | None = None
    since_ms: int = 0

    @classmethod
    def of(cls, names: tuple[Name, ...], state: str | None, since: str | None) -> Self:
        """Read the choice of the command line. Raises click.UsageError unless it is names, or a state and a span."""
        if bool(names) == (state is not None) or (state is None) != (since is None):
            raise click.UsageError("give the rows to retry, or both --state and --since SPAN")
        if since is None:
            return cls(names)
        return cls((), state, since_when(since, SystemClock().now_ms()))

    @property
    def query(self) -> tuple[str | None, int, int]:
        return self.state, _MOST_AT_ONCE, self.since_ms


_INTERRUPTED = 130  # 128 + SIGINT, as shells count


@contextmanager
def plain_errors(*, tracebacks: bool) -> Iterator[None]:
    """Print the body's error as two lines on stderr and exit with its code. Ctrl-C and a closed pipe print nothing."""
    try:
        yield
    except (click.ClickException, click.Abort, click.exceptions.Exit):
        raise
    except KeyboardInterrupt:
        raise click.exceptions.Exit(_INTERRUPTED) from None
    except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  # the outermost handler: the admin gets a sentence
        leaves = _leaves(error)
        if any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves):
            raise click.exceptions.Exit(_INTERRUPTED) from None
        if all(isinstance(leaf, BrokenPipeError) for leaf in leaves):
            raise leaves[0] from None
        if tracebacks or _debug_is_set():
            traceback.print_exception(error)
        code = exit_code(error)
        for line in _in_words(next(leaf for leaf in leaves if exit_code(leaf) is code)):
            click.echo(line, err=True)
        raise click.exceptions.Exit(code) from None


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _in_words(error: BaseException) -> list[str]:
    """Return what happened and what to do. Other libraries' errors show type and place only: they may quote users."""
    from daemon.channels.terminal import printable

    if isinstance(error, DaemonError):
        return [printable(line) for line in (error.message, error.hint) if line]
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return [f"unexpected error: {type(error).__name__}{place}", "run `soul --debug …` to see the traceback"]


def _debug_is_set() -> bool:
    from daemon.core.config import load_settings

    try:
        return load_settings().debug
    except DaemonError:
        return False
