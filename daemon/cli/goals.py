"""`soul mind goals`: a soul's goals; an admin adds or closes one."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from typing import Any, Final, Literal

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    at,
    daemons_clock,
    json_of,
    os_user,
    say,
    say_json,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import SHARE, limit_option, state_option
from daemon.cli.thoughts import require_soul, soul_and_conversation
from daemon.core.config import load_settings
from daemon.core.timetable import moment, when
from daemon.memory.admin.schedule_admin import AdminsGoals, NewGoal, find_conversation
from daemon.memory.database import Database
from daemon.memory.mind.goal_changes import USUAL_PRIORITY
from daemon.memory.mind.listing import STATES, ListedGoal, Which, list_goals

_NAMES_OF_WORDS: Final = ("words_of", "reason_of")
_GOALS: Final = RowListing[ListedGoal](
    *(ListedGoal, "id", "state", ("PRIORITY", lambda one, _: f"{one.priority:.2f}"), at("due_ms", "DUE")),
    *(at("touched_ms", "TOUCHED"), ("FOR", "behalf"), "conversation"),
    without=_NAMES_OF_WORDS,
    nothing='There are no goals. Thoughts make them where soul.toml says `mind = "cycle"`, or `soul mind goals add`.',
)


@dataclass(frozen=True, slots=True)
class _Look:
    """The options of a list."""

    conversation: str
    soul: str
    state: str | None
    limit: int
    wanted: WordsWanted
    as_json: bool


def _look_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `soul mind goals` and `soul mind goals list`. The command gets a `_Look`."""

    @wraps(function)
    def with_look(*given: object, **asked: Any) -> object:  # noqa: ANN401 - options of click
        return function(*given, _Look(**asked))

    command: Callable[..., Any] = with_look
    for option in (
        _GOALS.option,
        words_options,
        limit_option("of the newest goals, oldest first"),
        state_option("goals", STATES),
        click.option(
            "--soul", "soul", default="", help="Of which soul; default: the conversation's, else the one of SOUL_NAME."
        ),
        click.option(
            "--conversation", default="", metavar="C", help="Only of this one: its id, or a unique part of it."
        ),
    ):
        command = option(command)
    return command


@click.group("goals", invoke_without_command=True)
@_look_options
@click.pass_context
def goals_command(context: click.Context, /, look: _Look) -> None:
    """Show what a soul means to do, give it a goal, or close one. Times are UTC.

    Without a command it lists them. `goal` and `why` are empty without --words, for what not the whole workspace may
    know without --private, and for what was erased. `thought` is empty where an admin added it. A proposed goal has the
    id of its request, by which `soul approvals` settles it, and no time yet.
    """
    if context.invoked_subcommand is None:
        _list(look)


@goals_command.command("list")
@_look_options
def list_(look: _Look) -> None:
    """List the goals of a soul. One is stale that is open and was touched by nothing for 14 days.

    A goal that a thought would add is proposed while its request waits for an admin.
    """
    _list(look)


def _list(look: _Look) -> None:
    settings = load_settings()
    now = daemons_clock(settings).now_ms()

    async def read(database: Database) -> None:
        soul, where = await soul_and_conversation(settings, database, look.soul, look.conversation)
        which = Which(soul, where, look.state or "", look.limit)
        found = await list_goals(database, which, now)
        shown = await _words(database, look.wanted, found)
        if _GOALS.show(found, as_json=look.as_json, plain=lambda one: _plain(one, shown)) and found:
            _say_words(found, shown)

    with_database(settings, read)


@goals_command.command("add")
@click.argument("conversation", metavar="CONVERSATION")
@click.argument("text", metavar="GOAL")
@click.option("--priority", type=SHARE, default=USUAL_PRIORITY, show_default=True, help="From 0 to 1.")
@click.option("--due", default="", metavar="TIME", help="When it falls due: 20m, 3 days, 17:30 (UTC) or an ISO time.")
@click.option(
    "--on-behalf",
    "behalf",
    default="",
    metavar="USER",
    help="For whom it is: a Slack user id, such as U0123ABC; default: no one.",
)
@click.option("--why", default="", help="The reason, which the soul reads.")
@json_of(ListedGoal, _NAMES_OF_WORDS)
def add(*, conversation: str, text: str, priority: float, due: str, behalf: str, why: str, as_json: bool) -> None:
    """Give the soul of CONVERSATION a goal there.

    CONVERSATION is an id, or any part of it that is unique. Everybody who reads there may come to know the goal.
    """
    settings = load_settings()
    clock = daemons_clock(settings)
    due_ms = _due(due, clock.now_ms())

    async def work(database: Database) -> ListedGoal:
        where = await database.read(lambda transaction: find_conversation(transaction, conversation))
        new = NewGoal(text, priority, due_ms, behalf, why)
        return await AdminsGoals(database, clock, os_user()).add(where, new)

    made = with_database(settings, work)
    if as_json:
        names = frozenset({made.words_of, made.reason_of})
        say_json(_plain(made, WordsShown(names, private=0, other=0)))
        return
    by = f", due at {moment(made.due_ms)} UTC" if made.due_ms else ""
    say(f"{made.id} is a goal of {made.soul} in {made.conversation}{by}.")


def _closing(name: str, state: Literal["done", "abandoned"], help_: str) -> click.Command:
    """Make a command that closes goals as `state`."""

    @click.argument("names", metavar="ID...", nargs=-1, required=True)
    @click.option("--soul", "soul", default="", help="Of which soul; default: the one of SOUL_NAME.")
    @click.option("--why", default="", help="The reason.")
    def close(names: tuple[str, ...], soul: str, why: str) -> None:
        settings = load_settings()
        clock = daemons_clock(settings)

        async def work(database: Database) -> None:
            await require_soul(settings, database, soul)
            closed = await AdminsGoals(database, clock, os_user()).close(soul or settings.name, names, state, why)
            for one in closed:
                say(f"{one.id} of {one.soul} is {state}.")

        with_database(settings, work)

    return click.command(name, help=help_)(close)


goals_command.add_command(
    _closing("done", "done", "Say that goals are completed; what was expected of them comes true.")
)
goals_command.add_command(_closing("drop", "abandoned", "Give goals up."))


def _due(text: str, now_ms: int) -> int:
    """Return a time in ms, UTC; 0 without one. Raises click.UsageError."""
    if not text:
        return 0
    try:
        return when(text, now_ms, "UTC")
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--due") from error


async def _words(database: Database, wanted: WordsWanted, found: Sequence[ListedGoal]) -> WordsShown:
    """Record and return the words of these goals that may be printed."""
    names = [name for one in found for name in (one.words_of, *([one.reason_of] if one.why else []))]
    return await words_of(database, wanted, "mind goals", names)


def _plain(one: ListedGoal, shown: WordsShown) -> dict[str, object]:
    values = asdict(one)
    for name in _NAMES_OF_WORDS:
        values.pop(name)
    return {**values, "goal": shown.of(one.words_of, one.goal), "why": shown.of(one.reason_of, one.why)}


def _say_words(found: Sequence[ListedGoal], shown: WordsShown) -> None:
    for one in found:
        if text := shown.of(one.words_of, one.goal):
            why = shown.of(one.reason_of, one.why)
            say(f"{one.id}: {text}{f' ({why})' if why else ''}")
    shown.say_what_is_missing()
