"""How long after its start a bot's first socket is open: with a new home, and with one that was used before."""

from statistics import median

from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, stage

_WITHIN = 1.0


async def measure(bench: Bench) -> list[Row]:
    """The median of several starts of each kind."""
    first: dict[Bot, float] = {}
    again: dict[Bot, float] = {}
    for bot in Bot:
        new, known = [], []
        for _ in range(bench.size(5, 2)):
            async with stage(bot) as set_up:
                new.append(await set_up.start())
                await set_up.stop()
                known.append(await set_up.start())
        first[bot], again[bot] = median(new), median(known)
    return [
        Row("socket up after the first start", "s", first[Bot.OURS], first[Bot.ECHO], at_most=_WITHIN),
        Row("socket up after a restart", "s", again[Bot.OURS], again[Bot.ECHO], at_most=_WITHIN),
    ]
