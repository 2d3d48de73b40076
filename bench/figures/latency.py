"""The time from an event to its finished reply in Slack, one DM after the other, with an instant model."""

from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import PEOPLE, Bot, stage

_WARM_UP = 5


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds by the workspace's own log."""
    taken: dict[Bot, list[float]] = {}
    for bot in Bot:
        taken[bot] = []
        async with stage(bot) as set_up:
            await set_up.start()
            for number in range(bench.size(200, 60) + _WARM_UP):
                message = await set_up.say(PEOPLE[number % len(PEOPLE)], "dm", set_up.marked())
                taken[bot].append(1000 * await set_up.reply_to(message))
    ours, echo = taken[Bot.OURS][_WARM_UP:], taken[Bot.ECHO][_WARM_UP:]
    return [
        Row("DM beyond the model, p50", "ms", quantile(ours, 0.5), quantile(echo, 0.5), at_most=40),
        Row("DM beyond the model, p95", "ms", quantile(ours, 0.95), quantile(echo, 0.95), at_most=100),
    ]
