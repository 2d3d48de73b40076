"""`soul status` and `soul costs`: running daemons, waiting work, today's costs."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, get_args

import click

from daemon.app.assembly import caps_of, tick_budget_of
from daemon.cli.checks import souls_of
from daemon.cli.listing import Here, TextTable, age, facts, names_of, say, shows
from daemon.cli.words import plain
from daemon.core.errors import SoulError
from daemon.core.ports.services import SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.spending import day_at
from daemon.core.tempo import Skipped, sentence_of
from daemon.memory.admin.overview import Overview, sqlite_build, survey
from daemon.memory.admin.tool_admin import recorded_tools
from daemon.memory.mind.present import mind_summary
from daemon.memory.records import Row
from daemon.memory.spending.costs import BY, CostSum, sums_of_costs
from daemon.memory.spending.reservations import spent_today, tick_use
from daemon.soul import Soul

_DAY_MS: Final = 24 * 3600 * 1000
_MIND: Final = (
    "soul, mode, enabled, tempo, last_thought_ms, thoughts_today, "
    "skipped {budget, quiet, not_invited, words, breaker}, tokens_hour, tokens_day, budget_hour, budget_day, "
    "goals_open, predictions_open, dropped_percepts, calibration {scored, brier, skill}"
)
_KEYS: Final = (
    *("database", "now_ms", "sqlite", "schema", "journal"),
    "daemons [{soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state, detail, gone, silent}]",
    *("inbox {state: count}", "outbox {state: count}", "jobs {state: count}"),
    *("oldest_inbox_ms", "oldest_outbox_ms", "oldest_job_ms"),
    "catch_up [{soul, workspace, up_to, rooms, rooms_read, threads, threads_read}]",
    *("dead_intentions", "spent {calls, failed, tokens_in, tokens_cached, tokens_out, cost_usd, unpriced}"),
    "weak_models [{model, recent, split_until_ms, split_for_ms, hold_back}]",
    *("faulty_files [{path, fault, searched}]", "changed_tools [name]"),
    "unhosted [{soul, workspace, messages, notes, posts, jobs, oldest_ms}]",
    *("alarms [{name, since_ms, seen_ms, posts}]", "in_words [{soul, workspace, until_ms}]"),
    *("caps [{soul, cap_usd, spent_usd, reserved_usd, left_usd}]", "cap_person_usd", "cap_room_usd"),
    f"mind [{{{_MIND}}}]",
)


def _print_status(found: Row) -> None:
    now = found["now_ms"]
    for one in found["daemons"]:
        say(_daemon(one, now))
    if not found["works"]:
        say(f"No daemon is running; `{settings_place().start}` starts one.")
    changed, unread = found["changed_tools"], [one["path"] for one in found["faulty_files"] if not one["searched"]]
    lost = ", ".join(f"{one['soul']} in {one['workspace']}" for one in found["unhosted"])
    facts(
        {
            "inbox": _queue(found["inbox"], found["oldest_inbox_ms"], now),
            "outbox": _queue(found["outbox"], found["oldest_outbox_ms"], now),
            "jobs": _queue(found["jobs"], found["oldest_job_ms"], now),
            **{f"catch-up of {one['soul']}": _catch_up(one) for one in found["catch_up"]},
            "parked": ", ".join(_parked(found)),
            "unhosted": f"{lost}: no running daemon answers what waits for them; see soul doctor" if lost else "",
            "alarms": "; ".join(
                f"for {age(now, one['since_ms'])}: {sentence_of(one['name'])}" for one in found["alarms"]
            ),
            "today": _spending(found["spent"]),
            **{f"cap of {one['soul']}": _left(one) for one in found["caps"] if one["cap_usd"] is not None},
            "models": "; ".join(found["weaknesses"]),
            **{f"thoughts of {one['soul']}": _mind(one, now) for one in found["mind"] if one["last_thought_ms"]},
            **found["minds_in_words"],
            "tools": f"{', '.join(changed)} changed; see soul tools list" if changed else "",
            "library": f"not read: {', '.join(unread)}; see soul doctor" if unread else "",
            "store": f"{found['database']} (schema {found['schema']}, journal {found['journal']}, "
            f"SQLite {found['sqlite']})",
        }
    )


@click.command("status")
@click.option("--healthy", is_flag=True, help="Only say whether a daemon works: exit code 1 when none does.")
@shows(_KEYS, _print_status)
async def status_command(here: Here, healthy: bool) -> Row:
    """Show running daemons, waiting work and today's costs (UTC).

    `unhosted` are souls that no running daemon hosts, `alarms` what is wrong now, `in_words` souls that can't think
    whole thoughts for now. `caps` are those of today; one that is null is no cap. `tempo` is engaged, waiting, idle or
    asleep; `last_thought_ms` is null before the first thought.
    """
    settings, database, now = here.settings, here.database, here.now_ms
    seen = await survey(database, now, now - now % _DAY_MS)
    works = any(one.alive for one in seen.daemons)
    if healthy:
        say("A daemon works." if works else "No daemon works here.")
        raise click.exceptions.Exit(0 if works else 1)
    try:
        souls = souls_of(settings)
    except SoulError:  # `soul doctor` says what is wrong with their files
        souls = ()
    day = day_at(now, settings.cap_zone).date
    return {
        **{name: plain(getattr(seen, name)) for name in names_of(Overview)},
        "database": str(settings.database_path.absolute()),
        "now_ms": now,
        "sqlite": sqlite_build().version,
        "changed_tools": [one["name"] for one in await recorded_tools(database) if one["changed_ms"] is not None],
        "caps": [await _cap(here, soul, day) for soul in souls],
        "cap_person_usd": settings.max_usd_a_day_person,
        "cap_room_usd": settings.max_usd_a_day_room,
        "mind": [await _mind_of(here, soul, day) for soul in souls],
        "works": works,
        "weaknesses": [one.weakness(now) for one in seen.weak_models],
        "minds_in_words": {f"mind of {one.soul}": one.in_words(now) for one in seen.in_words},
    }


async def _cap(here: Here, soul: Soul, day: str) -> Row:
    """Return the cap of a soul and its spending. `reserved_usd` is the possible cost of calls in progress."""
    cap, spent = caps_of(here.settings, soul).soul, await spent_today(here.database, soul.name, day)
    left = None if cap is None else spent.left_of(cap)
    spent_usd = {"spent_usd": spent.usd, "reserved_usd": spent.reserved_usd}
    return {"soul": soul.name, "cap_usd": cap, **spent_usd, "left_usd": left}


async def _mind_of(here: Here, soul: Soul, day: str) -> Row:
    """Return the state of one mind, with its thoughts of the day. A mind that doesn't think unasked is asleep."""
    now, budget = here.now_ms, tick_budget_of(here.settings, soul)
    found = await here.database.read(lambda unit: mind_summary(unit, soul.name, now, now - now % _DAY_MS))
    used = await here.database.read(lambda unit: tick_use(unit, soul.name, day, now))
    awake = "engaged" if found.works else "waiting" if found.ticks_wait else "idle"
    return {
        "soul": soul.name,
        "mode": soul.mind,
        "enabled": budget is not None,
        "tempo": awake if budget else "asleep",
        **{name: getattr(found, name) for name in ("last_thought_ms", "thoughts_today")},
        "skipped": {why: found.skipped.get(why, 0) for why in get_args(Skipped)},
        "tokens_hour": used.tokens_hour,
        "tokens_day": used.tokens_day,
        "budget_hour": budget.tokens_hour if budget else 0,
        "budget_day": budget.tokens_day if budget else 0,
        **{name: getattr(found, name) for name in ("goals_open", "predictions_open", "dropped_percepts")},
        "calibration": {name: found.foresight.figures[name] for name in ("scored", "brier", "skill")},
    }


def _mind(one: Row, now: int) -> str:
    held = f"open goals: {one['goals_open']}, open expectations: {one['predictions_open']}"
    return f"{one['thoughts_today']} today, the last {age(now, one['last_thought_ms'])} ago; {held}"


def _left(one: Row) -> str:
    reserved = f", ${one['reserved_usd']:.4f} reserved for calls under way" if one["reserved_usd"] else ""
    return f"${one['left_usd']:.4f} of ${one['cap_usd']:g} left today{reserved}"


def _daemon(one: Row, now: int) -> str:
    state = "died without a shutdown" if one["gone"] else "silent" if one["silent"] else one["state"]
    detail = "".join(f", {name} {_in_words(value)}" for name, value in one["detail"].items() if name != "called")
    if isinstance(names := one["detail"].get("called"), Mapping):
        detail += "".join(f", {soul} is called {name}" for soul, name in names.items())
    times = f"seen {age(now, one['seen_ms'])} ago, up {age(now, one['started_ms'])}"
    process = f"{one['kind']} {one['version']}, process {one['pid']} on {one['host']}"
    return f"{one['soul']} in {one['workspace']}: {state}, {times}{detail} ({process})"


def _in_words(value: object) -> str:
    match value:
        case Mapping():
            return "; ".join(f"{name} ({_in_words(why)})" if why else str(name) for name, why in value.items())
        case list():
            return ", ".join(map(str, value))
    return str(value)


def _parked(found: Row) -> Iterator[str]:
    queues = {f"queue {name}": found[name].get("dead", 0) for name in ("inbox", "outbox", "jobs")}
    for command, count in {**queues, "schedule": found["dead_intentions"]}.items():
        if count:
            yield f"{count} (soul {command} list --state dead)"


def _queue(counts: Mapping[str, int], oldest_ms: int | None, now: int) -> str:
    summary = ", ".join(f"{count} {state}" for state, count in counts.items()) or "empty"
    return summary + (f"; the oldest has waited {age(now, oldest_ms)}" if oldest_ms is not None else "")


def _catch_up(one: Mapping[str, Any]) -> str:
    up_to = datetime.fromtimestamp(float(one["up_to"]), UTC).strftime("%Y-%m-%d %H:%M") if one["up_to"] else ""
    done = f"nothing missed up to {up_to}" if up_to else "not complete yet"
    if not one["rooms"] + one["threads"]:
        return done
    rooms = f"{one['rooms_read']} of {one['rooms']} rooms"
    return f"{rooms}, {one['threads_read']} of {one['threads']} threads read; {done}"


def _spending(spent: Mapping[str, Any]) -> str:
    if not spent["calls"]:
        return "no model calls"
    cost = f"${spent['cost_usd']:.4f}"
    if spent["unpriced"]:
        cost = (
            f"at most {cost}, since {spent['unpriced']} calls of unknown price count with the most they can have cost"
        )
    failed = f" ({spent['failed']} failed)" if spent["failed"] else ""
    cached = f"{spent['tokens_in']} tokens in ({spent['tokens_cached']} cached)"
    return f"{spent['calls']} model calls{failed}, {cached}, {spent['tokens_out']} out, {cost}"


def _print_costs(found: list[Row]) -> None:
    key = click.get_current_context().params["by"]
    table = TextTable(
        *(
            (key.upper(), lambda row: f"{row['key']} ({row['name']})" if row["name"] else row["key"] or "-"),
            ("COST", lambda row: f"{'≤' if row['unpriced'] else ''}${row['cost_usd']:.4f}"),
            *("calls", "failed", ("TOKENS IN", "tokens_in"), ("CACHED", "tokens_cached"), ("OUT", "tokens_out")),
        ),
        nothing=f"No model was called in the last {click.get_current_context().params['days']} days.",
    )
    table.print(found, SystemClock().now_ms())
    if found:
        bound = "at most " if any(one["unpriced"] for one in found) else ""
        say(f"{bound}${sum(one['cost_usd'] for one in found):.4f} in all")


@click.command("costs")
@click.option("--by", type=click.Choice(tuple(BY)), default="day", show_default=True, help="What costs are summed by.")
@click.option("--days", type=click.IntRange(1, 10_000), default=30, show_default=True, help="How many days back.")
@shows(CostSum, _print_costs)
async def costs_command(here: Here, by: str, days: int) -> tuple[CostSum, ...]:
    """Show what model calls have cost, in US dollars.

    A figure marked with ≤ holds calls that count with the most that they can have cost: their price is not known, or
    their daemon died. Rooms and people are known for SOUL_CALL_DAYS days; then only sums of a day are kept. An empty
    key is work for no person, or in no room.
    """
    return await sums_of_costs(here.database, by, SystemClock().now_ms() - days * _DAY_MS)
