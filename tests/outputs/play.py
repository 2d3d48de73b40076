"""Plays outputs in small worlds, and counts: what had an effect that it may not have, and what was shown in private."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from daemon.core.errors import DaemonError
from tests import template
from tests.outputs.author import Known, Output, OutputAuthor
from tests.outputs.house import IN_WORDS, ROOMS, TalkRoom, ThinkingHouse, house
from tests.outputs.judge import FUNCTION, Expected, State, done_by, expected_of
from tests.outputs.text import in_pieces
from tests.unit.hostile_answers import CANARY

_OUTPUTS: Final = 200  # of one world
_TURNS: Final = 15  # messages, after which time passes
_TICKS: Final = 6
_HOUR_MS: Final = 3_600_000
_CRASHES: Final = (
    "cycle.failed",
    "cycle.given_up",
    "inbox.failed",
    "inbox.dead",
    "tick.skipped",
    "gate.failed",
    "gate.waits",
)
_SEEN: Final = re.compile(rf"{CANARY}\w*")


@dataclass
class OutputCount:
    """What was counted; the lists say what was wrong."""

    outputs: int = 0
    thoughts: int = 0
    ticks: int = 0
    effects: int = 0
    not_permitted: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [*self.not_permitted, *self.shown, *self.crashes, *self.missed]

    def __str__(self) -> str:
        played = f"outputs={self.outputs} thoughts={self.thoughts} ticks={self.ticks} effects={self.effects}"
        wrong = f"effects_not_permitted={len(self.not_permitted)} private_shown={len(self.shown)}"
        return f"{played} {wrong} crashes={len(self.crashes)} missed={len(self.missed)}"


async def play(outputs: int, seed: int, alive: Callable[[OutputCount], None] = lambda _: None) -> OutputCount:
    """Let souls think at least so many outputs; `alive` is called after each world."""
    count, world = OutputCount(), 0
    while count.outputs < outputs and len(count.crashes) < _TICKS:
        chance = Random(f"{seed} {world}")  # no secret
        with template.folder() as folder:
            await _World(chance, count).play(Path(folder), min(_OUTPUTS, outputs - count.outputs))
        world += 1
        alive(count)
    return count


class _World:
    """One soul, those who talk with it, and what its functions may do by themselves."""

    def __init__(self, chance: Random, count: OutputCount) -> None:
        self._chance, self._count = chance, count
        self._author = OutputAuthor(chance)
        self._given: list[Output] = []
        self._known, self._ticking = Known((), (), "", ""), False
        self._states: dict[str, State] = {}
        self._levels = {"values": 2, "identity": 2} if chance.random() < 0.5 else {}
        if chance.random() < 0.5:
            self._levels |= {chance.choice(sorted(set(FUNCTION.values()))): chance.choice((0, 1))}
        self._house: ThinkingHouse

    def think(self) -> tuple[list[str], str]:
        """The next answer of the model, in pieces, and how it ends."""
        twice = len(self._given) == 1 and self._given[0].sound is False and self._chance.random() < 0.01
        if self._ticking:
            self._known = self._known_in(self._claimed())
        self._given.append(self._author.output(self._known, after=bool(self._given) and not twice, alone=self._ticking))
        self._count.outputs += 1
        return in_pieces(self._given[-1].text, self._chance), self._given[-1].stop

    async def play(self, home: Path, outputs: int) -> None:
        """Think so many outputs; what a world fails by is a crash."""
        until = self._count.outputs + outputs
        async with house(home, self.think) as self._house:
            while self._count.outputs < until:
                try:
                    await self._messages()
                    await self._time_passes()
                except (DaemonError, AssertionError, ValueError, RecursionError, TypeError, KeyError) as error:
                    self._count.crashes.append(f"{type(error).__name__}: {error}")
                    return

    async def _messages(self) -> None:
        self._decide_levels()
        for _ in range(_TURNS):
            await self._house.clock.advance(1.0)
            room = self._chance.choice(ROOMS)
            state = self._before(room)
            await self._house.perceive(room, f"please look at the import {self._chance.random()}")
            self._judge(state)

    async def _time_passes(self) -> None:
        """Hours later: what is due is thought about, and said only where it was promised."""
        await self._house.clock.advance(float(self._chance.randint(1, 4) * 3_600))
        await self._house.score()
        for _ in range(_TICKS):
            await self._house.clock.advance(1.0)
            now = self._house.clock.now_ms()
            owed = self._house.rows(
                "SELECT goal FROM goals WHERE state = 'open' AND follow_up = 1 AND kept_ms IS NULL AND due_ms <= ?", now
            )
            self._before(ROOMS[0])
            self._ticking, self._states = True, {room.channel: State.of(self._house, room) for room in ROOMS}
            if not await self._house.tick():
                return
            self._count.ticks += 1
            claimed = self._house.rows("SELECT conversation FROM thoughts ORDER BY seq DESC LIMIT 1")
            room = next(one for one in ROOMS if claimed and claimed[0]["conversation"] == str(one.conversation))
            self._judge(self._states[room.channel], tick=True, owed=" ".join(row["goal"] for row in owed))

    def _decide_levels(self) -> None:
        """An admin gives each function the level that this world has for it."""
        self._house.change("DELETE FROM mind_authority")
        for function, level in self._levels.items():
            self._house.change(
                "INSERT INTO mind_authority VALUES ('tess', ?, ?, 'so', 'admin', 0, '')", function, level
            )

    def _before(self, room: TalkRoom) -> State:
        state = State.of(self._house, room)
        self._given, self._known, self._ticking = [], self._known_in(state), False
        self._posted, self._streamed = len(self._house.channel.posted), len(self._house.channel.speeches)
        self._stored = self._house.rows("SELECT coalesce(max(seq), 0) AS n FROM thoughts")[0]["n"]
        self._events = len(self._house.events.emitted)
        return state

    def _known_in(self, state: State) -> Known:
        others = [one.name for one in ROOMS if one.name != state.room.name]
        return Known(state.known(), state.foreign(), state.room.name, self._chance.choice(others))

    def _claimed(self) -> State:
        """What is in force where the soul thinks by itself just now."""
        (row,) = self._house.rows("SELECT DISTINCT conversation FROM inbox WHERE state = 'claimed'")
        return self._states[next(one.channel for one in ROOMS if str(one.conversation) == row["conversation"])]

    def _judge(self, state: State, *, tick: bool = False, owed: str = "") -> None:
        for name, fields in self._house.events.emitted[self._events :]:
            if name in _CRASHES:
                self._count.crashes.append(f"{name} {fields}")
        rows = self._house.rows("SELECT * FROM thoughts WHERE seq > ? ORDER BY seq", self._stored)
        by_mark = {one.mark: row for row in rows for one in self._given if one.mark in row["output"]}
        allowed = set(_SEEN.findall(owed))
        changes = Expected()
        for output in self._given:
            row = by_mark.get(output.mark)
            if row is None or output.sound is False:
                self._is_no_thought(output, row)
                continue
            self._count.thoughts += 1
            allowed |= self._judge_thought(output, row, state, changes, last=row is rows[-1])
        self._judge_goals(state, changes)
        self._judge_shown(allowed, tick=tick, owed=owed)

    def _is_no_thought(self, output: Output, row: Any) -> None:  # noqa: ANN401  # a row or none
        if row is not None:
            self._count.not_permitted.append(f"no thought, and stored: {output.text!r}")
        elif output.sound is True:
            self._count.missed.append(f"a thought, and not stored: {output.text!r}")

    def _judge_thought(
        self, output: Output, row: dict[str, Any], state: State, changes: Expected, *, last: bool
    ) -> set[str]:
        expected = expected_of(output, state, occasion=row["occasion"], spoke=bool(row["spoke"]))
        done = done_by(self._house, row, state, last=last)
        acts = set(done.acts)
        self._count.effects += len(acts)
        extra, left_out = acts - expected.must - expected.may, expected.must - acts
        where = (
            f"{row['occasion']} in {state.room.channel}: {output.text!r} refused {row['refused']} expected {expected}"
        )
        self._count.not_permitted += [f"{one} of {where}" for one in extra] + [
            f"{one} of {where}" for one in done.faults
        ]
        self._count.missed += [f"{one} of {where}" for one in left_out]
        changes.closed |= expected.closed
        changes.perhaps |= expected.perhaps
        proposed = self._house.rows("SELECT id FROM approvals WHERE id GLOB ?", f"{row['id']}-*")
        names = {one["id"].partition("-")[2] for one in proposed}
        lower = {name for name, function in FUNCTION.items() if state.levels[function] == 1}
        self._count.not_permitted += [f"{name} was proposed by {where}" for name in names - lower]
        if state.waiting < 90:
            self._count.missed += [f"{name} was not proposed by {where}" for name in expected.proposed - names]
        if output.said and row["occasion"] == "words" and not self._was_said(output):
            self._count.missed.append(f"{output.said!r} was not said by {where}")
        return expected.promised

    def _was_said(self, output: Output) -> bool:
        return any(f"said{output.number}x" in post.body for post in self._house.channel.posted[self._posted :])

    def _judge_goals(self, state: State, changes: Expected) -> None:
        """No goal but those that were meant has another state, and those have."""
        for row in self._house.rows("SELECT id, state FROM goals"):
            name, before = row["id"], state.goals.get(row["id"])
            if before is None or (row["state"] == before["state"] and name not in changes.closed):
                continue
            if row["state"] not in (changes.closed.get(name), changes.perhaps.get(name)):
                self._count.not_permitted.append(f"{name} is {row['state']} and was {before['state']}: {changes}")

    def _judge_shown(self, allowed: set[str], *, tick: bool, owed: str) -> None:
        posted = [one.body for one in self._house.channel.posted[self._posted :]]
        streamed = [one.shown for one in self._house.channel.speeches[self._streamed :]]
        for text in (*posted, *streamed):
            self._count.shown += [f"{word} in {text!r}" for word in _SEEN.findall(text) if word not in allowed]
        if tick and not owed and (posted or any(streamed)):
            posts = self._house.channel.posted[self._posted :]
            self._count.shown.append(f"unasked: {posts} {streamed}")
        for post in self._house.channel.posted[self._posted :]:
            if not tick and not self._given and IN_WORDS not in post.body:
                self._count.shown.append(f"instead of words: {post.body!r}")
