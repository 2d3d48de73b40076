"""What caps add to a model call: one reservation before it and its settlement, in a memory.db of its own."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.plan import Bench
from bench.report import Row, quantile
from daemon.core.ports.services import Cost, LLMCall, ModelRole, Prompt, SystemClock
from daemon.core.spending import Caps, Charge
from daemon.memory.database import open_database
from daemon.memory.records import Worker
from daemon.memory.spending.reservations import Reservations
from daemon.runtime.till import SpendingBudget, Terms

_MODEL: Final = "anthropic/claude-sonnet-5-5"
_PRICE: Final = 0.001
_AT_ONCE: Final = 50
_PROMPT: Final = Prompt(ModelRole.PERSONA, "respond", (), (), model=_MODEL)


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds for one call after the other, and for fifty conversations at once; with every kind of cap."""
    size = bench.size(2_000, 400)
    with TemporaryDirectory() as folder:
        alone = await _paid(Path(folder) / "alone.db", [size])
    with TemporaryDirectory() as folder:
        together = await _paid(Path(folder) / "together.db", [size // _AT_ONCE] * _AT_ONCE)
    return [
        Row("reserve, p50", "ms", quantile(alone, 0.5), note="settles the call before in the same transaction"),
        Row("reserve, p99", "ms", quantile(alone, 0.99), at_most=50),
        Row(f"reserve, {_AT_ONCE} at once, p50", "ms", quantile(together, 0.5)),
        Row(f"reserve, {_AT_ONCE} at once, p99", "ms", quantile(together, 0.99), at_most=500),
    ]


async def _paid(path: Path, calls: Sequence[int]) -> list[float]:
    """Pay for so many calls in each of several conversations side by side; gives what each reservation took."""
    clock, took = SystemClock(), list[float]()
    async with open_database(path, clock) as database:
        worker = Worker("bench", "minoan", "T0", 30_000)
        terms = Terms(lambda _: Cost(_PRICE), lambda _: Cost(_PRICE), lambda: Caps(1e6, 1e6, 1e6))
        till = SpendingBudget(Reservations(database, clock, worker), terms, clock, lambda *_, **__: None)

        async def talk(number: int, size: int) -> None:
            charge = Charge(f"trace{number}", f"U{number}", f"C{number % 10}")
            for _ in range(size):
                began = time.perf_counter()
                reservation = await till.reserve(charge, _PROMPT)
                took.append(1000 * (time.perf_counter() - began))
                till.charged(_call(clock.now_ms(), reservation), charge)

        async with asyncio.TaskGroup() as group:
            for number, size in enumerate(calls):
                group.create_task(talk(number, size))
        await till.close()
    return took


def _call(now_ms: int, reservation: str) -> LLMCall:
    """A call that has just ended."""
    call = LLMCall("trace", ModelRole.PERSONA, "respond", _MODEL, now_ms, 0, "ok", cost_usd=_PRICE)
    return replace(call, reservation=reservation)
