"""What a soul costs that thinks by itself while nothing is due, beside one at default settings that does nothing."""

from contextlib import closing
from statistics import median
from typing import Final

from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, Stage, stage
from bench.talk import at_rest, furnish, read
from daemon.memory.database.sqlite import sqlite3

_TALKS, _GOALS = 200, 500
_LATER_MS: Final = 30 * 86_400_000
_MOST: Final = 0.3
_WITHIN: Final = 30.0
_NUMBERS: Final = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < :rows)"
_OTHERS: Final = f"""
    {_NUMBERS} INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms, taking_part)
    SELECT soul || '/' || workspace || '/' || channel || k || '/', soul, workspace, channel || k, '', place,
           'dm:' || channel || k, last_ms, taking_part FROM conversations, n WHERE place = 'dm' LIMIT :rows - 1
    """  # noqa: S608 - a constant
_AIMS: Final = f"""
    {_NUMBERS} INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words,
                                  priority, state, follow_up, due_ms, created_ms, touched_ms, why, thought, changed_by)
    SELECT t.soul, 'G' || k, t.workspace, c.id, c.audience, t.readers, '', 'see to it ' || k, 'see to it ' || k,
           0.5, 'open', 0, t.at_ms + {_LATER_MS} + k, t.at_ms, t.at_ms, '', t.id, t.id
    FROM n, (SELECT * FROM thoughts WHERE occasion = 'words' LIMIT 1) t
    JOIN (SELECT *, row_number() OVER (ORDER BY id) AS nth FROM conversations WHERE place = 'dm') c
      ON c.nth = k % {_TALKS} + 1
    """  # noqa: S608 - constants


async def measure(bench: Bench) -> list[Row]:
    """Calls of models and of Slack's Web API, and processor time; in real time, both daemons side by side."""
    rounds, seconds = bench.size(5, 2), bench.size(60, 10)
    async with stage(Bot.OURS) as off, stage(Bot.OURS, SOUL_CYCLE_ENABLED="true") as on:
        furnish(on.home, "unified", "cycle")
        both = (off, on)
        for one in both:
            await one.start()
            await one.reply_to(await one.say("ada", "dm", one.marked()), _WITHIN)
            await at_rest(one)
        if not await on.until(lambda: _awake(on), _WITHIN):
            raise RuntimeError("the soul does not think by itself")
        _aim(on)
        await on.clock.sleep(bench.size(20, 5))  # until what a start leaves to do is over
        before = await _calls(on)
        extra, busy = list[float](), list[float]()
        for _ in range(rounds):
            used = [one.cpu for one in both]
            await on.clock.sleep(seconds)
            without, beside = (100 * (one.cpu - was) / seconds for one, was in zip(both, used, strict=True))
            extra.append(beside - without)
            busy.append(without)
        asked, thought = (after - was for after, was in zip(await _calls(on), before, strict=True))
    what = f"{rounds} times {seconds} s, {_TALKS} conversations, {_GOALS} goals"
    note = f"{min(extra):.2f} to {max(extra):.2f}; without {median(busy):.2f} %"
    return [
        Row(f"{what}: processor beyond one at default settings", "%", median(extra), at_most=_MOST, note=note),
        Row(f"{what}: model calls", "", thought, at_most=0),
        Row(f"{what}: Slack calls", "", asked, at_most=0),
    ]


async def _awake(set_up: Stage) -> bool:
    return bool(read(set_up, "SELECT 1 FROM thoughts WHERE occasion = 'awakening'"))


def _aim(set_up: Stage) -> None:
    """Give the soul as many conversations and goals, of which none is due."""
    with closing(sqlite3.connect(set_up.home / "memory.db", timeout=10, isolation_level=None)) as connection:
        connection.execute(_OTHERS, {"rows": _TALKS})
        connection.execute(_AIMS, {"rows": _GOALS})
    (goals,) = read(set_up, "SELECT count(*), count(DISTINCT conversation) FROM goals WHERE state = 'open'")
    if goals != (_GOALS, _TALKS):
        raise RuntimeError(f"there are {goals} goals and conversations in place of {_GOALS} and {_TALKS}")


async def _calls(set_up: Stage) -> tuple[int, int]:
    """How often it called Slack's Web API and a model so far."""
    return len(await set_up.people.calls()), int(read(set_up, "SELECT count(*) FROM llm_calls")[0][0])
