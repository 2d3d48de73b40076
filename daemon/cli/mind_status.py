"""What `soul status` says of the mind of each soul."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from daemon.app.money import tick_budget_of
from daemon.cli.checks.mind import souls_of
from daemon.cli.database_access import with_database
from daemon.cli.output import age
from daemon.core.config import Settings
from daemon.core.errors import SoulError
from daemon.core.spending import TickBudget, day_at
from daemon.core.tempo import Skipped
from daemon.memory.database import Database, Transaction
from daemon.memory.mind.summary import MindSummary, mind_summary
from daemon.memory.spending.reservations import TickUse, tick_use
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
        """One line about it."""
        last = "none yet" if self.last_thought_ms is None else f"the last {age(now_ms, self.last_thought_ms)} ago"
        held = f"open goals: {self.goals_open}, open expectations: {self.predictions_open}"
        return f"{self.thoughts_today} today, {last}; {held}"


def minds(settings: Settings, now_ms: int, since_ms: int) -> Sequence[MindStatus]:
    """Each soul of the settings, with its thoughts since a moment; none where their files can't be read.

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
    """The state of one mind; one that doesn't think unasked is asleep."""
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
