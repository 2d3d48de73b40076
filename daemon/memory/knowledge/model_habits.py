"""The habits of models: how well each kept the required answer format for all daemons on this memory.db."""

from collections.abc import Sequence

from msgspec.structs import replace

from daemon.core.ports.services import LLMCall
from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.records import read_row

REMEMBERED = 10
"""The number of each model's last answers in elements that are kept."""

MOST_MALFORMED = 2
"""The most malformed answers among them. One more, and the model answers in plain words for a while."""

WARY = 20
"""The answers without visible reasoning after which a model that showed its reasoning may stream again."""

_SHORTEST_MS, _LONGEST_MS = 60 * MINUTE_MS, 24 * 60 * MINUTE_MS
_KEPT, _MALFORMED = "k", "m"


class ModelHabit(Value):
    """The observed habits of one model.

    `recent` holds its last answers in elements, oldest first: `k` kept the form, `m` is malformed. Until
    `split_until_ms` the model answers in plain words. That time doubles if malformed answers continue. `hold_back`
    counts the answers that must still end without reasoning before plain words are shown while they stream. The reason:
    some servers cut off the opening mark, and the reasoning then looks like speech up to its closing mark.
    """

    model: str
    recent: str = ""
    split_until_ms: int = 0
    split_for_ms: int = 0
    hold_back: int = 1

    @property
    def streams_speech(self) -> bool:
        return self.hold_back == 0

    @property
    def streams_elements(self) -> bool:
        return self.hold_back <= 1

    @property
    def malformed(self) -> int:
        return self.recent.count(_MALFORMED)

    def speaks_split(self, now_ms: int) -> bool:
        """Return True while the model answers in plain words, without the elements."""
        return now_ms < self.split_until_ms

    def weakness(self, now_ms: int) -> str:
        """Return a warning for admins. Empty for a model without faults."""
        found = []
        if self.speaks_split(now_ms):
            minutes = (self.split_until_ms - now_ms) // MINUTE_MS + 1
            answers = f"{self.malformed} of its last {len(self.recent)} answers"
            found.append(f"{answers} lost the form, so it answers in plain words for {minutes} min more")
        if not self.streams_elements:
            found.append("it wrote reasoning into its speech, so its replies are shown only once they have ended")
        return f"{self.model}: {'; '.join(found)}" if found else ""

    def after(self, call: LLMCall) -> "ModelHabit":
        known = self
        if call.thought_aloud is not None:
            known = replace(known, hold_back=WARY if call.thought_aloud else max(0, self.hold_back - 1))
        if call.kept_form is None:
            return known
        recent = (self.recent + (_KEPT if call.kept_form else _MALFORMED))[-REMEMBERED:]
        known, ended_ms = replace(known, recent=recent), call.started_ms + call.latency_ms
        if not known.malformed:
            return replace(known, split_for_ms=0)
        if call.kept_form or known.malformed <= MOST_MALFORMED or self.speaks_split(ended_ms):
            return known
        split_for = min(max(_SHORTEST_MS, 2 * self.split_for_ms), _LONGEST_MS)
        return replace(known, split_until_ms=ended_ms + split_for, split_for_ms=split_for)


class ModelHabits:
    """Reads the habits of models. `store_habits` writes them with the calls."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, *models: str) -> dict[str, ModelHabit]:
        """Return the habits of these models by name, with defaults for unknown models."""

        async def unit(transaction: Transaction) -> dict[str, ModelHabit]:
            return {model: await _habit(transaction, model) for model in models}

        return await self._database.read(unit)


async def store_habits(transaction: Transaction, calls: Sequence[LLMCall]) -> None:
    """Update the habits of the models of these calls."""
    telling = [call for call in calls if call.kept_form is not None or call.thought_aloud is not None]
    for model in dict.fromkeys(call.model for call in telling):
        before = known = await _habit(transaction, model)
        for call in telling:
            known = known.after(call) if call.model == model else known
        if known != before:
            await transaction.insert(
                "model_habits",
                """
                ON CONFLICT (model) DO UPDATE SET recent = excluded.recent, split_until_ms = excluded.split_until_ms,
                  split_for_ms = excluded.split_for_ms, hold_back = excluded.hold_back
                """,
                model=known.model,
                recent=known.recent,
                split_until_ms=known.split_until_ms,
                split_for_ms=known.split_for_ms,
                hold_back=known.hold_back,
            )


async def weak_habits(transaction: Transaction, now_ms: int) -> tuple[ModelHabit, ...]:
    """Return the models that answer in plain words for now, or show their reasoning."""
    rows = await transaction.rows(
        "SELECT * FROM model_habits WHERE split_until_ms > :now OR hold_back > 1 ORDER BY model", now=now_ms
    )
    return tuple(read_row(ModelHabit, row) for row in rows)


async def _habit(transaction: Transaction, model: str) -> ModelHabit:
    row = await transaction.one("SELECT * FROM model_habits WHERE model = :model", model=model)
    return read_row(ModelHabit, row) if row else ModelHabit(model)
