"""Users post while the bot is killed again and again; then one bot stays alive and every reply is counted."""

import random

from bench.plan import Bench
from bench.report import Row
from bench.stage import PEOPLE, Bot, Json, Stage, stage, times_answered

_WITHIN = 90.0
_SEED = 20_240_229
_LIVES = (0.3, 1.8)  # seconds from a start to the kill


async def measure(bench: Bench) -> list[Row]:
    """Messages without a reply and messages with more than one."""
    size, kills = bench.size(100, 30), bench.size(12, 4)
    seen = {bot: await _under_fire(bot, size, kills) for bot in Bot}
    (lost, doubled), (echo_lost, echo_doubled) = seen[Bot.OURS], seen[Bot.ECHO]
    return [
        Row(f"{size} messages under {kills} kill -9, lost", "", lost, echo_lost, at_most=0),
        Row(f"{size} messages under {kills} kill -9, doubled", "", doubled, echo_doubled, at_most=0),
    ]


async def _under_fire(bot: Bot, size: int, kills: int) -> tuple[int, int]:
    dice = random.Random(_SEED)  # noqa: S311  # a repeatable play, not a secret
    async with stage(bot) as set_up:
        said: list[Json] = []
        for number in range(kills):
            await set_up.spawn()
            due = (number + 1) * size // kills
            lifetime = dice.uniform(*_LIVES)
            pause = lifetime / max(1, due - len(said))
            while len(said) < due:
                await set_up.clock.sleep(pause)
                room, words = dice.choice((("dm", ""), ("general", "@soul ")))
                said.append(await set_up.say(dice.choice(PEOPLE), room, words + set_up.marked()))
            await set_up.stop(kill=True)
        await set_up.start()
        await set_up.until(lambda: _none_waits(set_up, said), _WITHIN if bot is Bot.OURS else _WITHIN / 10)
        await set_up.quiet(2.0)
        counts = await _counts(set_up, said)
        return counts.count(0), sum(count > 1 for count in counts)


async def _counts(set_up: Stage, said: list[Json]) -> list[int]:
    return times_answered(said, await set_up.replies(sorted({message["channel"] for message in said})))


async def _none_waits(set_up: Stage, said: list[Json]) -> bool:
    return 0 not in await _counts(set_up, said)
