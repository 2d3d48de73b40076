"""A soul that thinks by itself, on a clock that is moved: what each of its unasked thoughts takes, and an idle day."""

from collections.abc import Mapping
from typing import Final

from bench.model_server import model_server
from bench.model_use import ModelUse, used_since
from bench.stage import Bot, Stage, stage
from bench.talk import SENTENCE, at_rest, furnish, mark, read, say
from bench.thinker import Thinker
from daemon.core.value import Value

_MINUTE, _HOUR = 60.0, 3_600.0
_WITHIN: Final = 30.0
_ASIDE: Final = "@Ben could you look at the valve's log in the meantime?"
CYCLE_ON: Final = {
    "SOUL_CYCLE_ENABLED": "true",
    "SOUL_CYCLE_TOKENS_HOUR": "10000000",
    "SOUL_CYCLE_TOKENS_DAY": "100000000",
    "SOUL_CYCLE_USD_DAY": "1000",
    "SOUL_QUIET_HOURS": "",
}
"""The settings with which a soul thinks by itself, at all times of day and within a budget that it never meets."""

_SILENT: Final[Mapping[str, object]] = {"external_speech": "", "predictions": []}
_GOALS: Final = (
    {"goal": "see whether the valve's log agrees", "due": "in 10 minutes"},
    {"goal": "ask again", "due": "in 9 days"},
)


class Unasked(Value):
    """The unasked thoughts that were played, and all calls of a day in which nothing was due."""

    thoughts: tuple[ModelUse, ...]
    idle: ModelUse


async def unasked_thoughts(model_name: str, turns: int) -> Unasked:
    """An awakening, a goal that falls due after so many turns, what they expected in vain, and the end of a visit.

    In that visit something was said aside. The unasked thoughts say nothing and expect nothing. Raises RuntimeError
    where one of them is not thought.
    """
    thinker = Thinker()
    async with model_server() as model:
        model.thinker = thinker
        async with stage(
            Bot.OURS, **model.settings_for(model_name, model_name), **CYCLE_ON, SOUL_REHEARSAL_CLOCK="true"
        ) as set_up:
            furnish(set_up.home, "unified", "cycle")
            thinker.parts = _SILENT
            await set_up.start()
            awakening = await _thought(set_up, 0, "awakening", "the awakening")
            due = await _due_goal(set_up, thinker, turns)
            surprise = await _surprise(set_up, thinker)
            ended = await _end_of_visit(set_up, thinker)
            return Unasked((awakening, due, surprise, ended), await _idle_day(set_up))


async def _due_goal(set_up: Stage, thinker: Thinker, turns: int) -> ModelUse:
    for number in range(1, turns + 1):
        thinker.parts = {"goal_updates": [_adding(one) for one in _GOALS]} if number == turns else {}
        await say(set_up, thinker, "ada", SENTENCE.format(number))
    done = [{**_adding({}), "action": "complete", "goal_id": "G1"}]
    thinker.parts = {**_SILENT, "goal_updates": done}
    last, _ = mark(set_up)
    await set_up.people.advance(11 * _MINUTE)
    return await _thought(set_up, last, "due", "a goal that is due")


async def _surprise(set_up: Stage, thinker: Thinker) -> ModelUse:
    thinker.parts = _SILENT
    last, _ = mark(set_up)
    await set_up.people.advance(2 * _HOUR)
    return await _thought(set_up, last, "surprise", "what was expected in vain")


async def _end_of_visit(set_up: Stage, thinker: Thinker) -> ModelUse:
    thinker.parts, thinker.newest = {"predictions": []}, ""
    message = await set_up.say("ada", "general", f"@soul {SENTENCE.format(1)}")
    await set_up.reply_to(message, _WITHIN)
    await set_up.say("ada", "general", _ASIDE, thread=message["ts"])
    await at_rest(set_up)
    thinker.parts = _SILENT
    last, _ = mark(set_up)
    for seconds in (31 * _MINUTE, 4 * _HOUR):
        await set_up.people.advance(seconds)
        await at_rest(set_up)
    return await _thought(set_up, last, "visit_end", "the end of a visit")


async def _idle_day(set_up: Stage) -> ModelUse:
    await set_up.people.advance(5 * _HOUR)  # what ends with the silence is over by then
    await at_rest(set_up)
    last, _ = mark(set_up)
    for _ in range(24):
        await set_up.people.advance(_HOUR)
        await at_rest(set_up)
    return used_since(set_up, last, "an idle day")


async def _thought(set_up: Stage, last: int, occasion: str, what: str) -> ModelUse:
    """Wait until a thought on this occasion is stored, and give what it took."""

    async def look() -> bool:
        return bool(read(set_up, "SELECT 1 FROM thoughts WHERE occasion = ?", occasion))

    if not await set_up.until(look, _WITHIN):
        raise RuntimeError(f"{what} was not thought about")
    await at_rest(set_up)
    return used_since(set_up, last, what, "think", unasked=True)


def _adding(goal: Mapping[str, object]) -> dict[str, object]:
    blank = {"goal": "", "goal_id": "", "priority": 0.5, "due": "", "follow_up": False, "why": ""}
    return {"action": "add", **blank, **goal}
