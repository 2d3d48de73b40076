"""Whether what a soul thinks by itself delays words: DMs while 1,000 goals are due at once, and while none is."""

import random
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import PEOPLE, Bot, Stage, stage
from bench.talk import at_rest, furnish, read
from bench.thinker import Thinker
from bench.unasked import CYCLE_ON
from daemon.memory.database.sqlite import sqlite3

_EACH: Final = 12  # goals of a person, which is as many as may be open
_BLOCK: Final = 20  # DMs without a change
_WARM_UP: Final = 5
_LONGEST_GAP: Final = 0.4  # seconds between a reply and the next DM
_WITHIN: Final = 30.0
_MOST: Final = 1.2
_MODEL: Final = "openai/gpt-5.6-terra"
_ADD: Final = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words, priority, state,
                       follow_up, created_ms, touched_ms, why, thought, changed_by)
    SELECT t.soul, 'G' || t.seq || '.' || i, t.workspace, t.conversation, t.audience, t.readers, '', 'see to it ' || i,
           'see to it ' || i, 0.5, 'open', 0, t.at_ms, t.at_ms, '', t.id, t.id FROM thoughts t, n ORDER BY t.seq, i
    """
_DUE: Final = "UPDATE goals SET due_ms = ?, woken_ms = 0"
_SOON: Final = 2.0  # seconds until they fall due, when what the change itself took is over
_NOT_DUE: Final = ("UPDATE goals SET due_ms = NULL", "UPDATE ticks SET due_ms = NULL")


@dataclass(slots=True)
class _Blocks:
    """Milliseconds of DMs without and with goals that are due, and how many unasked thoughts came meanwhile."""

    without: list[float]
    beside: list[float]
    thoughts: int


async def measure(bench: Bench) -> list[Row]:
    """Ratios of times beyond the model; by turns in one daemon, so that load affects both."""
    people, rounds = bench.size(84, 12), bench.size(6, 2)
    rows = list[Row]()
    for pause, name in ((0.0, "a model that answers at once"), (0.3, "a model of 0.3 s")):
        found = await _measured(people, rounds, pause)
        beside, without, beside_95, without_95 = (
            quantile(taken, share) - 1000 * pause for share in (0.5, 0.95) for taken in (found.beside, found.without)
        )
        what = f"a DM beside {people * _EACH} due goals to one without, {name}"
        note = (
            f"{beside_95:.0f} ms against {without_95:.0f} ms beyond the model; {found.thoughts} unasked thoughts "
            f"beside {len(found.beside)} DMs"
        )
        rows.append(Row(f"{what}, p50", "", beside / without))
        rows.append(Row(f"{what}, p95", "", beside_95 / without_95, at_most=_MOST, note=note))
    return rows


async def _measured(people: int, rounds: int, pause: float) -> _Blocks:
    async with model_server() as model:
        model.thinker = Thinker(parts={"predictions": []})
        async with stage(Bot.OURS, **model.settings_for(_MODEL, _MODEL), **CYCLE_ON) as set_up:
            furnish(set_up.home, "unified", "cycle")
            await set_up.start()
            await _meet(set_up, people)
            model.pause = pause
            gaps = random.Random(7)  # noqa: S311 - no secret
            await _block(set_up, _WARM_UP, gaps)
            found = _Blocks([], [], 0)
            for _ in range(rounds):
                found.without.extend(await _block(set_up, _BLOCK, gaps))
                before, due = _unasked(set_up), set_up.clock.now_ms() + int(1000 * _SOON)
                _change(set_up, _DUE, due)
                await _block(set_up, 1, gaps)
                await set_up.clock.sleep(max(0.0, due - set_up.clock.now_ms()) / 1000)
                found.beside.extend(await _block(set_up, _BLOCK, gaps))
                found.thoughts += _unasked(set_up) - before
                await _call_off(set_up)
                await _block(set_up, 1, gaps)
            return found


async def _meet(set_up: Stage, people: int) -> None:
    """Have each of so many users write a DM, from which on they have goals."""
    for number in range(people):
        await set_up.people.add_person(f"p{number}")
        await set_up.reply_to(await set_up.say(f"p{number}", "dm", set_up.marked()), _WITHIN)
    await at_rest(set_up)
    _change(set_up, _ADD, _EACH)


async def _block(set_up: Stage, size: int, gaps: random.Random) -> list[float]:
    """Milliseconds until the reply stands, of DMs by other users after random pauses."""
    taken = list[float]()
    for number in range(size):
        await set_up.clock.sleep(gaps.uniform(0, _LONGEST_GAP))
        message = await set_up.say(PEOPLE[number % len(PEOPLE)], "dm", set_up.marked())
        taken.append(1000 * await set_up.reply_to(message, _WITHIN))
    return taken


async def _call_off(set_up: Stage) -> None:
    """Have no goal be due, and wait until what is thought about by then has its end."""

    async def look() -> bool:
        return not read(set_up, "SELECT 1 FROM inbox WHERE state IN ('new', 'claimed')")

    for statement in _NOT_DUE:
        _change(set_up, statement)
    if not await set_up.until(look, _WITHIN):
        raise RuntimeError("an unasked thought came to no end")
    await at_rest(set_up)


def _unasked(set_up: Stage) -> int:
    return int(read(set_up, "SELECT count(*) FROM thoughts WHERE occasion = 'due'")[0][0])


def _change(set_up: Stage, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(set_up.home / "memory.db", timeout=_WITHIN)) as connection, connection:
        connection.execute(sql, values)
