"""What a run may cost: an estimate before it begins, and a bound that ends it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.ports import Completion
from daemon.llm.prices import cost_usd
from evals.environment import Model
from evals.memory import Call
from evals.scenario import Scenario

# An ordinary message, as docs/BENCH.md measures it, and a little for what is done after some replies.
_CALLS, _TOKENS_IN, _TOKENS_OUT = 1.6, 2_600, 260
# Dollars a million tokens that an unknown price is counted as: more than any listed model asks.
_DEAREST_IN, _DEAREST_OUT = 30.0, 150.0
_MILLION: Final = 1_000_000


class BoundReached(DaemonError):
    """The run has used up its money or its time."""


@dataclass(slots=True)
class Spending:
    """Counts what calls cost; a call without a known price counts as the dearest model's."""

    most_usd: float | None = None
    usd: float = 0.0

    def add(self, calls: Iterable[Call]) -> None:
        """Count some calls. Raises BoundReached when they use up what may be spent."""
        self.usd += sum(
            upper_bound(call.tokens_in, call.tokens_out) if call.cost is None else call.cost for call in calls
        )
        self.check()

    def check(self) -> None:
        """Raises BoundReached when nothing is left."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            hint = "give more with --max-usd"
            raise BoundReached(f"--max-usd {self.most_usd:g} is used up (${self.usd:.4f})", hint=hint)


def upper_bound(tokens_in: int, tokens_out: int) -> float:
    """Dollars that a call with an unknown price costs at most."""
    return (tokens_in * _DEAREST_IN + tokens_out * _DEAREST_OUT) / _MILLION


def estimate(model: Model, scenarios: Sequence[Scenario], repeat: int) -> str:
    """What a run will do and about what it will cost, in a sentence or two."""
    messages = repeat * sum(one.messages for one in scenarios)
    calls = round(messages * _CALLS)
    tokens_in, tokens_out = calls * _TOKENS_IN, calls * _TOKENS_OUT
    times = f", {repeat} times each" if repeat > 1 else ""
    plan = f"{len(scenarios)} scenarios{times}: {messages} messages to {model.names}, about {calls} model calls"
    if not model.paid:
        return f"{plan}; it runs on this machine and costs nothing."
    usd = cost_usd(Completion(model.persona, tokens_in, 0, tokens_out))
    price = f"about ${usd:.2f}" if usd is not None else f"at most ${upper_bound(tokens_in, tokens_out):.2f}"
    known = "" if usd is not None else " (the price of this model is not known)"
    return f"{plan} with {tokens_in:,} tokens in and {tokens_out:,} out; {price}{known}."
