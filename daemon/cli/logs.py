"""`soul logs`: the log of the installed service, of one reply or of one person."""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

import click

from daemon.cli.installing import LogEntry, journal_of, service_here
from daemon.cli.listing import say, with_database
from daemon.cli.options import limit_option, since_when
from daemon.core.config import Settings, load_settings
from daemon.core.errors import ConfigError, StoreError
from daemon.core.ports.services import SystemClock
from daemon.core.telemetry.redaction import Redactor
from daemon.memory.admin.remembered import WorkForPerson, people_named, work_for

_SHORTEST_TRACE = 6
_ID = ("person", "author", "actor", "recipient", "by", "user")

Wanted = Callable[[LogEntry], bool]


@click.command("logs")
@click.option("--trace", metavar="T", default="", help="Only lines of one reply: the reference in an apology.")
@click.option("--person", metavar="WHO", default="", help="Only lines of conversations in which this id or name spoke.")
@click.option("--since", metavar="SPAN", default="1 day", show_default=True, help="From how long ago, as 90m, 6h.")
@limit_option("of the newest lines", 200)
@click.option("-f", "--follow", is_flag=True, help="Go on with new lines until Ctrl-C.")
def logs_command(trace: str, person: str, since: str, limit: int, follow: bool) -> None:
    """Print the log of the installed service, from systemd's journal.

    Outside systemd the log goes to standard error: the terminal, or the log of the container. Secrets are removed.
    """
    since_ms = since_when(since, SystemClock().now_ms())
    if trace and len(trace) < _SHORTEST_TRACE:
        raise click.BadParameter(f"give at least {_SHORTEST_TRACE} letters of it", param_hint="--trace")
    unit = service_here()
    if unit is None:
        raise ConfigError(
            "no service is installed here: the daemon writes its log to the standard error of what started it",
            hint="look at that terminal, or at the log of the container (docker logs soul)",
        )
    # The journal is opened first: reading the settings as root takes over the service's account.
    with journal_of(unit, since_ms, follow=follow) as entries:
        settings = load_settings()
        found = filter(_wanted(settings, trace, person, since_ms), entries)
        _print(found if follow else deque(found, maxlen=limit), Redactor(settings.secrets))


def _print(entries: Iterable[LogEntry], redact: Redactor) -> None:
    for entry in entries:
        say(redact(str(entry)))


def _wanted(settings: Settings, trace: str, person: str, since_ms: int) -> Wanted:
    """Return the filter for the requested lines. Raises StoreError for an unknown person, and for an ambiguous name."""
    tests = list[Wanted]()
    if trace:
        tests.append(lambda entry: entry.fields.get("trace", "").startswith(trace))
    if person:
        named = with_database(settings, lambda database: people_named(database, person))
        if len(named) != 1:
            told = (
                f"{', '.join(named)} are called {person}" if named else f"no message came from anyone called {person}"
            )
            raise StoreError(told, hint="give the id; see `soul memory people list`")
        work = with_database(settings, lambda database: work_for(database, named[0], since_ms))
        tests.append(partial(_is_of, named[0], work))
    return lambda entry: all(test(entry) for test in tests)


def _is_of(person: str, work: WorkForPerson, entry: LogEntry) -> bool:
    fields = entry.fields
    return (
        any(fields.get(name) == person for name in _ID)
        or fields.get("trace", "") in work.traces
        or fields.get("conversation", "") in work.conversations
    )
