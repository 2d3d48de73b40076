"""What of each request was sent before, and what that saves: talk in each mental process, over both protocols.

The daemon asks through the vendors' own clients; the model server counts by the published rules of their caches.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.prefix_cache import AutomaticCache, Counted, MarkedCache, PrefixCache
from bench.processes import CHECKOUT
from bench.report import Row, Sheet
from bench.stage import Bot, Stage, stage
from bench.talk import SENTENCE, furnish, mark, read, say
from bench.thinker import Thinker
from daemon.core.ports.services import Completion
from daemon.core.value import Value
from daemon.llm.answers import parse_model_id
from daemon.llm.prices import cost_of, traits_of

_ENOUGH: Final = 80  # per cent from the second turn on
_HEAD: Final = ("process", "protocol", "turns", "calls", "in", "cached, %", "out", "$ uncached", "$ cached")
_GREETING: Final = "Hello! We are rebuilding the pump house."
_TALKS: Final = {
    "ben": "What do scholars say of the Minoan water works, number {}?",
    "chloe": "Write me a poem about spring number {}.",
    "dan": "Who should I ask about database number {}?",
    "eve": "Now find out in 3 steps why pump number {} stops.",
}
_PASSED: Final = ("greeting", "ready", "problem_solving", "poetic")  # a message may pass them and end in another


class _Models(Value):
    """A protocol, and the models that the daemon chooses when its vendor's key is the only one."""

    protocol: str
    persona: str
    thinking: str

    def cache(self) -> PrefixCache:
        """The vendor's cache, with nothing in it."""
        if self.protocol == "OpenAI":
            return AutomaticCache()
        models = [parse_model_id(model) for model in (self.persona, self.thinking)]
        return MarkedCache({model.name: traits_of(model).smallest_cached or 0 for model in models})

    def full_name(self, name: str) -> str:
        """A model's prefixed id, by its name in a request."""
        return next(model for model in (self.persona, self.thinking) if parse_model_id(model).name == name)


_MODELS: Final = (
    _Models("Anthropic", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5"),
    _Models("OpenAI", "openai/gpt-5.6-terra", "openai/gpt-5.6-terra"),
)


class _Turn(Value):
    """One message: the process it passed, the requests, output tokens, dollars with the vendor's cache and without.

    What is done after the reply is counted too.
    """

    process: str
    protocol: str
    asked: Sequence[Counted]
    out: int
    cached_usd: float
    uncached_usd: float


async def measure(bench: Bench) -> list[Row | Sheet]:
    """The cached share of an ordinary talk from the second turn on, and a line for each process and protocol."""
    lengths = bench.size(100, 12), bench.size(30, 4)
    ordinary, kinds = list[Row](), defaultdict[str, list[tuple[str, ...]]](list)
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(_talks(models, *lengths)) for models in _MODELS]
    for turns in (talks.result() for talks in both):
        protocol, second_on = turns[0].protocol, turns[1 : lengths[0]]
        share = f"input sent before, turns 2 to {lengths[0]}, {protocol}"
        ordinary.append(Row(share, "%", _share(second_on), at_least=_ENOUGH))
        for process in dict.fromkeys(turn.process for turn in turns):
            kinds[process].append(_cells([turn for turn in turns if turn.process == process]))
    sheet = Sheet(
        "A turn of a talk, by mental process and protocol",
        _HEAD,
        tuple(line for lines in kinds.values() for line in lines),
        note="all but `turns` are means of a turn; dollars are those of a thousand turns; the cache was empty before",
    )
    return [*ordinary, sheet]


class _Talker(Value):
    """Talks with a daemon that uses these models."""

    set_up: Stage
    thinker: Thinker
    models: _Models

    async def talk(self, person: str, asks: str, turns: int) -> list[_Turn]:
        """A greeting, then so many turns in all about one thing after the other."""
        said = [_GREETING, *(asks.format(number) for number in range(2, turns + 1))]
        return [await self._turn(person, words) for words in said]

    async def _turn(self, person: str, words: str) -> _Turn:
        (calls, steps), before = mark(self.set_up), len(self.thinker.counted)
        await say(self.set_up, self.thinker, person, words)
        asked = self.thinker.counted[before:]
        path = read(self.set_up, "SELECT origin, target FROM transitions WHERE seq > ? ORDER BY seq", steps)
        made = read(self.set_up, "SELECT model, tokens_out FROM llm_calls WHERE rowid > ?", calls)
        answered = sum(cost_of(Completion(model, tokens_out=out)).usd for model, out in made)
        return _Turn(
            _process(path),
            self.models.protocol,
            asked,
            sum(out for _, out in made),
            answered + sum(self._usd(one, cached=True) for one in asked),
            answered + sum(self._usd(one, cached=False) for one in asked),
        )

    def _usd(self, one: Counted, *, cached: bool) -> float:
        model = self.models.full_name(one.model)
        read_, written = (one.cached, one.written) if cached else (0, 0)
        return cost_of(Completion(model, one.tokens, read_, tokens_written=written)).usd


async def _talks(models: _Models, ordinary: int, others: int) -> list[_Turn]:
    """An ordinary talk, then a shorter one for each mode, each with another user."""
    async with _talker(models) as talker:
        turns = await talker.talk("ada", SENTENCE, ordinary)
        for person, asks in _TALKS.items():
            turns += await talker.talk(person, asks, others)
    return turns


@asynccontextmanager
async def _talker(models: _Models) -> AsyncIterator[_Talker]:
    thinker = Thinker(cache=models.cache())
    async with model_server() as model:
        model.thinker = thinker
        settings = model.settings_for(models.persona, models.thinking)
        searched = str(CHECKOUT.get() / "souls" / "plain")
        async with stage(Bot.OURS, ISM_ENABLED="true", SOUL_LIBRARY=searched, **settings) as set_up:
            furnish(set_up.home, "unified")
            for person in ("dan", "eve"):
                await set_up.people.add_person(person.title())
            await set_up.start()
            yield _Talker(set_up, thinker, models)


def _process(path: Sequence[tuple[str, str]]) -> str:
    """The process that a path is counted under: one that was only passed, else the one in which it ended."""
    return next((name for name in _PASSED if any(name in step for step in path)), path[-1][1])


def _share(turns: Sequence[_Turn]) -> float:
    """Per cent of the input tokens that were read from the cache, those of the region of memories left out."""
    asked = [one for turn in turns for one in turn.asked]
    return 100 * sum(one.cached for one in asked) / sum(one.tokens - one.memories for one in asked)


def _cells(turns: Sequence[_Turn]) -> tuple[str, ...]:
    """The line of a process and a protocol."""
    count, asked = len(turns), [one for turn in turns for one in turn.asked]
    return (
        turns[0].process,
        turns[0].protocol,
        str(count),
        f"{len(asked) / count:.2f}",
        f"{sum(one.tokens for one in asked) / count:,.0f}",
        f"{_share(turns):.0f}",
        f"{sum(turn.out for turn in turns) / count:,.0f}",
        f"{1000 * sum(turn.uncached_usd for turn in turns) / count:.2f}",
        f"{1000 * sum(turn.cached_usd for turn in turns) / count:.2f}",
    )
