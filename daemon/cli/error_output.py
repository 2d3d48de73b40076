"""Prints a command's failure: what happened, what to do, and an exit code; a traceback only on request."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

import click

from daemon.core.errors import DaemonError
from daemon.core.systemd import exit_code

_INTERRUPTED = 130  # 128 + SIGINT, as shells count


@contextmanager
def plain_errors(*, tracebacks: bool) -> Iterator[None]:
    """Print the body's error as two lines on stderr and exit with its code; Ctrl-C and a closed pipe print nothing."""
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
    """The exceptions in a group, however deep, or the exception itself."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _in_words(error: BaseException) -> list[str]:
    """What happened and what to do; other libraries' errors by type and place only, since they may quote users."""
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
