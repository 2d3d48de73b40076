"""A whole mind under kills: ticks, tools, promises and expectations at once, with one daemon or two on one file.

`python -m tests.kill whole_mind --kills 300 --daemons 2` prints the figure: `lost=0 doubled=0 scored_twice=0
overspend=0 torn=0`. People in several rooms have a `BusyMind` make goals, promises and expectations, read with a tool
and ask for clicks on one that writes. Daemons die at a commit or a request that is drawn by chance, or at any moment;
between some of them an hour passes. `mind_verdict.py` says what counts as what.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from msgspec.structs import replace

from daemon.local_slack.orders import NotPossible
from daemon.local_slack.people_acting import PeopleActing
from daemon.memory.database.sqlite import sqlite3
from tests.kill.bill import BilledCall, billed
from tests.kill.loop import SOUL, KillStage, alive, stage
from tests.kill.mind_verdict import HOUR_MS, Budget, Left, MindFaults, is_spoken_for, judged
from tests.kill.verdict import Figure, Watch, count, judge, replies
from tests.tools.parts import listing
from tests.tools.serving import serving_app

BUDGET: Final = Budget(tokens_hour=60_000, tokens_day=600_000, usd_day=100.0)
"""So modest that it is met now and then: a thought can take some 13,000 tokens, and takes 2,000 if no kill ends it."""

_WISHES: Final = (
    *("please plan it", "please plan it and look", "please promise it", "please expect it", "any news, please"),
    *("please look it up", "please write it down", "please plan it and expect it", "please"),
)
_RETRIES: Final = (0.0, 0.3, 1.0, 2.0)
_WEIGHTS: Final = (2, 1, 2, 2, 2, 2, 2, 1, 3)
_PLACES: Final = ("general", "general", "dm")
_LEASE_S: Final = 10.0
_PATIENCE_S: Final = 60.0  # without any change
_HOURS: Final = 40  # that may pass in the end, until all is thought about
_FRESH: Final = 0.7  # of them at a point at which none has died so far
_EACH_HOUR: Final = 12  # kills
_LAST: Final = 2.5  # seconds that a daemon lives at most
_ARMED: Final = 0.7  # of the daemons die at a point, the others at any moment
_YES: Final = "soul_approval_yes"
_QUESTIONS: Final = """
    SELECT a.asked ->> 0, c.channel, o.platform_ts FROM approvals a JOIN conversations c ON c.id = a.conversation
    JOIN outbox o ON o.approval = a.id AND o.conversation = a.conversation
    WHERE a.state = 'waiting' AND o.platform_ts <> ''
    """
_UNDER_WAY: Final = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
         + (SELECT count(*) FROM approvals WHERE state IN ('waiting', 'approved') AND tool NOT GLOB 'mind.*')
         + (SELECT count(*) FROM jobs WHERE state = 'running' OR (state = 'ready' AND not_before = 0))
    """
_DUE: Final = """
    SELECT (SELECT count(*) FROM ticks WHERE due_ms <= {now})
         + (SELECT count(*) FROM goals WHERE state = 'open' AND due_ms > woken_ms AND due_ms <= {now})
         + (SELECT count(*) FROM predictions WHERE state = 'open' AND due_ms <= {now})
         + (SELECT count(*) FROM predictions WHERE shown = 0 AND woken = 0 AND surprise >= 0.5)
    """
_ADMIN: Final = (
    "UPDATE goals SET state = 'abandoned', closed_ms = kept_ms WHERE state = 'open' AND kept_ms IS NOT NULL",
    "DELETE FROM mind_authority WHERE function = 'goals'",
)
_STORED: Final = "SELECT count(*) FROM inbox WHERE modality = 'words'"
_SOUL: Final = f"""\
name = "{SOUL}"
display_name = "Soul"
mind = "cycle"

[cycle]
enabled = true

[notes]
min_interactions = 1
whispers = true

[budgets]
transcript = 600
"""


@dataclass
class WholeMind(Figure):
    """At how many of the `known` points daemons died, how much went on, and what went wrong.

    At those in `passed_by` none died. `unasked` thoughts were woken by no words; `met` says how often the budget was
    used up, `writes` how often the tool wrote.
    """

    kills: int
    points: int
    known: int
    passed_by: tuple[str, ...]
    events: int
    thoughts: int
    unasked: int
    goals: int
    promises: int
    scored: int
    met: int
    writes: int
    faults: MindFaults

    @property
    def faultless(self) -> bool:
        """Whether nothing went wrong."""
        return self.faults.faultless

    @property
    def details(self) -> tuple[str, ...]:
        """All faults, and the points at which no daemon died."""
        return (*self.faults.details, f"passed_by: {' '.join(self.passed_by)}")


@dataclass(slots=True)
class _Living:
    pid: int
    place: str


class MindPlay:
    """Daemons that live and die, and people who talk to them and click."""

    def __init__(self, on: KillStage, seed: int, at_once: int) -> None:
        self.home, self.crowd, self._watch = on.home, on.crowd, Watch(on.home)
        self.kills = 0
        self.hit = set[str]()
        self._tried = Counter[str]()
        self.effects = Counter[str]()
        self.settings: dict[str, object] = {}
        self.living: list[_Living] = []
        self._server, self._daemons = on.workspace, on.daemons
        self._workspace = on.workspace.workspace
        self._acting = PeopleActing(on.workspace.workspace)
        self._dice = random.Random(seed)
        self._at_once = at_once
        self._moves: list[tuple[int, int]] = []

    async def spawn(self, *, armed: bool = True) -> None:
        """Let as many daemons live as shall; one that is `armed` may die at a point."""
        while len(self.living) < self._at_once:
            self._watch.close()
            place = self._drawn() if armed and self._dice.random() < _ARMED else ""
            pid = await self._daemons.spawn(
                crash=f"{place}:{self._dice.choice((1, 1, 1, 2))}" if place else "",
                passed=str(self._passed),
                pace=self._dice.choice((0.0, 0.002, 0.01)),
                lease=_LEASE_S,
                settings=self.settings,
                bill=self._bill,
                busy=True,
            )
            self.living.append(_Living(pid, place))

    def _drawn(self) -> str:
        """A point to die at, mostly one at which none has died so far; empty where none is known."""
        places = self.places
        fresh = [one for one in places if one not in self.hit]
        if fresh and self._dice.random() < _FRESH:
            seldom = min(self._tried[one] for one in fresh)
            places = [one for one in fresh if self._tried[one] == seldom]
        drawn = self._dice.choice(places) if places else ""
        self._tried[drawn] += 1
        return drawn

    @property
    def places(self) -> list[str]:
        """The commits and requests that a daemon has passed so far."""
        return sorted(set(self._passed.read_text("utf-8").split())) if self._passed.exists() else []

    def speak(self) -> None:
        """Post a message of a random user in a random room, which wishes for something."""
        self.crowd.say(self._dice.choices(_WISHES, _WEIGHTS)[0], place=self._dice.choice(_PLACES))

    def press(self) -> None:
        """Have each question that waits allowed by a click, again where the last one came to nothing."""
        for person, channel, ts in self._watch.rows(_QUESTIONS):
            with suppress(NotPossible):
                self._acting.click(self._workspace.state.people[person], channel, ts, _YES)

    def write_down(self, word: str) -> str:
        """Note an effect."""
        self.effects[word] += 1
        return "written"

    async def a_death(self) -> None:
        """Wait until a daemon has died at its point; after a while one is killed at this moment. Others follow."""
        for _ in range(self._dice.randint(0, 3)):
            await asyncio.sleep(self._dice.uniform(0.0, 0.2))
            self.speak()
        armed = any(one.place for one in self.living)
        until = time.monotonic() + (_LAST if armed else self._dice.uniform(0.5, _LAST))
        while all(alive(one.pid) for one in self.living) and time.monotonic() < until:
            await asyncio.sleep(0.01)  # the child of another process: there is no event to wait for
            self.press()
        if all(alive(one.pid) for one in self.living):
            await self._end(self._dice.choice(self.living))
        await self._bury()
        await self.spawn()

    async def end_all(self) -> None:
        """Kill all that live."""
        self._watch.close()
        for one in list(self.living):
            await self._end(one)

    async def rest(self) -> bool:
        """Wait until nothing is under way; False where nothing has changed for a minute. Who dies is followed."""
        before, since = (-1, -1), time.monotonic()
        while time.monotonic() - since < _PATIENCE_S:
            await asyncio.sleep(0.05)  # a file has no events
            await self._bury()
            await self.spawn()
            self.press()
            now = len(self.crowd.said) - self._watch.count(_STORED), self._watch.count(_UNDER_WAY)  # in this order
            if now == (0, 0):
                return True
            if now != before:
                before, since = now, time.monotonic()
        return False

    async def an_hour(self, *, armed: bool = True) -> None:
        """Let an hour pass while no daemon lives, once nothing is under way."""
        await self.rest()
        await self.end_all()
        self._moves.append((time.time_ns() // 1_000_000, HOUR_MS))
        self._workspace.clock.advance(HOUR_MS / 1000)
        self._workspace.feed.publish("clock", {"now": self._workspace.clock.now()})
        self._administer()
        await self.spawn(armed=armed)

    def _administer(self) -> None:
        """Give up what the house spoke for, as an admin may: there is room for goals; and trust the soul anew."""
        with closing(sqlite3.connect(self.home / "memory.db")) as connection, connection:
            for statement in _ADMIN:
                connection.execute(statement)

    async def settle(self) -> MindFaults:
        """Let daemons live that don't die, and hours pass until all is thought about; then judge."""
        await self.end_all()
        for _ in range(_HOURS):
            await self.an_hour(armed=False)
            await self._think()
            if not (faults := judged(self.left())).lost:
                return faults
        return judged(self.left())

    async def _think(self) -> None:
        """Wait until nothing is due by now; not for ever, as budgets are met only by time."""
        since = time.monotonic()
        while time.monotonic() - since < _PATIENCE_S:
            await self.rest()
            if not self._watch.count(_DUE.format(now=self._workspace.clock.now_ms())):
                return

    def left(self) -> Left:
        """What is left by now."""
        bill = [replace(one, at_ms=self._moved(one)) for one in billed(self._bill)]
        outcome = judge(self.home, self._server, self.crowd.said, self.kills, uncalled=is_spoken_for)
        posts = [one.text for one in replies(self._server)]
        now_ms = self._workspace.clock.now_ms()
        return Left(self.home, now_ms, outcome, posts, self.effects, bill, BUDGET)

    def _moved(self, call: BilledCall) -> int:
        """When a call was made by the clock of the workspace, which the daemons live by."""
        return call.at_ms + sum(by for at, by in self._moves if at <= call.at_ms)

    async def _end(self, one: _Living) -> None:
        await self._daemons.end(one.pid)
        self.living.remove(one)
        self.kills += 1

    async def _bury(self) -> None:
        for one in [one for one in self.living if not alive(one.pid)]:
            assert one.place, f"a daemon ended that nothing killed, see {self.home}/daemon.log"
            self.living.remove(one)
            self.kills += 1
            self.hit.add(one.place)

    @property
    def _passed(self) -> Path:
        return self.home / "passed"

    @property
    def _bill(self) -> Path:
        return self.home / "bill"


@asynccontextmanager
async def play(home: Path, seed: int, daemons: int) -> AsyncIterator[MindPlay]:
    """A workspace, a server with two tools, and no daemon yet; those that live in the end are killed."""
    async with AsyncExitStack() as stack:
        on = await stack.enter_async_context(stage(home, seed, retries=_RETRIES, soul=_SOUL, tools=True))
        played = MindPlay(on, seed, daemons)
        port = await stack.enter_async_context(serving_app(_shelf(played).streamable_http_app()))
        shelf = {"url": f"http://127.0.0.1:{port}/mcp", "reads": ["look_up"]}
        played.settings = {
            "mcp_servers": str(listing(home, shelf=shelf)),
            "rehearsal_clock": True,
            "cycle_tokens_hour": BUDGET.tokens_hour,
            "cycle_tokens_day": BUDGET.tokens_day,
            "cycle_usd_day": BUDGET.usd_day,
            "quiet_hours": "",
            "embedder": "local",
        }
        try:
            yield played
        finally:
            await played.end_all()


def _shelf(played: MindPlay) -> MCPServer:
    """Two tools: one reads, and one writes."""

    def look_up(word: str) -> str:
        """Explain a word."""
        return f"{word} is a word of {len(word)} letters"

    def write_down(word: str) -> str:
        """Write a word down."""
        return played.write_down(word)

    server = MCPServer("shelf", log_level="WARNING")
    server.add_tool(look_up, annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
    server.add_tool(write_down, annotations=ToolAnnotations(destructive_hint=False), structured_output=False)
    return server


async def run(home: Path, *, kills: int = 300, seed: int, daemons: int = 1) -> WholeMind:
    """Kill so many daemons, one after the other, while people talk; then let the last ones live and judge."""
    async with play(home, seed, daemons) as played:
        await played.spawn(armed=False)
        for wish in _WISHES:  # so that the points to die at are known
            played.crowd.say(wish, place=_PLACES[-1])
        await played.rest()
        hours = 0
        while played.kills < kills:
            await played.a_death()
            if played.kills >= (hours + 1) * _EACH_HOUR:
                await played.an_hour()
                hours += 1
        killed = played.kills
        faults = await played.settle()
        return WholeMind(
            kills=killed,
            points=len(played.hit),
            known=len(played.places),
            passed_by=tuple(one for one in played.places if one not in played.hit),
            events=len(played.crowd.said),
            thoughts=count(home, "SELECT count(*) FROM thoughts"),
            unasked=count(home, "SELECT count(*) FROM thoughts WHERE occasion <> 'words'"),
            goals=count(home, "SELECT count(*) FROM goals"),
            promises=count(home, "SELECT count(*) FROM goals WHERE follow_up = 1"),
            scored=count(home, "SELECT count(*) FROM predictions WHERE state IN ('hit', 'miss')"),
            met=count(home, "SELECT coalesce(sum(n), 0) FROM tick_counts WHERE reason = 'budget'"),
            writes=sum(played.effects.values()),
            faults=faults,
        )
