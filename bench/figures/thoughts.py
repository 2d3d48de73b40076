"""What a whole thought costs beside a reply in words: calls, tokens and money of the same talk in both minds."""

import asyncio
import json
from dataclasses import dataclass
from typing import Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row, Sheet
from bench.stage import Bot, stage
from bench.talk import furnish, mark, read, say
from bench.thinker import Thinker
from daemon.core.ports.models import Completion
from daemon.core.working_memory import estimate_tokens
from daemon.llm.prices import cost_of
from daemon.mind.thought import WIRE_SCHEMA

_MODEL: Final = "openai/gpt-5.6-terra"
_MINDS: Final = {"process": "respond", "cycle": "think"}
_HEAD: Final = ("turn", "step", "calls", "in", "cached", "out", "$ of 1,000")
_SENTENCE: Final = "We looked into the figures again and found that the second pump, number {}, had been left running."
_MORE_IN, _MORE_OUT, _MOST_IN = 900, 250, 6_000


@dataclass(frozen=True, slots=True)
class _Turn:
    """One message: the calls until all that follows it is done, and their tokens and US dollars."""

    number: int
    step: str
    calls: int
    tokens_in: int
    cached: int
    out: int
    usd: float

    def cells(self) -> tuple[str, ...]:
        """Its line in the table."""
        tokens = (f"{one:,}" for one in (self.tokens_in, self.cached, self.out))
        return (str(self.number), self.step, str(self.calls), *tokens, f"{1_000 * self.usd:.2f}")


async def measure(bench: Bench) -> list[Row | Sheet]:
    """The first turn and the last of a talk in both minds; targets are those of a whole thought beside `respond`."""
    turns = bench.size(100, 12)
    async with asyncio.TaskGroup() as group:
        both = {mind: group.create_task(_talk(mind, turns)) for mind in _MINDS}
    words, thoughts = both["process"].result(), both["cycle"].result()
    first, before = thoughts[0], words[0]
    shown = [talk[turn] for turn in (0, 1, turns - 1) for talk in (words, thoughts)]
    sheet = Sheet(
        "A turn of a talk, answered in words and by a whole thought",
        _HEAD,
        tuple(one.cells() for one in shown),
        note="`out` is scripted; what is done after the reply is counted; the schemas, which go beside, are not",
    )
    schema = estimate_tokens(json.dumps(WIRE_SCHEMA))
    return [
        Row(
            "turn 1, input of `think` beyond `respond`", "tokens", first.tokens_in - before.tokens_in, at_most=_MORE_IN
        ),
        Row("turn 1, output of `think` beyond `respond`", "tokens", first.out - before.out, at_most=_MORE_OUT),
        Row(f"turn {turns}, input of `think`", "tokens", thoughts[-1].tokens_in, at_most=_MOST_IN),
        Row("calls of the whole talk, `think` beyond `respond`", "", _calls(thoughts) - _calls(words), at_most=0),
        Row("the schema of a whole thought", "tokens", schema, note="sent beside each prompt, and cached"),
        sheet,
    ]


def _calls(talk: list[_Turn]) -> int:
    return sum(turn.calls for turn in talk)


async def _talk(mind: str, turns: int) -> list[_Turn]:
    thinker = Thinker()
    async with model_server() as model:
        model.thinker = thinker
        async with stage(Bot.OURS, **model.settings_for(_MODEL, _MODEL)) as set_up:
            furnish(set_up.home, "unified", mind)
            await set_up.start()
            talk = list[_Turn]()
            for number in range(1, turns + 1):
                rows, _ = mark(set_up)
                await say(set_up, thinker, "ada", _SENTENCE.format(number))
                made = read(
                    set_up,
                    "SELECT model, tokens_in, tokens_cached, tokens_out, step FROM llm_calls WHERE rowid > ?",
                    rows,
                )
                talk.append(_turn(number, _MINDS[mind], made))
            return talk


def _turn(number: int, step: str, made: list[tuple[str, int, int, int, str]]) -> _Turn:
    """The calls of a message. Raises ValueError where another step answered than the one that is measured."""
    if step not in {call[4] for call in made}:
        raise ValueError(f"turn {number} was answered by {', '.join(call[4] for call in made) or 'no call'}")
    usd = sum(cost_of(Completion(model, given, cached, out)).usd for model, given, cached, out, _ in made)
    given, cached, out = (sum(int(call[column]) for call in made) for column in (1, 2, 3))
    return _Turn(number, step, len(made), given, cached, out, usd)
