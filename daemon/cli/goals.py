"""`soul mind goals`, `predictions` and `calibration`: what a soul means to do, and what it expects."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import click

from daemon.cli.listing import Here, at, facts, lists, run_here, say, shows, table
from daemon.cli.options import (
    SHARE,
    also_as_list,
    conversation_option,
    limit_option,
    of_soul,
    since_when,
    soul_option,
    state_option,
)
from daemon.cli.words import Hidden, plain
from daemon.core.timetable import moment, when
from daemon.memory.admin.schedule_admin import AdminsGoals, NewGoal
from daemon.memory.expectations.expected import STATES as EXPECTED
from daemon.memory.expectations.expected import calibration, list_predictions
from daemon.memory.mind.goal_changes import USUAL_PRIORITY
from daemon.memory.mind.listing import STATES, Which, list_goals
from daemon.memory.records import Row

_GOAL: Final = (
    "id, soul, conversation, audience, behalf, goal, priority, state, follow_up, due_ms, created_ms, touched_ms, "
    "closed_ms, why, thought"
)


def _goal_in_words(row: Row) -> list[str]:
    why = f" ({row['why']})" if row["why"] else ""
    return [f"{row['id']}: {row['goal']}{why}"] if row["goal"] else []


@click.group("goals", invoke_without_command=True)
@conversation_option
@of_soul
@state_option("goals", STATES)
@limit_option("of the newest goals, oldest first")
@lists(
    *(_GOAL, "id state", ("PRIORITY", lambda row: f"{row['priority']:.2f}"), at("due_ms", "DUE")),
    *(at("touched_ms", "TOUCHED"), "FOR=behalf conversation"),
    nothing='There are no goals. Thoughts make them where soul.toml says `mind = "cycle"`, or `soul mind goals add`.',
    below=_goal_in_words,
    words=True,
)
async def goals_command(here: Here, *, conversation: str, soul: str, state: str | None, limit: int) -> list[Row]:
    """Show what a soul means to do, give it a goal, or close one. Times are UTC.

    Without a command it lists them. `goal` and `why` are empty without --words, for what not the whole workspace may
    know without --private, and for what was erased. `thought` is empty where an admin added it. A proposed goal has the
    id of its request, by which `soul approvals` settles it, and no time yet. One is stale that is open and was touched
    by nothing for 14 days.
    """
    which = Which(*await here.soul_and_conversation(soul, conversation), state or "", limit)
    found = await list_goals(here.database, which, here.now_ms)
    return [
        {**one, "goal": Hidden(one["words_of"], one["goal"]), "why": Hidden(one["reason_of"], one["why"])}
        for one in found
    ]


also_as_list(goals_command)


def _print_goal(made: Row) -> None:
    by = f", due at {moment(made['due_ms'])} UTC" if made["due_ms"] else ""
    say(f"{made['id']} is a goal of {made['soul']} in {made['conversation']}{by}.")


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
@shows(_GOAL, _print_goal)
async def add(here: Here, *, conversation: str, text: str, priority: float, due: str, behalf: str, why: str) -> Row:
    """Give the soul of CONVERSATION a goal there.

    CONVERSATION is an id, or any part of it that is unique. Everybody who reads there may come to know the goal.
    """
    try:
        due_ms = when(due, here.now_ms, "UTC") if due else 0
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--due") from error
    new = NewGoal(text, priority, due_ms, behalf, why)
    return await here.admin(AdminsGoals).add(await here.conversation(conversation), new)


def _closing(name: str, state: Literal["done", "abandoned"], help_: str) -> None:
    """Add a command that closes goals as `state`, all of them or none."""

    @goals_command.command(name, help=help_)
    @click.argument("names", metavar="ID...", nargs=-1, required=True)
    @soul_option
    @click.option("--why", default="", help="The reason.")
    def close(names: tuple[str, ...], soul: str, why: str) -> None:
        async def work(here: Here) -> None:
            for one in await here.admin(AdminsGoals).close(await here.soul(soul), names, state, why):
                say(f"{one['id']} of {one['soul']} is {state}.")

        run_here(work)


_closing("done", "done", "Say that goals are completed; what was expected of them comes true.")
_closing("drop", "abandoned", "Give goals up.")

_PREDICTION: Final = (
    "id, soul, conversation, audience, what, confidence, timeframe, check, made_ms, due_ms, state, scored_by, "
    "surprise, scored_ms, thought"
)


@click.command("predictions")
@conversation_option
@of_soul
@state_option("expectations", EXPECTED)
@limit_option("of the newest expectations, oldest first")
@lists(
    *(_PREDICTION, "id", at("made_ms", "MADE"), ("SURE", lambda row: f"{row['confidence']:.0%}")),
    ("CHECK", lambda row: row["check"].get("kind", "none")),
    ("UNTIL", lambda row: "replies" if row["due_ms"] is None else moment(row["due_ms"])),
    "state",
    ("SURPRISE", lambda row: "" if row["surprise"] is None else f"{row['surprise']:.2f}"),
    "conversation",
    nothing='Nothing is expected. A soul expects something whose soul.toml says `mind = "cycle"`.',
    below=lambda row: [f"{row['id']}: {row['what']}"] if row["what"] else [],
    words=True,
)
async def predictions_command(here: Here, *, conversation: str, soul: str, state: str | None, limit: int) -> list[Row]:
    """Show what a soul expects, what decides it, and what came of it. Times are UTC.

    Without `due_ms` it waits for so many replies; `scored_by` is rule or person, null if it is not scored. `what` and
    `timeframe` are empty, and `check` is its kind alone, without --words, for what not the whole workspace may know
    without --private, and for what was erased.
    """
    which = await here.soul_and_conversation(soul, conversation)
    return [
        {
            **one,
            **{name: Hidden(one["thought"], one[name]) for name in ("what", "timeframe")},
            "check": Hidden(one["thought"], one["check"], {"kind": one["check"].get("kind", "none")}),
        }
        for one in await list_predictions(here.database, *which, state or "", limit)
    ]


def _print_foresight(found: Mapping[str, Any]) -> None:
    if not found["scored"]:
        say(f"Nothing was scored yet; {found['open']} expectations are open.")
        return
    shown = {key: f"{value:.3f}" if isinstance(value, float) else value for key, value in found.items()}
    facts(shown, without=("bins", "by_check"))
    header = ("SURE", "SCORED", "CAME TRUE")
    table(header, [(f"{one['from']:.0%}-{one['to']:.0%}", str(one["n"]), str(one["hits"])) for one in found["bins"]])


@click.command("calibration")
@click.option("--since", metavar="SPAN", default="", help="Only what was scored within a span, as 6h, 2 days.")
@soul_option
@shows(
    (
        "soul, scored, hits, brier, base_rate, brier_base, skill, bins [{from, to, n, confidence, hits}], "
        "by_check {kind: {…}}, unresolved, open"
    ),
    _print_foresight,
)
async def calibration_command(here: Here, *, since: str, soul: str) -> Row:
    """Show how well a soul foresees: Brier scores (0 is perfect) with those of one who says the base rate each time.

    A skill of 1 is perfect, 0 no better than the base rate; null where nothing was scored.
    """
    since_ms, name = since_when(since, here.now_ms) if since else 0, await here.soul(soul)
    return {"soul": name, **plain(await calibration(here.database, name, since_ms))}
