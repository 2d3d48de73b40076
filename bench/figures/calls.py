"""Model calls and tokens of one message, by mental process and pipeline, and of the jobs after the reply."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.processes import CHECKOUT
from bench.report import Row, Sheet
from bench.stage import Bot, Stage, stage
from bench.talk import furnish, mark, read, say
from bench.thinker import CHANGE, LEARN, Thinker
from daemon.core.value import Value

_PIPELINES: Final = ("unified", "split")
_HEAD: Final = ("process", "pipeline", "persona", "thinking", "in", "cached", "out", "after", "in", "cached", "out")
_DORMANT, _SILENCE = 2.0, 4.0  # seconds until dormancy in the daemon with short silences
_LONG: Final = (
    "We went through the figures of last week again, pump by pump, and wrote down what each of them did. " * 60
)


class _Said(Value):
    """A message and its name in the table, the process that it passes, and a step that must follow the reply."""

    name: str
    process: str
    words: str
    after: str = ""


# One after the other in one conversation.
_TALK: Final = (
    _Said("greeting", "greeting", "Hello! We are rebuilding the pump house."),
    _Said("curious", "curious", "It is the second pump that worries us."),
    _Said("curious, into the matter", "curious", "The valve was changed last month."),
    _Said("engaged", "engaged", "And the figures went up after that."),
    _Said("engaged, something learned", "engaged", f"We log it all, and {LEARN}.", "visitor_whispers"),
    _Said("engaged, mood changed", "engaged", f"Well, {CHANGE}."),
    _Said("ready", "ready", "Who should I ask about the database?"),
    _Said("academic, entered", "academic", "What do scholars say of the Minoan water works?"),
    _Said("academic", "academic", "And what of the Minoan drains?"),
    _Said("poetic", "poetic", "Write me a poem about that water."),
    _Said("problem_solving, 1 loop", "problem_solving", "Now find out in 1 steps why it runs."),
    _Said("problem_solving, 3 loops", "problem_solving", "Now find out in 3 steps why it stops."),
    _Said("problem_solving, 5 loops", "problem_solving", "Now find out in 5 steps why it leaks."),
    _Said("engaged, at length", "engaged", _LONG),
    _Said("engaged, talk outgrown", "engaged", _LONG, "summarize"),
)


async def measure(_: Bench) -> list[Row | Sheet]:
    """A table with a line for each process and pipeline, and the calls of an ordinary message as figures."""
    lines: list[_Line] = []
    for pipeline in _PIPELINES:
        async with _house(pipeline) as (set_up, thinker):
            lines += [await _line(set_up, thinker, pipeline, one) for one in _TALK]
        short = {"SOUL_DORMANT_AFTER": str(_DORMANT), "SOUL_VISIT_SILENCE": str(_SILENCE)}
        async with _house(pipeline, **short) as (set_up, thinker):
            lines += await _silences(set_up, thinker, pipeline)
    ordinary = {one.pipeline: one for one in lines if one.name == "engaged"}
    sheet = Sheet(
        "Model calls of one message: until the reply, by role, and after it, with their tokens",
        _HEAD,
        tuple(one.cells() for name in dict.fromkeys(one.name for one in lines) for one in lines if one.name == name),
        note="`cached` is the part of `in` that an endpoint which caches prefixes had seen before; `out` is scripted",
    )
    return [
        Row("model calls of an ordinary message, unified", "", ordinary["unified"].until.calls, at_most=1),
        Row("model calls of an ordinary message, split", "", ordinary["split"].until.calls, at_most=3),
        Row("model calls after an ordinary message, unified", "", ordinary["unified"].after.calls, at_most=0),
        sheet,
    ]


class _Spent(Value):
    """Calls by role, and their tokens."""

    persona: int = 0
    thinking: int = 0
    tokens: tuple[int, int, int] = (0, 0, 0)

    @property
    def calls(self) -> int:
        return self.persona + self.thinking


@dataclass(frozen=True, slots=True)
class _Line:
    """One message: its calls until the reply stands, and after it."""

    name: str
    pipeline: str
    until: _Spent
    after: _Spent

    def cells(self) -> tuple[str, ...]:
        """Its cells in the table."""
        until, after = self.until, self.after
        figures = (until.persona, until.thinking, *until.tokens, after.calls, *after.tokens)
        return self.name, self.pipeline, *(f"{figure:,}" for figure in figures)


@asynccontextmanager
async def _house(pipeline: str, **settings: str) -> AsyncIterator[tuple[Stage, Thinker]]:
    """A daemon with the shipped soul in this pipeline, which knows one user; another one has written to it already."""
    async with model_server() as model:
        model.thinker = Thinker()
        searched = str(CHECKOUT.get() / "souls" / "plain")
        async with stage(Bot.OURS, ISM_ENABLED="true", SOUL_LIBRARY=searched, **model.settings, **settings) as set_up:
            furnish(set_up.home, pipeline)
            await set_up.start()
            await say(set_up, model.thinker, "ben", "Good morning.")
            await say(set_up, model.thinker, "ben", "Find out why it rains.")
            yield set_up, model.thinker


async def _line(set_up: Stage, thinker: Thinker, pipeline: str, said: _Said) -> _Line:
    since = mark(set_up)
    await say(set_up, thinker, "ada", said.words)
    return _spent_since(set_up, since, said, pipeline)


async def _silences(set_up: Stage, thinker: Thinker, pipeline: str) -> list[_Line]:
    """The calls during a silence, and of the reply that welcomes the user back."""
    await say(set_up, thinker, "ada", "Hello! We are rebuilding the pump house.")
    since = mark(set_up)
    await set_up.clock.sleep(_SILENCE + 3)
    silent = _spent_since(set_up, since, _Said("dormant, silent", "dormant", ""), pipeline)
    return [await _line(set_up, thinker, pipeline, _Said("returning", "returning", "Here I am again.")), silent]


def _spent_since(set_up: Stage, since: tuple[int, int], said: _Said, pipeline: str) -> _Line:
    """Read `llm_calls`. Raises RuntimeError when the path differs from the table, or a call failed."""
    calls, steps = since
    path = read(set_up, "SELECT origin, target, trace_id FROM transitions WHERE seq > ? ORDER BY seq", steps)
    made = read(
        set_up,
        "SELECT trace_id, role, tokens_in, tokens_cached, tokens_out, outcome, step FROM llm_calls WHERE rowid > ?",
        calls,
    )
    traces = {trace for _, _, trace in path}
    until, after = [one for one in made if one[0] in traces], [one for one in made if one[0] not in traces]
    if not any(said.process in (origin, target) for origin, target, _ in path):
        raise RuntimeError(f"{said.name} went another way: {path}")
    if said.after and said.after not in {one[-1] for one in after}:
        raise RuntimeError(f"{said.name} was not followed by {said.after}")
    if failed := [one for one in made if one[-2] != "ok"]:
        raise RuntimeError(f"{said.name}: {failed}")
    return _Line(said.name, pipeline, _sum(until), _sum(after))


def _sum(calls: Sequence[tuple[Any, ...]]) -> _Spent:
    persona = sum(one[1] == "persona" for one in calls)
    tokens = (sum(one[2] for one in calls), sum(one[3] for one in calls), sum(one[4] for one in calls))
    return _Spent(persona, len(calls) - persona, tokens)
