"""Reminders that repeat, of people in many zones, with two daemons on one memory.db, restarts and kills.

`python -m tests.kill clocks --days 460 --kills 20` prints the figure, on a simulated clock: over leap days, ends of
months and both changes of summer time, for people who stay and who move. `--careless` is the negative control: zones
without summer time.
"""

import asyncio
import datetime as dt
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from daemon.core.perception import ConversationKey
from daemon.core.value import Value
from daemon.memory.database import open_database
from daemon.memory.knowledge.user_models import Zones
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.person_rooms import PersonRoomsStore
from daemon.memory.records import Worker
from tests.fakes import TIMEOUT, FakeClock
from tests.given import LEASE, SOUL, TEAM
from tests.kill.local_times import WANTED, Stay, expected
from tests.kill.verdict import Figure
from tests.store.parts import intend, look, poke

ROOT: Final = Path(__file__).parents[2]
ZONES: Final = (
    "Europe/Berlin", "Europe/London", "Europe/Dublin", "Europe/Athens", "Africa/Casablanca", "Africa/Cairo",
    "Asia/Beirut", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Adelaide", "Australia/Lord_Howe",
    "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia", "Pacific/Kiritimati", "Pacific/Pago_Pago",
    "Pacific/Honolulu", "America/Los_Angeles", "America/New_York", "America/St_Johns", "America/Santiago",
    "Antarctica/Troll", "UTC",
)  # fmt: skip
_BEGIN_MS: Final = int(dt.datetime(2027, 12, 1, 0, 0, 30, tzinfo=dt.UTC).timestamp()) * 1000
_DAY_MS: Final = 86_400_000
_MINUTE_MS: Final = 60_000
_STAY_DAYS: Final = 11
_NEAR_MS: Final = 6 * 3_600_000
_TIDY_EVERY: Final = 500


@dataclass
class OnTime(Figure):
    """What became of all that was due; `late` are more than a minute late."""

    FAULTS: ClassVar = ("late", "wrong_minute", "twice", "lost")
    due: int = 0
    late: int = 0
    wrong_minute: int = 0
    twice: int = 0
    lost: int = 0
    moves: int = 0
    kills: int = 0
    restarts: int = 0


class Years(Value):
    """What is played: so many days from `begin_ms` on, for people in `zones` and `movers` who live in all of them."""

    days: int = 460
    begin_ms: int = _BEGIN_MS
    zones: Sequence[str] = ZONES
    movers: int = 4
    kills: int = 20
    restarts: int = 60
    seed: int = 1
    careless: bool = False

    @property
    def end_ms(self) -> int:
        """When it is over."""
        return self.begin_ms + self.days * _DAY_MS

    def stays(self) -> dict[str, list[Stay]]:
        """Where each person lives, and when."""
        dice = random.Random(self.seed)
        people = {f"U{number}": [Stay(zone, self.begin_ms, self.end_ms)] for number, zone in enumerate(self.zones)}
        for number in range(self.movers):
            moments = [self.begin_ms]
            while moments[-1] < self.end_ms:
                moments.append(moments[-1] + dice.randrange(1, 2 * _STAY_DAYS * 24 * 60) * _MINUTE_MS)
            people[f"M{number}"] = [
                Stay(dice.choice(self.zones), one, min(following, self.end_ms)) for one, following in pairwise(moments)
            ]
        return people


class _Daemon:
    """One of the two: what it opened, until it is closed and opened again."""

    def __init__(self, path: Path, clock: FakeClock, name: str) -> None:
        self._path, self._clock, self._worker = path, clock, Worker(name, SOUL, TEAM, int(LEASE * 1000))
        self._open = AsyncExitStack()

    async def begin(self) -> None:
        """Open memory.db; what was open before is closed."""
        await self.aclose()
        self.database = await self._open.enter_async_context(open_database(self._path, self._clock))
        self.intentions = Intentions(self.database, self._clock, self._worker)
        self.zones = Zones(self.database, self._clock, self._worker)

    async def aclose(self) -> None:
        """Close memory.db."""
        await self._open.aclose()


async def run(path: Path, years: Years) -> OnTime:
    """Live through the days with two daemons, from one due moment to the next."""
    dice, clock, people = random.Random(years.seed), FakeClock(auto=True, start_ms=years.begin_ms), years.stays()
    async with aclosing(_Daemon(path, clock, "one")) as one, aclosing(_Daemon(path, clock, "two")) as two:
        daemons = [one, two]
        for daemon in daemons:
            await daemon.begin()
        slots = await _set_all(one, clock, people, careless=years.careless)
        due = {slot: expected(WANTED[which], people[person]) for slot, (person, which) in slots.items()}
        moves = {stay.from_ms: (who, stay.zone) for who, stays in people.items() for stay in stays[1:]}
        ahead = sorted({moment for moments in due.values() for moment in moments} | moves.keys())
        killed = set(dice.sample(ahead, min(years.kills, len(ahead))))
        renewed = set(dice.sample(ahead, min(years.restarts, len(ahead))))
        for number, moment in enumerate(ahead):
            await _fall_due_until(daemons, clock, moment)
            if moment in renewed:
                await dice.choice(daemons).begin()
            if moment in moves and not years.careless:
                who, zone = moves[moment]
                await PersonRoomsStore(dice.choice(daemons).database, clock).moved(TEAM, who, zone)
            if moment in killed:
                await _killed(path, clock, dice.choice(("before", "after")))
            await _look_at_once(daemons)
            if number % _TIDY_EVERY == 0:  # as if all were answered
                poke(path, "UPDATE inbox SET state = 'answered' WHERE state = 'new'")
    found = _judged(due, _came(path))
    return replace(found, moves=len(moves), kills=len(killed), restarts=len(renewed))


async def _set_all(
    daemon: _Daemon, clock: FakeClock, people: dict[str, list[Stay]], *, careless: bool
) -> dict[str, tuple[str, int]]:
    """Set each rule for each person; gives the person and the number of the rule by slot."""
    await daemon.zones.keep({who: stays[0].zone for who, stays in people.items()})
    slots = {}
    for who, stays in people.items():
        zone = _fixed(stays[0].zone, clock.now_ms()) if careless else stays[0].zone
        if careless:
            await daemon.zones.keep({who: zone})
        wanted = {f"{who}-{which}": one for which, one in enumerate(WANTED)}
        new = [
            NewIntention(slot=slot, every=one.rule, content=slot, behalf=who, zone=zone) for slot, one in wanted.items()
        ]
        refused = await intend(daemon.database, clock, *new, key=ConversationKey(SOUL, TEAM, f"D{who}"), most=10_000)
        assert not refused, refused
        slots.update({slot: (who, which) for which, slot in enumerate(wanted)})
    return slots


def _fixed(zone: str, now_ms: int) -> str:
    """A zone that is ahead by as many hours, and always so."""
    ahead = dt.datetime.fromtimestamp(now_ms / 1000, ZoneInfo(zone)).utcoffset() or dt.timedelta()
    return f"Etc/GMT{-round(ahead / dt.timedelta(hours=1)):+d}"


async def _fall_due_until(daemons: Sequence[_Daemon], clock: FakeClock, moment: int) -> None:
    """Turn the clock to a moment; what falls due before it, though nothing ought to, falls due at its own time."""
    while (due := await daemons[0].intentions.next_due_ms()) is not None and due < moment:
        _turn(clock, due)
        await _look_at_once(daemons)
    _turn(clock, moment)


def _turn(clock: FakeClock, moment: int) -> None:
    clock.set_back((clock.now_ms() - moment) / 1000)


async def _look_at_once(daemons: Sequence[_Daemon]) -> None:
    async with asyncio.TaskGroup() as group:
        for daemon in daemons:
            group.create_task(daemon.intentions.fall_due())


async def _killed(path: Path, clock: FakeClock, when: str) -> None:
    """A third daemon looks for what is due now and is killed; where nothing is, once it has looked."""
    command = (sys.executable, "-m", "tests.kill.dying", str(path), str(clock.now_ms()), when)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    async with asyncio.timeout(TIMEOUT):
        assert await process.wait() == -signal.SIGKILL


def _came(path: Path) -> dict[str, list[int]]:
    """When each slot came (ms, UTC)."""
    came = defaultdict(list)
    for slot, received in look(path, "SELECT body, received_ms FROM inbox WHERE modality = 'time'"):
        came[str(slot)].append(int(str(received)))
    return came


def _judged(due: dict[str, list[int]], came: dict[str, list[int]]) -> OnTime:
    late = wrong = twice = lost = 0
    for slot, moments in due.items():
        times: dict[int, list[int]] = {one: [] for one in moments}
        for one in came.get(slot, ()):
            nearest = min(moments, key=lambda moment: abs(moment - one), default=None)
            if nearest is None or abs(nearest - one) > _NEAR_MS:
                wrong += 1
                continue
            times[nearest].append(one)
            late += one - nearest > _MINUTE_MS
            wrong += one // _MINUTE_MS != nearest // _MINUTE_MS
        lost += sum(not found for found in times.values())
        twice += sum(len(found) - 1 for found in times.values() if found)
    return OnTime(sum(map(len, due.values())), late, wrong, twice, lost)


async def play(
    home: Path, *, days: int = 460, kills: int = 20, restarts: int = 60, seed: int, careless: bool = False
) -> OnTime:
    """Live through so many days from December 2027 on."""
    return await run(home / "memory.db", Years(days, kills=kills, restarts=restarts, seed=seed, careless=careless))
