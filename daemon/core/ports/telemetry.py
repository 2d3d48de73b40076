"""Telemetry: events, and the record of one model call."""

from dataclasses import dataclass, field
from typing import Protocol

from daemon.core.ports.models import ModelRole
from daemon.core.spending import Payer


class Emit(Protocol):
    """Turns events into log lines and counters. Never raises."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Emit an event; `event` is a dotted name such as `cycle.committed`."""


@dataclass(frozen=True, slots=True)
class LLMCall:
    """One model call, a row of `llm_calls`; `latency_ms` from request to end, `first_ms` to the first text.

    `prompt` and `response` are for the log only, which decides how much of them is shown; they are never stored.
    `kept_form` says whether a whole answer kept the elements it was asked for, `thought_aloud` whether it held
    reasoning that only a later mark told from speech; None where the call does not show it. `cost_usd` is None where
    nothing is known of what the call used; `cost_bound`: its price is not known, and this is the most it can have been.
    `payer` is charged for it on `day`, a date; `reservation` is the id of what was reserved for it, empty for nothing.
    """

    trace_id: str
    role: ModelRole
    step: str
    model: str
    started_ms: int
    latency_ms: int
    outcome: str
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    first_ms: int | None = None
    cost_usd: float | None = None
    cost_bound: bool = False
    prompt: str = field(default="", compare=False)
    response: str = field(default="", compare=False)
    repair: bool = False
    kept_form: bool | None = None
    thought_aloud: bool | None = None
    payer: Payer = Payer()  # noqa: RUF009 - a frozen value
    day: str = ""
    reservation: str = ""
