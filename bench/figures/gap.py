"""An outage of forty minutes in 300 rooms and 400 threads, with last words in any of them."""

import tempfile
from pathlib import Path

from bench.gap import measure_gap
from bench.plan import Bench
from bench.report import Row

_A_MINUTE = 50  # calls of one method that Slack allows (tier 3)


async def measure(bench: Bench) -> list[Row]:
    """What catch-up misses and doubles, its calls, and the order in which it reads."""
    rooms, threads, words = bench.size(300, 60), bench.size(400, 80), bench.size(200, 60)
    with tempfile.TemporaryDirectory(prefix="bench-gap-") as home:
        seen = await measure_gap(Path(home), rooms=rooms, threads=threads, words=words, seed=1)
    where = f"40 minutes away from {rooms} rooms and {threads} threads"
    return [
        Row(f"{where}, missed of {seen.said}", "", seen.missed, at_most=0),
        Row(f"{where}, doubled", "", seen.doubled, at_most=0),
        Row(f"{where}, rooms read out of order", "", seen.inversions, at_most=0),
        Row(f"{where}, most calls of a method in a minute", "", seen.most_calls_a_minute, at_most=_A_MINUTE),
        Row(f"{where}, calls refused by Slack", "", seen.refused_calls, at_most=0),
        Row(f"{where}, calls in all", "", seen.calls),
        Row(f"{where}, until all is read", "min", seen.minutes),
    ]
