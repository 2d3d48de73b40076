"""A figure that goes on is waited for, one that hangs is not."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import __main__ as bench
from bench.plan import Bench


async def _measured(monkeypatch: pytest.MonkeyPatch, *, alive: bool) -> dict[str, str]:
    """Why a figure could not be measured that takes twice its time limit, and shows life half-way or not."""
    loop = asyncio.get_running_loop()
    real, ahead = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: real() + ahead)

    async def measure(plan: Bench) -> list[object]:
        nonlocal ahead
        for _ in range(2):
            ahead += bench._LONGEST * 0.9
            if alive:
                plan.alive()
            for _ in range(3):  # a limit that has passed is noticed by the loop
                await asyncio.sleep(0)
        return []

    monkeypatch.setattr(bench, "import_module", lambda _: SimpleNamespace(measure=measure))
    _, failures = await bench._measure(["leaks"], Bench(quick=True, tell=print, data=Path()))
    return failures


async def test_a_figure_that_shows_life_may_take_longer_and_one_that_hangs_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert await _measured(monkeypatch, alive=True) == {}
    assert list(await _measured(monkeypatch, alive=False)) == ["leaks"]
