"""A soul's own wish to think again after a while (`cycle_rate`, seed 002), as a part of a thought."""

from dataclasses import dataclass
from typing import ClassVar, Final

from daemon.core.tempo import LATEST_WAKE_S, MOST_FRUITLESS, MOST_WAKES, SOONEST_WAKE_S
from daemon.memory.database import Transaction
from daemon.memory.records import conversation_columns
from daemon.memory.thought_parts import PartsTaken, StoredThought

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class WakeWish:
    """To think again in so many seconds; `fruitful`: the thought that wishes so did something else as well.

    One wish stands in a conversation, the newest. See `daemon.memory.thought_parts.ThoughtPart`.
    """

    seconds: float
    fruitful: bool
    field: ClassVar[str] = "cycle_rate"

    @property
    def size(self) -> int:
        """One wish."""
        return 1

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Note when to wake. Raises StoreError."""
        if not SOONEST_WAKE_S <= self.seconds <= LATEST_WAKE_S:  # also what is no number
            return PartsTaken(refused=("out_of_range",))
        fruitless = await self._fruitless(transaction, thought)
        if fruitless >= MOST_FRUITLESS or await _wakes_today(transaction, thought) >= MOST_WAKES:
            return PartsTaken(refused=("rate",))
        await transaction.insert(
            "ticks",
            """
            ON CONFLICT (conversation, kind, about) DO UPDATE SET due_ms = excluded.due_ms, inbox = '',
              fruitless = excluded.fruitless
            """,
            **conversation_columns(thought.conversation),
            kind="wake",
            about="",
            due_ms=thought.now + int(self.seconds * 1000),
            fruitless=fruitless,
        )
        return PartsTaken(1)

    async def _fruitless(self, transaction: Transaction, thought: StoredThought) -> int:
        """How often in a row the soul woke here to no effect, with this thought."""
        row = await transaction.one(
            """
            SELECT t.occasion, coalesce(k.fruitless, 0) AS fruitless FROM thoughts t
            LEFT JOIN ticks k ON k.conversation = t.conversation AND k.kind = 'wake' AND k.about = ''
            WHERE t.id = :id
            """,
            id=thought.id,
        )
        if row is None or row["occasion"] == "words" or self.fruitful:
            return 0
        return int(row["fruitless"]) + int(row["occasion"] == "wake")


async def _wakes_today(transaction: Transaction, thought: StoredThought) -> int:
    """How often the soul woke by its own wish since midnight (UTC), with the wishes that wait elsewhere."""
    midnight = thought.now - thought.now % _DAY_MS
    row = await transaction.one(
        """
        SELECT (SELECT count(*) FROM thoughts WHERE soul = :soul AND at_ms >= :since AND occasion = 'wake')
             + (SELECT count(*) FROM ticks WHERE soul = :soul AND workspace = :workspace AND kind = 'wake'
                  AND due_ms IS NOT NULL AND conversation <> :conversation) AS n
        """,
        since=midnight,
        **conversation_columns(thought.conversation),
    )
    return int(row["n"]) if row else 0
