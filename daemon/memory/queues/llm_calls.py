"""The ledger of model calls, and what they show of their models."""

from collections.abc import Sequence

from daemon.core.ports import LLMCall
from daemon.memory.database import Transaction
from daemon.memory.knowledge.model_habits import store_habits

_COLUMNS = (
    *("trace_id", "role", "step", "model", "tokens_in", "tokens_cached", "tokens_out", "cost_usd"),
    *("cost_bound", "started_ms", "first_ms", "latency_ms", "outcome"),
)


async def store_calls(transaction: Transaction, calls: Sequence[LLMCall]) -> None:
    """Add model calls to the ledger, without prompts and responses, and to the habits of their models."""
    for call in calls:
        await transaction.insert("llm_calls", **{name: getattr(call, name) for name in _COLUMNS})
    await store_habits(transaction, calls)
