"""People who invite a soul, decline, answer or leave it alone at random, while time jumps and daemons die.

The model says something in every thought of its own, as if it were always wanted. People come into private rooms and
leave them, too, so that the soul may not think before them any more of what it promised; then its house speaks.
"""

import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from daemon.core.ports.services import PROMISED_HERE, THOUGHT_ALONE, Prompt
from daemon.local_slack.model import Json
from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.initiative.judge import DAY, HOUR, Did, InitiativeVerdict, Person, SaidUnasked, judged
from tests.journeys.house import House, SlackDaemon, said, settings_for
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought
from tests.models import Reply
from tests.workspace_client import WorkspaceClient

ZONES: Final = ("Europe/Athens", "America/Los_Angeles", "Asia/Kolkata")
_SETTINGS: Final[dict[str, Any]] = {
    "name": "tess",
    "visit_silence": 300 * DAY,
    "dormant_after": 300 * DAY,
    "stale_after": 300 * DAY,
    "cycle_enabled": True,
    "cycle_tokens_hour": 10_000_000,
    "cycle_tokens_day": 100_000_000,
    "cycle_usd_day": 10_000.0,
}
_STEPS: Final = {"words": 6, "on": 4, "off": 1, "not now": 1, "bad": 1, "time": 8, "life": 1, "outage": 1, "room": 2}
"""What happens, and how often."""
_TELLS: Final = 100  # steps from one line to the next
_LABEL: Final = re.compile(r"(?:kept|unasked) \d+\b")
_MATTER: Final = re.compile(r"matter \d+\b")
_PROMISED: Final = re.compile(r"I'll come back to “(matter \d+)”")
_BY_HOUSE: Final = re.compile(r"I said that I'd come back to “(matter \d+)”")
_LEFT: Final = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
      + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending') AND not_before <= :now)
      + (SELECT count(*) FROM ticks WHERE due_ms <= :now)
      + (SELECT count(*) FROM goals WHERE state = 'open' AND due_ms <= :now AND due_ms > woken_ms)
      + (SELECT count(*) FROM conversations WHERE lease_owner <> '') AS n
    """
_OWED: Final = """
    SELECT count(*) AS n FROM goals WHERE state = 'open' AND follow_up = 1 AND said_in <> '' AND kept_ms IS NULL
    """


@dataclass(slots=True)
class UnaskedTown:
    """The workspace with its people, and what they did.

    `due` is by when each matter is, `kept` of which matters each thought spoke that kept a promise. A promise could be
    kept in the stretches `able` and since `able_since`. Each person is `inside` a private room of theirs, or `outside`.
    """

    house: House
    dice: random.Random
    people: dict[str, Person] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)
    said: int = 0
    posts: dict[str, SaidUnasked] = field(default_factory=dict)
    marked: list[SaidUnasked] = field(default_factory=list)
    due: dict[str, float] = field(default_factory=dict)
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    able: list[tuple[float, float]] = field(default_factory=list)
    able_since: float = float("inf")
    inside: dict[str, str] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)
    daemons: list[SlackDaemon] = field(default_factory=list)

    async def think(self, prompt: Prompt) -> Reply:
        """Answer words with a goal that falls due, half of them promised; alone it always says something."""
        self.said += 1
        last = prompt.messages[-1].text
        if THOUGHT_ALONE in last:
            label = f"{'kept' if PROMISED_HERE in last else 'unasked'} {self.said}"
            named = last.partition(PROMISED_HERE)[2].partition("\n## ")[0]
            self.kept[label] = tuple(dict.fromkeys(_MATTER.findall(named)))
            return thought(f"{label}: there is news.", inner_speech=label)
        hours, promised = self.dice.randint(1, 40), self.dice.random() < 0.5
        self.due[f"matter {self.said}"] = self._now + hours * HOUR
        goal = {"action": "add", "goal": f"matter {self.said}", "due": f"in {hours}h", "follow_up": promised}
        return thought("I see.", goal_updates=[goal])

    @property
    def _now(self) -> float:
        return self.house.clock.now_ms() / 1000

    async def settle(self) -> None:
        """Wait until nothing more is to be done now, and note what was posted."""

        async def still() -> bool:
            return not (await self.house.one(_LEFT.replace(":now", str(self.house.clock.now_ms()))))["n"]

        await self.house.when(still)
        for name, person in self.people.items():
            for post in await self.house.people.posts_by_bot(self.rooms[name]):
                for one in self._unasked_in(post) if post["ts"] not in self.posts else ():
                    self.posts[post["ts"]] = one
                    person.posted.append(one)

    def _unasked_in(self, post: Json) -> Iterator[SaidUnasked]:
        """What a post says unasked, of the soul or of its house."""
        at, text = float(post["ts"]), said(post)
        if spoken := tuple(_BY_HOUSE.findall(text)):
            yield SaidUnasked(at, f"kept {spoken}", spoken)
        if found := _LABEL.search(text):
            yield SaidUnasked(at, found[0], self.kept[found[0]])

    async def does(self, name: str) -> None:
        """One person does something, or a daemon dies, or all do for a while, or time passes."""
        step = self.dice.choices(tuple(_STEPS), tuple(_STEPS.values()))[0]
        match step:
            case "time":
                self.pass_time(self.dice.uniform(0.2, 20) * HOUR)
            case "life" | "outage":
                with self._unable():
                    await self._live(self.dice.uniform(0.2, 20) * HOUR if step == "outage" else 0.0)
            case "bad":
                await self._mark(name)
            case "room":
                await self._come_or_go(name)
            case _:
                await self._write(name, step)
        await self.settle()

    def pass_time(self, seconds: float) -> None:
        with self._unable():
            self.house.clock.turn(seconds)

    @contextmanager
    def _unable(self) -> Iterator[None]:
        """Something happens in which no promise can be kept."""
        if self.able_since <= (now := self._now):
            self.able.append((self.able_since, now))
        try:
            yield
        finally:
            self.able_since = self._now

    async def _write(self, name: str, step: str) -> None:
        person, now = self.people[name], self._now
        alone = person.posted and not any(one.at > person.posted[-1].at for one in person.did)
        if step == "not now" and (not alone or person.posted[-1].promised):
            return  # it would mean a promise, or nothing
        text = {"words": "please look at it", "on": "follow up on", "off": "follow up off"}.get(step, step)
        with self._unable():
            reply = await self.house.answered(name, "dm", text)
        person.promised |= {matter: self.due[matter] for matter in _PROMISED.findall(reply)}
        person.did.append(Did(now, "wrote" if step == "words" else step))  # type: ignore[arg-type]  # one of the steps

    async def furnish(self) -> None:
        """Have each person speak with the soul in a private room of theirs."""
        for number, name in enumerate(self.people):
            room = await self.house.people.add_channel(f"room{number}", kind="group", members=[name, "Ada"])
            self.house.model.replies.append(thought("Hello."))
            await self.house.answered(name, str(room["id"]), "@soul hello")
            self.inside[name] = str(room["id"])

    async def _come_or_go(self, name: str) -> None:
        """The person leaves their private room, or comes back."""
        people = self.house.people
        with self._unable():
            if name in self.inside:
                self.outside[name] = self.inside.pop(name)
                await people.leave(name, self.outside[name])
            else:
                self.inside[name] = self.outside.pop(name)
                await people.join(name, self.inside[name], inviter="Ada")
            await self.house.acknowledged()

    async def _mark(self, name: str) -> None:
        """The person calls the newest thing bad that was said to them unasked, once."""
        person = self.people[name]
        if not person.posted or person.posted[-1].promised or person.posted[-1] in self.marked:
            return
        self.marked.append(person.posted[-1])
        ts = next(ts for ts, one in self.posts.items() if one is person.posted[-1])
        await self.house.people.react(name, self.rooms[name], ts, "-1")

        async def heard() -> bool:
            return bool((await self.house.one("SELECT count(*) AS n FROM feedback"))["n"] == len(self.marked))

        await self.house.when(heard)
        person.did.append(Did(self._now, "bad"))

    async def start(self) -> None:
        self.daemons.append(await self.house.start(**_SETTINGS))

    async def _live(self, outage: float = 0.0) -> None:
        """The newest daemon is cut off, and another goes on; in an outage all are, for so many seconds."""
        dying = [one for one in self.daemons if not one.over] if outage else self.daemons[-1:]
        for one in dying:
            await one.cut()
        self.house.clock.turn(outage)
        for _ in dying:
            await self.start()


async def play(home: Path, steps: int, seed: int, tell: Callable[[str], None] = lambda _: None) -> InitiativeVerdict:
    """Play so many steps, then let time pass by day until what was promised could be kept; `tell` hears how far."""
    dice, clock = random.Random(seed), TurnableClock()  # at its own speed, or the workspace's time runs away from it
    async with serve_workspace(clock=clock) as server, WorkspaceClient(server.page_url) as people:
        house = House(server, people, clock, settings_for(server, home))
        write_soul(home, more='mind = "cycle"\nsubprocesses = []\n')
        town = UnaskedTown(house, dice)
        house.model.default = town.think
        for number, zone in enumerate(ZONES):
            name = f"Person{number}"
            await people.add_person(name, zone=zone)
            town.rooms[name] = await people.open_dm(name)
            town.people[name] = Person(name, zone, able=town.able)
        for _ in range(2):
            await town.start()
        await town.furnish()
        town.pass_time(0)
        for step in range(steps):
            if step and step % _TELLS == 0:
                tell(f"{step} of {steps} steps")
            await town.does(dice.choice(list(town.people)))
        for _ in range(12):
            town.pass_time(8 * HOUR)
            await town.settle()
        town.pass_time(0)
        owed = int((await house.one(_OWED))["n"])
        await house.close()
    return judged(list(town.people.values()), steps, owed)
