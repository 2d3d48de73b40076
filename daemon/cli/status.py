"""`soul status` and `soul costs`: running daemons, waiting work, today's costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import get_args

import click

from daemon.app.assembly import caps_of, tick_budget_of
from daemon.cli.checks.mind import souls_of
from daemon.cli.listing import age, daemons_clock, facts, json_of, say, say_json, table, with_database
from daemon.core.config import Settings, load_settings
from daemon.core.errors import SoulError
from daemon.core.ports.services import SystemClock
from daemon.core.settings_place import settings_place
from daemon.core.spending import TickBudget, day_at
from daemon.core.tempo import Skipped, sentence_of
from daemon.memory.admin.overview import CatchUpState, LiveDaemon, Overview, Spending, sqlite_build, survey
from daemon.memory.admin.tool_admin import recorded_tools
from daemon.memory.database import Database, Transaction
from daemon.memory.mind.present import MindSummary, mind_summary
from daemon.memory.spending.costs import BY, CostSum, sums_of_costs
from daemon.memory.spending.reservations import TickUse, spent_today, tick_use
from daemon.soul import Soul


@dataclass(frozen=True, slots=True)
class MindStatus:
    """The mind of one soul, as JSON values; times in ms, UTC."""

    soul: str
    mode: str
    enabled: bool
    tempo: str
    last_thought_ms: int | None
    thoughts_today: int
    skipped: Mapping[str, int]
    tokens_hour: int
    tokens_day: int
    budget_hour: int
    budget_day: int
    goals_open: int
    predictions_open: int
    dropped_percepts: int
    calibration: Mapping[str, float | int | None]

    def in_words(self, now_ms: int) -> str:
        """Return one line on the mind's day, goals and expectations."""
        last = "none yet" if self.last_thought_ms is None else f"the last {age(now_ms, self.last_thought_ms)} ago"
        held = f"open goals: {self.goals_open}, open expectations: {self.predictions_open}"
        return f"{self.thoughts_today} today, {last}; {held}"


def minds(settings: Settings, now_ms: int, since_ms: int) -> Sequence[MindStatus]:
    """Return each configured soul's mind, with its thoughts since a moment. Empty if the souls' files can't be read.

    `soul doctor` says what is wrong with the files.
    """
    try:
        souls = souls_of(settings)
    except SoulError:
        return ()

    today = day_at(now_ms, settings.cap_zone).date

    async def look(database: Database) -> Sequence[MindStatus]:
        async def unit(transaction: Transaction) -> Sequence[MindStatus]:
            return [
                _status(
                    soul,
                    tick_budget_of(settings, soul),
                    await mind_summary(transaction, soul.name, now_ms, since_ms),
                    await tick_use(transaction, soul.name, today, now_ms),
                )
                for soul in souls
            ]

        return await database.read(unit)

    return with_database(settings, look)


def _status(soul: Soul, budget: TickBudget | None, found: MindSummary, used: TickUse) -> MindStatus:
    """Return the state of one mind. A mind that doesn't think unasked is asleep."""
    tempo = "engaged" if found.works else "waiting" if found.ticks_wait else "idle"
    return MindStatus(
        soul=soul.name,
        mode=soul.mind,
        enabled=budget is not None,
        tempo=tempo if budget is not None else "asleep",
        last_thought_ms=found.last_thought_ms,
        thoughts_today=found.thoughts_today,
        skipped={why: found.skipped.get(why, 0) for why in get_args(Skipped)},
        tokens_hour=used.tokens_hour,
        tokens_day=used.tokens_day,
        budget_hour=budget.tokens_hour if budget else 0,
        budget_day=budget.tokens_day if budget else 0,
        goals_open=found.goals_open,
        predictions_open=found.predictions_open,
        dropped_percepts=found.dropped_percepts,
        calibration={name: found.foresight.figures[name] for name in ("scored", "brier", "skill")},
    )


_DAY_MS = 24 * 3600 * 1000


@click.command("status")
@click.option("--healthy", is_flag=True, help="Only say whether a daemon works: exit code 1 when none does.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; see above for its keys.")
@click.pass_context
def status_command(context: click.Context, healthy: bool, as_json: bool) -> None:
    """Show running daemons, waiting work and today's costs (UTC).

    \b
    JSON: database, now_ms, sqlite, schema, journal,
    daemons [{soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state, detail, gone, silent}],
    inbox, outbox, jobs {state: count}, oldest_inbox_ms, oldest_outbox_ms, oldest_job_ms,
    catch_up [{soul, workspace, up_to, rooms, rooms_read, threads, threads_read}], dead_intentions,
    spent {calls, failed, tokens_in, tokens_cached, tokens_out, cost_usd, unpriced},
    weak_models [{model, recent, split_until_ms, split_for_ms, hold_back}],
    faulty_files [{path, fault, searched}], changed_tools [name],
    unhosted [{soul, workspace, messages, notes, posts, jobs, oldest_ms}] (souls that no running daemon hosts),
    alarms [{name, since_ms, seen_ms, posts}] (what is wrong now),
    in_words [{soul, workspace, until_ms}] (souls that can't think whole thoughts for now),
    caps [{soul, cap_usd, spent_usd, reserved_usd, left_usd}] (of today; cap_usd and left_usd null: no cap),
    cap_person_usd, cap_room_usd (null: no cap),
    mind [{soul, mode, enabled, tempo (engaged, waiting, idle, asleep), last_thought_ms (null: none), thoughts_today,
    skipped {budget, quiet, not_invited, words, breaker}, tokens_hour, tokens_day, budget_hour, budget_day,
    goals_open, predictions_open, dropped_percepts, calibration {scored, brier, skill}}].
    """
    settings = load_settings()
    now = daemons_clock(settings).now_ms()
    seen: Overview = with_database(settings, lambda database: survey(database, now, now - now % _DAY_MS))
    if healthy:
        works = any(one.alive for one in seen.daemons)
        say("A daemon works." if works else "No daemon works here.")
        context.exit(0 if works else 1)
    path = settings.database_path.absolute()
    changed = [one.name for one in with_database(settings, recorded_tools) if one.changed_ms is not None]
    caps, held = _caps(settings, now), minds(settings, now, now - now % _DAY_MS)
    if as_json:
        each = {"cap_person_usd": settings.max_usd_a_day_person, "cap_room_usd": settings.max_usd_a_day_room}
        fields = {name: getattr(seen, name) for name in Overview.__dataclass_fields__} | {"changed_tools": changed}
        fields |= {"caps": caps, **each, "mind": held}
        say_json({"database": str(path), "now_ms": now, "sqlite": sqlite_build().version, **fields})
        return
    for one in seen.daemons:
        say(_daemon(one, now))
    if not any(one.alive for one in seen.daemons):
        say(f"No daemon is running; `{settings_place().start}` starts one.")
    facts(
        {
            "inbox": _queue(seen.inbox, seen.oldest_inbox_ms, now),
            "outbox": _queue(seen.outbox, seen.oldest_outbox_ms, now),
            "jobs": _queue(seen.jobs, seen.oldest_job_ms, now),
            **{f"catch-up of {state.soul}": _catch_up(state) for state in seen.catch_up},
            "parked": ", ".join(_parked(seen)),
            **({"unhosted": _unhosted(seen)} if seen.unhosted else {}),
            **({"alarms": _alarms(seen, now)} if seen.alarms else {}),
            "today": _spending(seen.spent),
            **{f"cap of {one.soul}": _left(one) for one in caps if one.cap_usd is not None},
            **({"models": "; ".join(one.weakness(now) for one in seen.weak_models)} if seen.weak_models else {}),
            **{f"thoughts of {one.soul}": one.in_words(now) for one in held if one.last_thought_ms is not None},
            **{f"mind of {one.soul}": one.in_words(now) for one in seen.in_words},
            **({"tools": f"{', '.join(changed)} changed; see soul tools list"} if changed else {}),
            **({"library": _unread(seen)} if any(not one.searched for one in seen.faulty_files) else {}),
            "store": f"{path} (schema {seen.schema}, journal {seen.journal}, SQLite {sqlite_build().version})",
        }
    )


@dataclass(frozen=True, slots=True)
class _Cap:
    """The cap of one soul today, and its spending. `reserved_usd` is the possible cost of calls in progress."""

    soul: str
    cap_usd: float | None
    spent_usd: float
    reserved_usd: float
    left_usd: float | None


def _caps(settings: Settings, now: int) -> list[_Cap]:
    """Return the caps of the configured souls. Empty if their files can't be read, which `soul doctor` reports."""
    day = day_at(now, settings.cap_zone).date
    try:
        caps = {soul.name: caps_of(settings, soul).soul for soul in souls_of(settings)}
    except SoulError:
        return []

    async def look(database: Database) -> list[_Cap]:
        found = []
        for name, cap in caps.items():
            spent = await spent_today(database, name, day)
            left = None if cap is None else spent.left_of(cap)
            found.append(_Cap(name, cap, spent.usd, spent.reserved_usd, left))
        return found

    return with_database(settings, look)


def _left(one: _Cap) -> str:
    reserved = f", ${one.reserved_usd:.4f} reserved for calls under way" if one.reserved_usd else ""
    return f"${one.left_usd:.4f} of ${one.cap_usd:g} left today{reserved}"


def _daemon(one: LiveDaemon, now: int) -> str:
    state = "died without a shutdown" if one.gone else "silent" if one.silent else one.state
    detail = "".join(f", {name} {_in_words(value)}" for name, value in one.detail.items() if name != "called")
    if isinstance(names := one.detail.get("called"), Mapping):
        detail += "".join(f", {soul} is called {name}" for soul, name in names.items())
    times = f"seen {age(now, one.seen_ms)} ago, up {age(now, one.started_ms)}"
    process = f"{one.kind} {one.version}, process {one.pid} on {one.host}"
    return f"{one.soul} in {one.workspace}: {state}, {times}{detail} ({process})"


def _in_words(value: object) -> str:
    match value:
        case Mapping():
            return "; ".join(f"{name} ({_in_words(why)})" if why else str(name) for name, why in value.items())
        case list():
            return ", ".join(map(str, value))
    return str(value)


def _parked(seen: Overview) -> Iterator[str]:
    queues = {"queue inbox": seen.inbox, "queue outbox": seen.outbox, "queue jobs": seen.jobs}
    for command, counts in {**queues, "schedule": {"dead": seen.dead_intentions}}.items():
        if count := counts.get("dead", 0):
            yield f"{count} (soul {command} list --state dead)"


def _queue(counts: Mapping[str, int], oldest_ms: int | None, now: int) -> str:
    summary = ", ".join(f"{count} {state}" for state, count in counts.items()) or "empty"
    return summary + (f"; the oldest has waited {age(now, oldest_ms)}" if oldest_ms is not None else "")


def _catch_up(state: CatchUpState) -> str:
    up_to = datetime.fromtimestamp(float(state.up_to), UTC).strftime("%Y-%m-%d %H:%M") if state.up_to else ""
    done = f"nothing missed up to {up_to}" if up_to else "not complete yet"
    if not state.rooms + state.threads:
        return done
    read = f"{state.rooms_read} of {state.rooms} rooms, {state.threads_read} of {state.threads} threads read"
    return f"{read}; {done}"


def _unread(seen: Overview) -> str:
    names = [one.path for one in seen.faulty_files if not one.searched]
    return f"not read: {', '.join(names)}; see soul doctor"


def _unhosted(seen: Overview) -> str:
    names = [f"{one.soul} in {one.workspace}" for one in seen.unhosted]
    return f"{', '.join(names)}: no running daemon answers what waits for them; see soul doctor"


def _alarms(seen: Overview, now: int) -> str:
    return "; ".join(f"for {age(now, one.since_ms)}: {sentence_of(one.name)}" for one in seen.alarms)


def _spending(spent: Spending) -> str:
    if not spent.calls:
        return "no model calls"
    cost = f"${spent.cost_usd:.4f}"
    if spent.unpriced:
        cost = f"at most {cost}, since {spent.unpriced} calls of unknown price count with the most they can have cost"
    failed = f" ({spent.failed} failed)" if spent.failed else ""
    return (
        f"{spent.calls} model calls{failed}, {spent.tokens_in} tokens in ({spent.tokens_cached} cached), "
        f"{spent.tokens_out} out, {cost}"
    )


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
