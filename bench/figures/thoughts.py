"""What whole thoughts cost, asked and unasked, beside a reply in words: calls, tokens and money."""

import asyncio
import json
from typing import Final

from bench.model_server import model_server
from bench.model_use import HEAD, ModelUse, used_since
from bench.plan import Bench
from bench.report import Row, Sheet
from bench.stage import Bot, stage
from bench.talk import SENTENCE, furnish, mark, say
from bench.thinker import Thinker
from bench.unasked import Unasked, unasked_thoughts
from daemon.core.working_memory import estimate_tokens
from daemon.mind.thought import WIRE_SCHEMA

_MODEL: Final = "openai/gpt-5.6-terra"
_MINDS: Final = {"process": "respond", "cycle": "think"}
_MORE_IN, _MORE_OUT, _MOST_IN = 900, 250, 6_000
_TICK_IN, _TICK_OUT = 3_500, 400


async def measure(bench: Bench) -> list[Row | Sheet]:
    """The first turn and the last of a talk in both minds, and thoughts that nobody asked for.

    Targets of a turn are those of a whole thought beside `respond`.
    """
    turns = bench.size(100, 12)
    async with asyncio.TaskGroup() as group:
        both = {mind: group.create_task(_talk(mind, turns)) for mind in _MINDS}
    words, thoughts = both["process"].result(), both["cycle"].result()
    unasked = await unasked_thoughts(_MODEL, turns)
    shown = [talk[turn] for turn in (0, 1, turns - 1) for talk in (words, thoughts)]
    sheet = Sheet(
        "Turns of a talk, answered in words and by a whole thought, and what nobody asked for",
        HEAD,
        tuple(one.cells() for one in (*shown, *unasked.thoughts, unasked.idle)),
        note="`out` is scripted; what is done after the reply is counted; the schemas, which go beside, are not",
    )
    return [*_rows_of_talk(words, thoughts), *_rows_unasked(unasked), sheet]


def _rows_of_talk(words: list[ModelUse], thoughts: list[ModelUse]) -> list[Row]:
    first, before, schema = thoughts[0], words[0], estimate_tokens(json.dumps(WIRE_SCHEMA))
    return [
        Row(
            "turn 1, input of `think` beyond `respond`", "tokens", first.tokens_in - before.tokens_in, at_most=_MORE_IN
        ),
        Row("turn 1, output of `think` beyond `respond`", "tokens", first.out - before.out, at_most=_MORE_OUT),
        Row(f"turn {len(thoughts)}, input of `think`", "tokens", thoughts[-1].tokens_in, at_most=_MOST_IN),
        Row("calls of the whole talk, `think` beyond `respond`", "", _calls(thoughts) - _calls(words), at_most=0),
        Row("the schema of a whole thought", "tokens", schema, note="sent beside each prompt, and cached"),
    ]


def _rows_unasked(unasked: Unasked) -> list[Row]:
    dearest, longest = (max(getattr(one, name) for one in unasked.thoughts) for name in ("tokens_in", "out"))
    return [
        Row("an unasked thought, input", "tokens", dearest, at_most=_TICK_IN, note="the longest of four kinds"),
        Row("an unasked thought, output", "tokens", longest, at_most=_TICK_OUT, note="the longest of four kinds"),
        Row("an idle day, model calls", "", unasked.idle.calls, at_most=0),
    ]


def _calls(talk: list[ModelUse]) -> int:
    return sum(turn.calls for turn in talk)


async def _talk(mind: str, turns: int) -> list[ModelUse]:
    thinker = Thinker()
    async with model_server() as model:
        model.thinker = thinker
        async with stage(Bot.OURS, **model.settings_for(_MODEL, _MODEL)) as set_up:
            furnish(set_up.home, "unified", mind)
            await set_up.start()
            talk = list[ModelUse]()
            for number in range(1, turns + 1):
                last, _ = mark(set_up)
                await say(set_up, thinker, "ada", SENTENCE.format(number))
                talk.append(used_since(set_up, last, f"turn {number}", _MINDS[mind]))
            return talk
