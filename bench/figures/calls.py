"""Model calls and tokens of one message, by mental process and pipeline, and of the jobs after the reply."""

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row, Sheet
from bench.stage import Bot, Json, Stage, stage
from bench.thinker import CHANGE, LEARN, Thinker
from daemon.memory.database.driver import sqlite3

_SOULS: Final = Path(__file__).parents[2] / "souls"

_PIPELINES: Final = ("unified", "split")
_HEAD: Final = ("process", "pipeline", "persona", "thinking", "in", "cached", "out", "after", "in", "cached", "out")
_WITHIN: Final = 30.0
_DORMANT, _SILENCE = 2.0, 4.0  # seconds until dormancy in the daemon with short silences
_CONTACT: Final = '\n[[contacts]]\nname = "Ben"\nslack = "U0BEN"\ncan = "restarts the database"\n'
_LONG: Final = (
    "We went through the figures of last week again, pump by pump, and wrote down what each of them did. " * 60
)


@dataclass(frozen=True, slots=True)
class _Said:
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


@dataclass(frozen=True, slots=True)
class _Spent:
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
        searched = str(_SOULS / "plain")
        async with stage(Bot.OURS, ISM_ENABLED="true", SOUL_LIBRARY=searched, **model.settings, **settings) as set_up:
            _furnish(set_up.home, pipeline)
            await set_up.start()
            await _say(set_up, model.thinker, "ben", "Good morning.")
            await _say(set_up, model.thinker, "ben", "Find out why it rains.")
            yield set_up, model.thinker


def _furnish(home: Path, pipeline: str) -> None:
    folder = home / "souls" / "minoan"
    shutil.copytree(_SOULS / "minoan", folder)
    manifest = folder / "soul.toml"
    shipped = manifest.read_text(encoding="utf-8")
    manifest.write_text(
        shipped.replace('pipeline = "unified"', f'pipeline = "{pipeline}"') + _CONTACT, encoding="utf-8"
    )


async def _say(set_up: Stage, thinker: Thinker, person: str, words: str) -> Json:
    thinker.newest = words
    message = await set_up.say(person, "dm", words)
    await set_up.reply_to(message, _WITHIN)
    await _at_rest(set_up)
    return message


async def _at_rest(set_up: Stage) -> None:
    async def look() -> bool:
        return not _read(set_up, "SELECT 1 FROM jobs WHERE state IN ('ready', 'running') LIMIT 1")

    await set_up.quiet(0.3)
    if not await set_up.until(look, _WITHIN):
        raise RuntimeError("what is done after a reply did not come to its end")


async def _line(set_up: Stage, thinker: Thinker, pipeline: str, said: _Said) -> _Line:
    mark = _mark(set_up)
    await _say(set_up, thinker, "ada", said.words)
    return _spent_since(set_up, mark, said, pipeline)


async def _silences(set_up: Stage, thinker: Thinker, pipeline: str) -> list[_Line]:
    """The calls during a silence, and of the reply that welcomes the user back."""
    await _say(set_up, thinker, "ada", "Hello! We are rebuilding the pump house.")
    mark = _mark(set_up)
    await set_up.clock.sleep(_SILENCE + 3)
    silent = _spent_since(set_up, mark, _Said("dormant, silent", "dormant", ""), pipeline)
    return [await _line(set_up, thinker, pipeline, _Said("returning", "returning", "Here I am again.")), silent]


def _mark(set_up: Stage) -> tuple[int, int]:
    """The last rows of `llm_calls` and of the transitions."""
    calls, steps = "SELECT coalesce(max(rowid), 0) FROM llm_calls", "SELECT coalesce(max(seq), 0) FROM transitions"
    return int(_read(set_up, calls)[0][0]), int(_read(set_up, steps)[0][0])


def _spent_since(set_up: Stage, mark: tuple[int, int], said: _Said, pipeline: str) -> _Line:
    """Read `llm_calls`. Raises RuntimeError when the path differs from the table, or a call failed."""
    calls, steps = mark
    path = _read(set_up, "SELECT origin, target, trace_id FROM transitions WHERE seq > ? ORDER BY seq", steps)
    made = _read(
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


def _read(set_up: Stage, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{(set_up.home / 'memory.db').as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, values).fetchall()
