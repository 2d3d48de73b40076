"""The same worlds through a whole daemon and the local workspace, with a model that posts its whole prompt.

It notes, guesses, feels and sums up all that it reads as well, so that everything derived holds the words, too.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from daemon.core.ports.services import Prompt
from daemon.core.sensing import NowhereToPerceive, ProgramSense, PushedReading
from daemon.local_slack.model import ChannelKind, Standing, WorkspaceChannel
from daemon.local_slack.server import serve_workspace
from daemon.local_slack.workspace import Workspace
from tests import template
from tests.fakes import TurnableClock
from tests.journeys.house import House, settings_for
from tests.journeys.sensing import inside
from tests.journeys.souls import write_soul
from tests.kill.mind import ALONE
from tests.leaks.ground import Change, Ground, Kind, Probe, Remark, Room, Turned
from tests.leaks.play import Count
from tests.leaks.slack import user_id
from tests.models import Reply
from tests.repeating import Repeating
from tests.workspace_client import WorkspaceClient

_PARROT = Repeating(r"canary\d{4}", r"the \w+ belongs to canary\d{4}")
_THINKS: Final[dict[str, Any]] = {
    "name": "tess",
    "cycle_enabled": True,
    "cycle_tokens_hour": 10**8,
    "cycle_tokens_day": 10**8,
    "quiet_hours": "",
}
_SAID_FIRST = 12
_VISIT_ENDS = 5 * 3600
_QUESTIONS = 24  # of one world


async def parrots(probes: int, seed: int, alive: Callable[[], None] = lambda: None, *, thinks: bool = False) -> Count:
    """Ask so many questions of a daemon whose model says all that it reads; `alive` is called after each world.

    One that `thinks` writes it into every field of whole thoughts, also of those that it thinks by itself; programs
    report to it as well.
    """
    count = Count()
    while count.probes < probes:
        ground, clock = Ground(Random(f"{seed} {count.probes}")), TurnableClock()  # no secret
        with template.folder() as folder:
            async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
                house = House(
                    workspace, people, clock, settings_for(workspace, Path(folder), allow_shared_channels=True)
                )
                if thinks:
                    write_soul(Path(folder), _THINKS["name"], 'mind = "cycle"\n')
                    house.settings = house.settings.model_copy(update=_THINKS)
                try:
                    await _Town(house, ground, reports=thinks).play(min(_QUESTIONS, probes - count.probes), count)
                finally:
                    await house.close()
        alive()
    return count


class _Town:
    def __init__(self, house: House, ground: Ground, *, reports: bool) -> None:
        self._house, self._ground, self._slack = house, ground, house.workspace.workspace
        self._reports = reports
        self._ids: dict[str, str] = {}
        self._meanwhile: Turned | None = None

    async def play(self, questions: int, count: Count) -> None:
        """Say things, then ask for them while people come and go; every reply is judged."""
        house, ground = self._house, self._ground
        house.model.default = self._repeats
        await house.start(allow_guests=True)
        for room in ground.rooms.values():
            if room.kind is not Kind.DM:
                name = "" if room.kind is Kind.GROUP_DM else room.name
                made = await house.people.add_channel(name, kind=room.kind.value, members=sorted(room.inside))
                self._ids[room.name] = str(made["id"])
        for _ in range(_SAID_FIRST):
            await self._say(ground.saying(), count)
        for _ in range(questions):
            house.clock.turn(ground.chance.choice((10, 10, 10, _VISIT_ENDS)))
            await self._happen(ground.turn())
            if ground.chance.random() < 0.2:  # now and then
                await self._say(ground.saying(), count)
            if self._reports and ground.chance.random() < 0.2:
                await self._report(ground.report())
            await self._ask(ground.question(), count)

    async def _say(self, saying: Remark, count: Count) -> None:
        read = await self._answered(saying.person, saying.room, saying.text)
        self._judge(Probe(saying.person, saying.room, saying), read, count)

    async def _report(self, report: Remark) -> None:
        """A program reports it in the conversation that the soul had last in a room, if there is one."""
        channel = await self._channel(report.person, report.room)
        had = await self._house.rows(
            "SELECT soul, workspace, thread FROM conversations WHERE channel = ? ORDER BY last_ms DESC LIMIT 1", channel
        )
        if not had:
            return
        room = user_id(report.person) if self._ground.rooms[report.room].kind is Kind.DM else channel
        soul, workspace, thread = (had[0][name] for name in ("soul", "workspace", "thread"))
        ci = ProgramSense("ci")
        reading = PushedReading(soul, workspace, report.word, report.word, ci, report.text, room, thread)
        built = inside(self._house)
        with suppress(NowhereToPerceive):  # nobody said anything there yet
            await built.store.senses.push(reading)
        built.dispatcher.look_again()
        await self._house.idle()

    async def _channel(self, person: str, room: str) -> str:
        return self._ids.get(room) or await self._house.people.open_dm(person)

    async def _ask(self, question: Probe, count: Count) -> None:
        count.probes += 1
        turned = question.meanwhile
        silencing = turned and turned.room == question.room and turned.change in (Change.SOUL, Change.ARCHIVE)
        self._meanwhile = None if silencing else turned
        read = await self._answered(question.person, question.room, f"whose is the {question.saying.topic}?")
        self._judge(question, read, count)

    async def _answered(self, person: str, room: str, text: str) -> str:
        if self._ground.rooms[room].kind is Kind.DM:
            return await self._house.answered(person, "dm", text)
        return await self._house.answered(person, self._ids[room], f"@soul {text}")

    def _judge(self, question: Probe, read: str, count: Count) -> None:
        count.judge(self._ground, question, read)
        for one in (*self._ground.sayings, *self._ground.reported):
            if one.word in read:
                self._ground.repeat(one, question.room)

    async def _repeats(self, prompt: Prompt) -> Reply:
        """The words of others that the model was given; before its reply ends, something may change."""
        if prompt.step in {"respond", "think"} and ALONE not in prompt.messages[-1].text:
            turned, self._meanwhile = self._meanwhile, None
            await self._happen(turned)
        return _PARROT.answer(prompt)

    async def _happen(self, turned: Turned | None) -> None:
        """Let Slack change, and wait until the daemon has heard of it."""
        if turned is None:
            return
        self._ground.apply(turned)
        state = self._slack.state
        if turned.change is Change.STANDING:
            standing = Standing.GUEST if turned.person in self._ground.guests else Standing.MEMBER
            self._slack.change_person(replace(state.people[user_id(turned.person)], standing=standing))
        else:
            change_room(self._slack, state.channels[self._ids[turned.room]], self._ground.rooms[turned.room], turned)
        await self._house.acknowledged()


def change_room(slack: Workspace, room: WorkspaceChannel, now: Room, turned: Turned) -> None:
    """Make a channel of the workspace what it is `now`, as the change says."""
    soul = slack.state.app.user
    ways: dict[Change, Callable[[], object]] = {
        Change.JOIN: lambda: slack.join(room, user_id(turned.person)),
        Change.LEAVE: lambda: slack.leave(room, user_id(turned.person)),
        Change.CONVERT: lambda: slack.convert(room, ChannelKind(now.kind), "U0ADA"),
        Change.SHARE: lambda: slack.share(room, shared=not room.shared),
        Change.ARCHIVE: lambda: slack.archive(room, "U0ADA", archived=now.archived),
        Change.RENAME: lambda: slack.rename(room, f"{room.name}x"),
        Change.SOUL: lambda: slack.leave(room, soul) if now.deaf else slack.join(room, soul),
    }
    ways[turned.change]()
