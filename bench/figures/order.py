"""Five messages typed quickly into one thread, five times over: none may be lost or answered out of order."""

from itertools import pairwise

from bench.plan import Bench
from bench.report import Row
from bench.stage import MARK, Bot, Json, Stage, stage, times_answered

_QUICK = 5
_WITHIN = 20.0


async def measure(bench: Bench) -> list[Row]:
    """Messages without a reply, and neighbours that were answered the wrong way round."""
    seen = {bot: await _threads(bot, bench.size(5, 2)) for bot in Bot}
    (lost, turned), (echo_lost, echo_turned) = seen[Bot.OURS], seen[Bot.ECHO]
    return [
        Row("five quick messages in a thread, lost", "", lost, echo_lost, at_most=0),
        Row("five quick messages in a thread, order inversions", "", turned, echo_turned, at_most=0),
    ]


async def _threads(bot: Bot, threads: int) -> tuple[int, int]:
    async with stage(bot) as set_up:
        await set_up.start()
        lost = turned = 0
        for _ in range(threads):
            said = await _quickly(set_up)
            await set_up.until(lambda said=said: _all_answered(set_up, said), _WITHIN)  # type: ignore[misc]  # bound now
            await set_up.quiet()
            replies = await set_up.replies(["general"])
            lost += times_answered(said, replies).count(0)
            turned += _inversions(said, replies)
        return lost, turned


async def _quickly(set_up: Stage) -> list[Json]:
    said: list[Json] = []
    for _ in range(_QUICK):
        thread = said[0]["ts"] if said else ""
        said.append(await set_up.say("ada", "general", f"@soul {set_up.marked()}", thread))
    return said


async def _all_answered(set_up: Stage, said: list[Json]) -> bool:
    return 0 not in times_answered(said, await set_up.replies(["general"]))


def _inversions(said: list[Json], replies: list[Json]) -> int:
    marks_shown = MARK.findall(" ".join(reply["shown"] for reply in replies))
    marks = [mark[0] for message in said if (mark := MARK.search(message["text"]))]
    places = [marks_shown.index(mark) for mark in marks if mark in marks_shown]
    return sum(later < earlier for earlier, later in pairwise(places))
