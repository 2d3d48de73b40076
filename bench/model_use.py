"""What the model calls of one matter took, by the daemon's own table."""

from typing import Final

from bench.stage import Stage
from bench.talk import read
from daemon.core.ports.services import Completion
from daemon.core.value import Value
from daemon.llm.prices import cost_of

HEAD: Final = ("what", "step", "calls", "in", "cached", "out", "$ of 1,000")
"""The head of a table of `ModelUse`."""


class ModelUse(Value):
    """One matter: its calls, their tokens and US dollars; `tokens_in` counts those that were `cached`, too."""

    what: str
    step: str
    calls: int
    tokens_in: int
    cached: int
    out: int
    usd: float

    def cells(self) -> tuple[str, ...]:
        """Its line in the table."""
        tokens = (f"{one:,}" for one in (self.tokens_in, self.cached, self.out))
        return (self.what, self.step, str(self.calls), *tokens, f"{1_000 * self.usd:.2f}")


def used_since(set_up: Stage, last: int, what: str, step: str = "", *, unasked: bool = False) -> ModelUse:
    """The calls after the row `last` of `llm_calls`, those for unasked thoughts alone if `unasked`.

    Raises ValueError where another step answered than the one that is measured; the empty one asks for none.
    """
    made = read(
        set_up,
        "SELECT model, tokens_in, tokens_cached, tokens_out, step FROM llm_calls WHERE rowid > ? AND tick >= ?",
        last,
        int(unasked),
    )
    if step and step not in {call[4] for call in made}:
        raise ValueError(f"{what}: the answer came from {', '.join(call[4] for call in made) or 'no call'}")
    usd = sum(cost_of(Completion(model, given, cached, out)).usd for model, given, cached, out, _ in made)
    given, cached, out = (sum(int(call[column]) for call in made) for column in (1, 2, 3))
    return ModelUse(what, step or "-", len(made), given, cached, out, usd)
