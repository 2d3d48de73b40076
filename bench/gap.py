"""An outage in a large workspace, in time that passes by itself: rooms, threads, last words, and what catch-up does."""

import asyncio
import random
from asyncio import Event
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.catch_up import CatchUp
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.config import Settings
from daemon.core.ports.arrivals import Arrival
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.local_slack.faults import Profile
from daemon.local_slack.model import ChannelKind, Standing, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.local_slack.slack_json import event_payload, message_event
from daemon.memory.database import Database, open_database
from daemon.memory.queues.inbox import Inbox

_START: Final = 1_750_000_000.0
_SPACING: Final = 7.0  # seconds between two messages before the outage
_TALK: Final = 2 * 3600.0  # seconds of rest between the talk and the outage
_AWAY: Final = 40 * 60.0
_KINDS: Final = (ChannelKind.DM, ChannelKind.PUBLIC, ChannelKind.PRIVATE)


class PassingTime:
    """A clock whose sleeps take no time and move it on."""

    def __init__(self) -> None:
        self.passed = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int((_START + self.passed) * 1000)

    def monotonic(self) -> float:
        """Seconds since the beginning."""
        return self.passed

    async def sleep(self, seconds: float) -> None:
        """Move on by these seconds."""
        self.passed += max(0.0, seconds)
        await asyncio.sleep(0)  # noqa: TID251  # this is the Clock


class _Watching:
    """The same time for the workspace, which only looks at it."""

    def __init__(self, clock: Clock) -> None:
        self.now_ms, self.monotonic = clock.now_ms, clock.monotonic

    async def sleep(self, _: float) -> None:
        """Wait for ever: the time is moved by others."""
        await Event().wait()


class GapResult(Value):
    """What an outage came to: messages missed and heard twice, calls of Slack's, rooms read out of order."""

    said: int
    missed: int
    doubled: int
    most_calls_a_minute: int
    refused_calls: int
    inversions: int
    calls: int
    minutes: float


async def measure_gap(home: Path, *, rooms: int, threads: int, words: int, seed: int) -> GapResult:
    """Build the workspace, let everybody talk, go away for 40 minutes, come back and catch up twice."""
    async with AsyncExitStack() as stack:
        clock = PassingTime()
        server = await stack.enter_async_context(serve_workspace(clock=_Watching(clock)))
        server.workspace.limits.profile = Profile.SLACK
        database = await stack.enter_async_context(open_database(home / "memory.db", clock))
        gap = _Gap(server, clock, database, home, random.Random(seed))  # noqa: S311  # chance, not a secret
        stack.push_async_callback(gap.client.close)
        return await gap.play(rooms, threads, words)


class _Gap:
    def __init__(
        self, server: WorkspaceServer, clock: PassingTime, database: Database, home: Path, chance: random.Random
    ) -> None:
        self._server, self._workspace, self._clock = server, server.workspace, clock
        self._database, self._chance = database, chance
        self._accepted: list[str] = []
        self._arrivals: list[Arrival] = []
        self._events: list[tuple[str, dict[str, object]]] = []
        self._settings = Settings(
            _env_file=None,
            SLACK_BOT_TOKEN=server.bot_token,
            SLACK_APP_TOKEN=server.app_token,
            SLACK_API_URL=server.api_url,
            home=home,
        )
        self._inbox = Inbox(database, clock, self._emit, self._accepted.append)
        self.client = SlackClient(self._settings, clock, self._emit)
        bot = server.bot_user
        self._reader = EventReader("minoan", SlackIdentity(server.team.id, bot.id, bot.bot_id))
        self._heard: dict[str, float] = {}

    def _emit(self, event: str, /, **fields: object) -> None:
        self._events.append((event, fields))

    async def play(self, rooms: int, threads: int, words: int) -> GapResult:
        """See `measure_gap`."""
        channels = [self._new_room(number) for number in range(rooms)]
        roots = [self._talk(self._chance.choice(channels)) for _ in range(threads)]
        for channel in self._chance.sample(channels, len(channels)):
            self._talk(channel)
        await self._store()
        self._clock.passed += _TALK
        await self._inbox.catch_up_log.advance("minoan", self._server.team.id, f"{self._clock.now_ms() / 1000:.6f}")
        said = [self._say(*self._somewhere(channels, roots)).ts for _ in range(words)]
        self._clock.passed += _AWAY
        before, began, calls = len(self._accepted), self._clock.passed, len(self._workspace.calls)
        await self._catch_up()
        found, ended, all_calls = len(self._accepted) - before, self._clock.passed, list(self._workspace.calls)[calls:]
        await self._catch_up()
        again = len(self._accepted) - before - found
        rows = await self._database.rows("SELECT ts FROM inbox WHERE state = 'new'")
        order = [
            str(call.args.get("channel"))
            for call in all_calls
            if call.method == "conversations.history" and call.status == 200  # noqa: PLR2004  # OK
        ]
        return GapResult(
            said=words,
            missed=len(set(said) - {row["ts"] for row in rows}),
            doubled=again + len(rows) - len({row["ts"] for row in rows}),
            most_calls_a_minute=_most_in_a_minute([(call.method, call.at) for call in all_calls]),
            refused_calls=sum(call.status == 429 for call in all_calls),  # noqa: PLR2004  # too many requests
            inversions=_inversions([self._heard.get(channel, 0.0) for channel in dict.fromkeys(order)]),
            calls=len(all_calls),
            minutes=(ended - began) / 60,
        )

    async def _catch_up(self) -> None:
        catch_up = CatchUp(self.client, self._reader, self._inbox, self._settings, Event())
        await catch_up.fill()

    def _new_room(self, number: int) -> WorkspaceChannel:
        name = f"person-{number}"
        person = WorkspaceUser(f"U0P{number}", name, name, name, Standing.MEMBER, self._server.team.id)
        self._workspace.add_person(person)
        kind, bot = _KINDS[number % len(_KINDS)], self._server.bot_user.id
        prefix = "D" if kind is ChannelKind.DM else "C"
        room = WorkspaceChannel(f"{prefix}0R{number}", f"room-{number}", kind, (person.id, bot), int(_START))
        self._workspace.add_channel(room)
        return room

    def _talk(self, room: WorkspaceChannel) -> WorkspaceMessage:
        """A message that the soul hears; gives its root. In a DM a reply makes the thread a conversation of its own."""
        self._clock.passed += _SPACING
        root = self._say(room, "")
        self._hear(root)
        if room.kind is ChannelKind.DM:
            self._hear(self._say(room, root.ts))
        return root

    def _hear(self, message: WorkspaceMessage) -> None:
        state = self._workspace.state
        event = event_payload(state, message_event(state, message), message.channel, float(message.ts))
        arrival = self._reader.event(event)
        assert arrival is not None
        self._arrivals.append(arrival)
        self._heard[message.channel] = float(message.ts)

    async def _store(self) -> None:
        """Store what was heard, as if it had been answered at its time."""
        async with asyncio.TaskGroup() as group:
            for arrival in self._arrivals:
                group.create_task(self._inbox.accept(arrival))
        await self._database.run("UPDATE inbox SET state = 'answered'")
        await self._database.run(
            """
            UPDATE conversations SET taking_part = 1,
              last_ms = (SELECT CAST(CAST(max(ts) AS REAL) * 1000 AS INTEGER) FROM inbox
                         WHERE conversation = conversations.id)
            """
        )

    def _somewhere(
        self, channels: Sequence[WorkspaceChannel], roots: Sequence[WorkspaceMessage]
    ) -> tuple[WorkspaceChannel, str]:
        if self._chance.random() < 0.5:  # noqa: PLR2004  # a coin
            root = self._chance.choice(roots)
            return self._workspace.state.channels[root.channel], root.ts
        return self._chance.choice(channels), ""

    def _say(self, room: WorkspaceChannel, thread: str) -> WorkspaceMessage:
        """A word that the soul has to hear: in a thread without a mention, in a channel with one."""
        self._clock.passed += 1.0
        mention = "" if room.kind is ChannelKind.DM or thread else f"<@{self._server.bot_user.id}> "
        return self._workspace.post(
            WorkspaceMessage(room.id, room.members[0], f"{mention}words {self._clock.passed}", thread_ts=thread)
        )


def _most_in_a_minute(calls: Sequence[tuple[str, float]]) -> int:
    """The most calls of one method in any minute."""
    times = defaultdict[str, list[float]](list)
    for method, at in calls:
        times[method].append(at)
    return max((sum(first <= at < first + 60 for at in ats) for ats in times.values() for first in ats), default=0)


def _inversions(heard: Sequence[float]) -> int:
    """How many rooms were read although a room that was heard later was not."""
    return sum(later > earlier for earlier, later in pairwise(heard))
