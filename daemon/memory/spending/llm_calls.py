"""The ledger of model calls, and what they show of their models.

What a call has cost is added by a trigger to what its payers spent on its day (the table `spending`).
"""

from collections.abc import Sequence
from dataclasses import asdict

from daemon.core.ports.telemetry import LLMCall
from daemon.memory.database import Transaction
from daemon.memory.knowledge.model_habits import store_habits

_COLUMNS = (
    *("trace_id", "role", "step", "model", "tokens_in", "tokens_cached", "tokens_out", "cost_usd"),
    *("cost_bound", "started_ms", "first_ms", "latency_ms", "outcome", "day"),
)


async def store_calls(transaction: Transaction, calls: Sequence[LLMCall]) -> None:
    """Add model calls to the ledger, without prompts and responses, and to the habits of their models.

    One that was paid from a reservation enters the ledger when that is settled.
    """
    for call in calls:
        if not call.reservation:
            await store_call(transaction, call)
    await store_habits(transaction, calls)


async def store_call(transaction: Transaction, call: LLMCall, *, tick: bool = False) -> None:
    """Add one call to the ledger; `tick`: it was unasked."""
    columns = {name: getattr(call, name) for name in _COLUMNS}
    await transaction.insert("llm_calls", **columns, **asdict(call.payer), tick=int(tick))
