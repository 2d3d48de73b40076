"""Plays one scenario: its users act in the workspace, turn by turn, and what comes of each turn is kept and checked."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from bench.stage import shown
from daemon.core.errors import DaemonError
from daemon.core.ports.services import SystemClock
from daemon.core.value import Value
from evals.checks import checks_of
from evals.discretion import discretion_checks, slack_calls
from evals.environment import Model
from evals.house import House, HouseFailed, Launch, house, launch_process
from evals.memory import Rows
from evals.scenario import Scenario, Turn
from evals.seen import Played, PlayedTurn, Post
from evals.spending import Spending
from tests.workspace_client import WorkspaceRefused

OnTurn = Callable[[int], None]
"""Hears the number of each turn, from 0, before it is played."""


class Limits(Value):
    """`turn` bounds the seconds until all is done that came of a turn, `spending` the money of the whole run."""

    turn: float = 240.0
    spending: Spending = msgspec.field(default_factory=Spending)


async def play(
    scenario: Scenario,
    model: Model,
    limits: Limits,
    *,
    repeat: int = 1,
    launch: Launch = launch_process,
    on_turn: OnTurn = lambda _: None,
    keep: Callable[[Played], None] = lambda _: None,
) -> Played:
    """Play a scenario in a house of its own; what prevents it is told in `broke_off`.

    A bound on the run that is reached in the middle keeps what was played before. When it is cancelled, `keep` takes
    that, before the cancellation goes on.
    """
    clock, stage = SystemClock(), _Stage(scenario, limits, on_turn)
    began, broke_off = clock.monotonic(), ""
    try:
        async with house(scenario, model, launch) as made:
            await stage.play(made)
    except DaemonError as error:
        broke_off = str(error)
    except asyncio.CancelledError:
        keep(replace(stage.played, repeat=repeat, broke_off="cut short", seconds=clock.monotonic() - began))
        raise
    return replace(stage.played, repeat=repeat, broke_off=broke_off, seconds=clock.monotonic() - began)


@dataclass(slots=True)
class _Stage:
    """One run of a scenario; `played` grows with each turn."""

    scenario: Scenario
    limits: Limits
    on_turn: OnTurn
    played: Played = field(init=False)
    _messages: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.played = Played(self.scenario)

    async def play(self, made: House) -> None:
        """Every turn, then the checks of the whole. Raises DaemonError."""
        await self._look(made)
        for number, turn in enumerate(self.scenario.turns):
            self.limits.spending.check()
            self.on_turn(number)
            played = await self._turn(made, number, turn)
            self.played = replace(self.played, turns=(*self.played.turns, played))
            self.limits.spending.add(played.rows.calls)
        calls = slack_calls(await made.people.calls(), self._places)
        checks = tuple(discretion_checks(self.scenario, self.played.turns, calls))
        split = await made.memory.speaks_split(made.clock.now_ms())
        self.played = replace(self.played, checks=checks, split=split)

    async def _turn(self, made: House, number: int, turn: Turn) -> PlayedTurn:
        at_ms, began = made.clock.now_ms(), made.clock.monotonic()
        mark, tools = await made.memory.mark(), len(made.tools_used())
        place = await self._act(made, number, turn)
        if turn.quickly:
            return PlayedTurn(turn, at_ms, place)
        await self._until_done(made, number)
        played = PlayedTurn(
            turn,
            at_ms,
            place,
            posts=await self._look(made),
            rows=await made.memory.since(mark) if not turn.waits else Rows(),
            tools=made.tools_used()[tools:],
            sources=await made.memory.sources(),
            seconds=made.clock.monotonic() - began,
        )
        return replace(played, checks=checks_of(played))

    async def _act(self, made: House, number: int, turn: Turn) -> str:
        """Do what the user of a turn does; gives the place. Raises HouseFailed where Slack would not let them."""
        people = made.people
        try:
            if turn.waits is not None:
                await made.clock.sleep(turn.waits)
                return ""
            if turn.edits is not None or turn.deletes is not None:
                earlier = self._messages[(turn.edits or turn.deletes or 0) - 1]
                channel, ts = str(earlier["channel"]), str(earlier["ts"])
                if turn.deletes is not None:
                    await people.delete(turn.who, channel, ts)
                else:
                    self._messages[number] = await people.edit(turn.who, channel, ts, str(turn.says))
                    self._messages[number] = {**self._messages[number], "channel": channel, "ts": ts}
                return self._places.get(channel, channel)
            thread, where = "", turn.where
            if turn.under is not None:
                root = self._messages[turn.under - 1]
                thread, where = str(root.get("thread_ts") or root["ts"]), str(root["channel"])
            message = await people.say(turn.who, where, str(turn.says), thread=thread)
        except WorkspaceRefused as refused:
            raise HouseFailed(f"turn {number + 1} is not possible in the workspace: {refused}") from refused
        self._messages[number] = message
        return self._places.get(str(message["channel"]), str(message["channel"]))

    async def _until_done(self, made: House, number: int) -> None:
        """Wait until every event has arrived and all that came of it is done."""

        async def done() -> bool:
            log = await made.people.deliveries()
            sent = {one["event_id"] for one in log if one["type"] == "events_api" and one["socket"]}
            arrived = {one["event_id"] for one in log if one["acked_at"] is not None}
            return sent <= arrived and await made.people.sockets() > 0 and await made.memory.at_rest()

        await made.until(done, self.limits.turn, f"turn {number + 1} was not answered to its end")

    async def _look(self, made: House) -> tuple[Post, ...]:
        """The soul's messages that are new or changed since the last look, oldest first; learns the places."""
        state, found = await made.people.state(), list[tuple[float, Post]]()
        names = {person["id"]: str(person["display_name"]).lower() for person in state["people"]}
        bot = str(state["bot"]["id"])
        for room in state["channels"]:
            others = [names.get(member, member) for member in room["members"] if member != bot]
            name = str(room["name"]) or f"dm:{'+'.join(others)}"
            self._places[str(room["id"])] = name
            for message in await made.people.messages(str(room["id"]), thread="*"):
                key, text = (str(room["id"]), str(message["ts"])), shown(message)
                if message["user"] == bot and self._known.get(key) != text:
                    self._known[key] = text
                    found.append((float(message["ts"]), Post(name, text)))
        return tuple(post for _, post in sorted(found, key=lambda one: one[0]))
