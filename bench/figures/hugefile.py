"""Acknowledgements on a memory.db of 5 GB, with and without the chores."""

from bench.figures.bigfile import measure_file
from bench.plan import Bench
from bench.report import Row


async def measure(bench: Bench) -> list[Row]:
    """As `bigfile`, on a file that a busy workspace has after some years."""
    return await measure_file(bench, 5.0)
