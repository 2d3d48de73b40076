"""The ledger of model calls."""

from collections.abc import Sequence

from daemon.core.ports import LLMCall
from daemon.memory.database import Transaction


async def store_calls(transaction: Transaction, calls: Sequence[LLMCall]) -> None:
    """Add model calls to the ledger."""
    for call in calls:
        await transaction.run(
            """
            INSERT INTO llm_calls (trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd,
                                   started_ms, first_ms, latency_ms, outcome)
            VALUES (:trace_id, :role, :step, :model, :tokens_in, :tokens_cached, :tokens_out, :cost_usd,
                    :started_ms, :first_ms, :latency_ms, :outcome)
            """,
            trace_id=call.trace_id,
            role=call.role,
            step=call.step,
            model=call.model,
            tokens_in=call.tokens_in,
            tokens_cached=call.tokens_cached,
            tokens_out=call.tokens_out,
            cost_usd=call.cost_usd,
            started_ms=call.started_ms,
            first_ms=call.first_ms,
            latency_ms=call.latency_ms,
            outcome=call.outcome,
        )
