"""What a run may cost: an estimate before it begins, and a bound that ends it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daemon.core.errors import DaemonError
from daemon.core.ports.services import Completion
from daemon.llm.prices import cost_of
from evals.environment import Model
from evals.memory import Call
from evals.scenario import Scenario

# An ordinary message, as docs/BENCH.md measures it, and a little for what is done after some replies.
_CALLS, _TOKENS_IN, _TOKENS_OUT = 1.6, 2_600, 260


class BoundReached(DaemonError):
    """The run has used up its money or its time."""


@dataclass(slots=True)
class Spending:
    """Counts what calls cost; the daemon counts one of unknown price as the dearest of its vendor's models."""

    most_usd: float | None = None
    usd: float = 0.0

    def add(self, calls: Iterable[Call]) -> None:
        """Count some calls. Raises BoundReached when they use up what may be spent."""
        self.usd += sum(call.cost or 0.0 for call in calls)
        self.check()

    def check(self) -> None:
        """Raises BoundReached when nothing is left."""
        if self.most_usd is not None and self.usd >= self.most_usd:
            hint = "give more with --max-usd"
            raise BoundReached(f"--max-usd {self.most_usd:g} is used up (${self.usd:.4f})", hint=hint)


def estimate(model: Model, scenarios: Sequence[Scenario], repeat: int) -> str:
    """What a run will do and about what it will cost, in a sentence or two."""
    messages = repeat * sum(one.messages for one in scenarios)
    calls = round(messages * _CALLS)
    tokens_in, tokens_out = calls * _TOKENS_IN, calls * _TOKENS_OUT
    times = f", {repeat} times each" if repeat > 1 else ""
    plan = f"{len(scenarios)} scenarios{times}: {messages} messages to {model.names}, about {calls} model calls"
    if not model.paid:
        return f"{plan}; it runs on this machine and costs nothing."
    cost = cost_of(Completion(model.persona, _TOKENS_IN, 0, _TOKENS_OUT))
    price = f"{'at most' if cost.bound else 'about'} ${calls * cost.usd:.2f}"
    known = " (the price of this model is not known)" if cost.bound else ""
    return f"{plan} with {tokens_in:,} tokens in and {tokens_out:,} out; {price}{known}."
