"""Weeks of a workspace: people talk, edit and delete, and one trouble after another comes over the daemon."""

import math
import random
import resource
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from daemon.core.value import Value
from daemon.local_slack.model import WorkspaceMessage
from tests.soak.verdict import Asked, Judge, SoakVerdict
from tests.soak.workplace import Workplace, workplace

_DAY = 86_400.0
_PATIENCE = 7_200.0  # seconds in which all talk has to end; reading 200 rooms again takes half an hour of them
_OPEN_THREADS = 40
_FILLS_DISK = 12  # messages; fewer might find room in pages that are there already


class Plan(Value):
    """How many people for how many days, how many messages and troubles a day; `seed` is the play's chance."""

    people: int
    days: int
    messages: int
    troubles: int
    seed: int


class Week(Value):
    """What a week left: counts so far, and sizes in bytes at its end."""

    day: int
    said: int
    memory: int
    file: int
    backups: int
    copies: int


@dataclass(slots=True)
class Soaked:
    """The outcome of a play."""

    verdict: SoakVerdict
    weeks: list[Week] = field(default_factory=list)
    troubles: dict[str, int] = field(default_factory=dict)


async def soak(home: Path, plan: Plan, tell: Callable[[str], None]) -> Soaked:
    """Play all days and judge them; `tell` takes a line for each week."""
    async with workplace(home, plan.people) as place:
        return await _Play(place, plan, tell).play()


class _Play:
    """One play; it is over when its days are."""

    def __init__(self, place: Workplace, plan: Plan, tell: Callable[[str], None]) -> None:
        self._place, self._plan, self._tell = place, plan, tell
        self._chance = random.Random(plan.seed)
        self._judge = Judge(place)
        self._open: set[str] = set()
        self._threads: list[tuple[str, str]] = []
        self._said = 0
        self._soaked = Soaked(self._judge.verdict)
        self._troubles: dict[str, Callable[[], Awaitable[None]]] = {
            "Slack away": self._slack_away,
            "daemon away": self._daemon_away,
            "restart": place.restart,
            "crash": place.crash,
            "full disk": self._full_disk,
            "revoked token": self._revoked_token,
            "hand-over": place.hand_over,
            "newer schema": place.outdate,
            "clock ahead": self._clock_ahead,
            "clock back": self._clock_back,
            "model down": self._model_down,
            "rate limits": self._rate_limits,
        }
        self._bag: list[str] = []

    async def play(self) -> Soaked:
        for day in range(1, self._plan.days + 1):
            await self._day()
            if day % 7 == 0 or day == self._plan.days:
                await self._end_of_week(day)
        return self._soaked

    async def _day(self) -> None:
        """A day: moments of talk in its first ten hours, with the troubles between them, and a long night."""
        began = self._place.clock.monotonic()
        moments = max(self._plan.troubles, self._plan.messages // 4)
        troubled = set(self._chance.sample(range(moments), self._plan.troubles))
        for moment in range(moments):
            self._talk(self._chance.randint(2, 6))
            if moment in troubled:
                await self._trouble()
                await self._place.kept_running()
            await self._settle()
            await self._place.rest(min(36_000.0 / moments, 3_000.0))
        await self._place.rest(max(0.0, _DAY - (self._place.clock.monotonic() - began)))

    async def _trouble(self) -> None:
        if not self._bag:
            self._bag = self._chance.sample([*self._troubles], len(self._troubles))
        name = self._bag.pop()
        self._soaked.troubles[name] = self._soaked.troubles.get(name, 0) + 1
        await self._troubles[name]()

    async def _end_of_week(self, day: int) -> None:
        await self._place.kept_running()
        await self._settle()
        self._judge.judge()
        home = self._place.settings.database_path.parent
        copies = [*(home / "backups").glob("*.db")]
        week = Week(
            day=day,
            said=self._said,
            memory=_resident(),
            file=sum(one.stat().st_size for one in home.glob("memory.db*")),
            backups=sum(one.stat().st_size for one in copies),
            copies=len(copies),
        )
        self._soaked.weeks.append(week)
        self._tell(
            f"day {day}: {week.said} messages, memory {week.memory / 2**20:.0f} MiB, file {week.file / 2**20:.1f} MiB, "
            f"backups {week.backups / 2**20:.1f} MiB in {week.copies}; {self._soaked.verdict}"
        )

    # -- people -------------------------------------------------------------------------------------------------------

    def _talk(self, messages: int) -> None:
        for _ in range(messages):
            self._say()

    def _say(self) -> None:
        """One message to the soul, or the noise of a bot; some are edited or deleted at once."""
        drawn, place = self._chance.random(), self._place
        if drawn < 0.05:
            self._judge.noise(self._post(self._chance.choice(place.rooms).id, place.bot.id, mention=True))
            return
        asked = self._asked(drawn)
        self._judge.asked(asked)
        self._open.add(asked.ts)
        changed = self._chance.random()
        message = place.workspace.state.message(asked.channel, asked.ts)
        assert message is not None
        if changed < 0.04:
            stamp = place.workspace.new_ts(asked.channel)
            text = f"{message.text} or rather this"
            place.workspace.revise(replace(message, text=text, edited_by=asked.author, edited_ts=stamp))
        elif changed < 0.06:
            place.workspace.withdraw(message)
            self._judge.withdrawn(asked)
            self._open.discard(asked.ts)

    def _asked(self, drawn: float) -> Asked:
        place = self._place
        if drawn < 0.55:
            number = self._chance.randrange(len(place.people))
            return self._post(place.dms[number].id, place.people[number].id)
        if drawn < 0.75 and self._threads:
            channel, root = self._chance.choice(self._threads)
            return self._post(channel, self._member(channel), thread=root)
        room = self._chance.choice(place.rooms).id
        return self._post(room, self._member(room), mention=True)

    def _member(self, channel: str) -> str:
        bots = {self._place.bot.id, self._place.server.bot_user.id}
        members = self._place.workspace.state.channels[channel].members
        return self._chance.choice([one for one in members if one not in bots])

    def _post(self, channel: str, author: str, *, thread: str = "", mention: bool = False) -> Asked:
        self._said += 1
        mark = f"mark{self._said:06d}"
        called = f"<@{self._place.server.bot_user.id}> " if mention else ""
        state = self._place.workspace
        message = state.post(WorkspaceMessage(channel, author, f"{called}{mark} please", thread_ts=thread))
        return Asked(channel, thread or message.ts, message.ts, mark, author)

    async def _settle(self) -> None:
        before = sorted(self._open)
        await self._place.settled(self._open, _PATIENCE)
        self._open.clear()  # what has not ended by now is judged at the week's end
        for asked in self._judge.answered_in_rooms(before):
            self._threads.append((asked.channel, asked.thread))
        del self._threads[:-_OPEN_THREADS]

    def _span(self, least: float = 60.0, most: float = _DAY) -> float:
        """A span between a minute and a day; each order of size is as likely."""
        return math.exp(self._chance.uniform(math.log(least), math.log(most)))

    # -- troubles -----------------------------------------------------------------------------------------------------

    async def _slack_away(self) -> None:
        self._place.slack_fails("internal_error", reset=True)
        await self._talked_through(self._span())
        self._place.slack_works()

    async def _revoked_token(self) -> None:
        self._place.slack_fails("token_revoked", reset=False)
        await self._talked_through(self._span(most=_DAY / 4))
        self._place.slack_works()

    async def _daemon_away(self) -> None:
        await self._place.stop()
        await self._talked_through(self._span())
        await self._place.start()

    async def _full_disk(self) -> None:
        await self._place.disk(full=True)
        self._talk(_FILLS_DISK)
        await self._talked_through(self._span(most=_DAY / 4))
        await self._place.disk(full=False)

    async def _clock_ahead(self) -> None:
        self._place.clock.turn(self._span(30.0, 7_200.0))

    async def _clock_back(self) -> None:
        self._place.clock.behind = self._chance.uniform(1.0, 120.0)
        await self._talked_through(600.0)
        self._place.clock.behind = 0.0

    async def _model_down(self) -> None:
        self._place.model.down = True
        await self._talked_through(self._span(most=_DAY / 8))
        self._place.model.down = False

    async def _rate_limits(self) -> None:
        self._place.slack_limits(times=30)
        await self._talked_through(120.0)

    async def _talked_through(self, seconds: float) -> None:
        """People talk at the beginning, in the middle and at the end of a trouble."""
        for _ in range(2):
            self._talk(2)
            await self._place.rest(seconds / 2)
        self._talk(1)


def _resident() -> int:
    """Bytes of memory that this process holds: the daemon, and the workspace with all its messages."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()
