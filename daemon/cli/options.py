"""Options and error handling that several commands share."""

import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from daemon.core.contexts import ContextRefused
from daemon.core.errors import DaemonError, SoulError
from daemon.core.perception import Audience
from daemon.core.ports.services import SystemClock
from daemon.core.systemd import exit_code
from daemon.core.timetable import span_ms

if TYPE_CHECKING:
    from daemon.core.config import Settings
    from daemon.soul import Soul

Function = TypeVar("Function", bound=Callable[..., Any])
MOST_AT_ONCE: Final = 10_000
"""The most rows that a command changes at once."""


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


def chosen_rows(names: Sequence[object], state: str | None, since: str | None) -> tuple[str, int] | None:
    """Return the state and the time (ms) of the chosen rows, None if they are named.

    Raises click.UsageError unless it is names, or a state and a span.
    """
    if bool(names) == (state is not None) or (state is None) != (since is None):
        raise click.UsageError("give the rows to retry, or both --state and --since SPAN")
    return (state, since_when(since, SystemClock().now_ms())) if state is not None and since is not None else None


def words_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add `--words` and `--private`."""

    @wraps(function)
    def command(*, words: bool, private: bool, **given: object) -> None:
        if private and not words:
            raise click.UsageError("--private shows more of the words: give --words, too")
        function(words=words, private=private, **given)

    shown = click.option("--words", is_flag=True, help="Show words, too; that is recorded, and the people learn of it.")
    hidden = click.option(
        "--private", is_flag=True, help="With --words: those of direct messages and private rooms, too."
    )
    return shown(hidden(command))


soul_option = click.option("--soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
of_soul = click.option(
    "--soul", default="", help="Of which soul; default: the conversation's, else the one of SOUL_NAME."
)
conversation_option = click.option(
    "--conversation", default="", metavar="C", help="Only of this one: its id, or any unique part of it."
)


def readable_souls(settings: "Settings", names: Iterable[str] = ()) -> "dict[str, Soul]":
    """Return these souls, by default the configured ones, by name. Those whose files are faulty are left out."""
    from daemon.soul import find_souls_directory, load_soul  # slow to import

    found: dict[str, Soul] = {}
    for name in names or (settings.name, *settings.souls):
        with suppress(SoulError):
            found[name] = load_soul(find_souls_directory(settings.souls_dir, settings.home, name), name)
    return found


def souls_that_nod(settings: "Settings") -> tuple[str, ...]:
    """Return the display names of the configured souls that may nod."""
    found = readable_souls(settings).values()
    return tuple(one.display_name for one in found if one.mind == "cycle" and one.presence.nod)


def also_as_list(group: click.Group) -> None:
    """Add what a group prints without a command as its command `list`."""
    group.add_command(click.Command("list", params=group.params, callback=group.callback, help=group.help))


def until_interrupted(function: Callable[..., None]) -> Callable[..., None]:
    """Let Ctrl-C end a command that goes on for good, with exit code 0."""

    @wraps(function)
    def command(**given: object) -> None:
        with suppress(KeyboardInterrupt):
            function(**given)

    return command


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
