"""The kill loop: users post, daemons die at any instant, and in the end every event must be answered exactly once.

Run a long one by hand: `python -m tests.kill loop --kills 300 --events 300`; the last line is the figure.
"""

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from daemon.core.value import Value
from daemon.local_slack.model import WorkspaceMessage
from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.local_slack.sockets import Retries
from tests.kill.mind import MOODS
from tests.kill.verdict import Outcome, judge, until_settled

PEOPLE = ("U0ADA", "U0BEN", "U0CHLOE")
SOUL = "restless"
APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Gives a program a PID namespace and a /proc of its own."""

_DORMANT_AFTER = 0.3
PATIENT = (0.0, 0.5, 1.0, 2.0)
"""After how many seconds an event is delivered again, where each is to come in the end."""

_LAST_WORDS_S = 120.0  # until a daemon that shall die is gone
_WISHES = ("please", "please remind me", "please find out, and remind me", "please find out, and ask me")
_WEIGHTS = (0.75, 0.1, 0.05, 0.1)
# It learns from the first message on, and its transcript is so short that it summarizes after nearly every reply.
_SOUL = f"""\
name = "{SOUL}"
display_name = "Soul"
emotional_states = {json.dumps(MOODS)}

[notes]
min_interactions = 1
whispers = true

[budgets]
transcript = 120
"""
PROCESS, CYCLE = f'mind = "process"\n{_SOUL}', f'mind = "cycle"\n{_SOUL}'


class Nursery:
    """Daemons that the zygote forks and the test kills."""

    def __init__(self, process: asyncio.subprocess.Process, home: Path, workspace: WorkspaceServer) -> None:
        self._process = process
        self._home = home
        self._workspace = workspace

    async def spawn(
        self,
        *,
        lease: float = 2.0,
        settings: Mapping[str, object] = MappingProxyType({}),
        **order: str | float | Path,
    ) -> int:
        """Start a daemon on the shared memory.db and return its pid; see `tests.kill.zygote` for the `order`.

        `settings` are those of the daemon that differ.
        """
        given = {
            "learn_after": 0,
            "slack_bot_token": self._workspace.bot_token,
            "slack_app_token": self._workspace.app_token,
            "slack_api_url": self._workspace.api_url,
            "home": str(self._home),
            "lease": lease,
            "in_doubt": 0.2,
            "http": False,
            "name": SOUL,
            "ism_enabled": True,
            "local_models": False,
            "embedder": "none",  # each daemon would begin a process for it; `whole_mind` has one
            "dormant_after": _DORMANT_AFTER,
            **settings,
        }
        return await self._order({"settings": given, "log": self._home / "daemon.log", **order})

    async def end(self, pid: int) -> None:
        """Have a daemon killed where its pid holds, with SIGKILL; it is gone then."""
        await self._order({"kill": pid})

    async def _order(self, order: Mapping[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order, default=str).encode() + b"\n")
        return int(await self._process.stdout.readline())


@asynccontextmanager
async def nursery(
    home: Path, workspace: WorkspaceServer, *, apart: bool = False, soul: str = "", tools: bool = False
) -> AsyncIterator[Nursery]:
    """A running zygote; `apart` where neither its daemons see other processes of this machine nor those see them.

    `soul` is the soul.toml where it differs. With `tools` its daemons needn't load what connects to servers.
    """
    folder = home / "souls" / SOUL
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soul.toml").write_text(soul or PROCESS)
    (folder / "soul.md").write_text("You are restless.\n")
    scrubbed = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    process = await asyncio.create_subprocess_exec(
        *(*(APART if apart else ()), sys.executable, "-m", "tests.kill.zygote", *(["tools"] if tools else [])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=home,
        env=scrubbed,
    )
    try:
        yield Nursery(process, home, workspace)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def alive(pid: int) -> bool:
    """Whether a process is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def until_dead(pid: int) -> None:
    """Wait until a killed process is gone; TimeoutError says that nothing killed it."""
    async with asyncio.timeout(_LAST_WORDS_S):
        while alive(pid):  # noqa: ASYNC110 - the child of another process: there is no event to wait for
            await asyncio.sleep(0.005)


class Crowd:
    """Users who post in DMs, by mentions and in threads; each message has a marker of its own."""

    def __init__(self, workspace: WorkspaceServer, seed: int) -> None:
        self._workspace = workspace.workspace
        self._acting = PeopleActing(self._workspace)
        self._dice = random.Random(seed)
        self.said: list[WorkspaceMessage] = []

    def speak(self) -> WorkspaceMessage:
        """Post one message of a random user, which may ask for something."""
        return self.say(self._dice.choices(_WISHES, _WEIGHTS)[0])

    def say(self, words: str, person: str = "", place: str = "") -> WorkspaceMessage:
        """Post a message in the DM of a user; without a name, of a random user in a random place, or the given one."""
        speaker = self._workspace.state.people[person or self._dice.choice(PEOPLE)]
        place = place or ("dm" if person else self._dice.choice(("dm", "general", "general")))
        text = f"marker{len(self.said):05d} {words}"
        if place != "dm":
            text = f"@soul {text}"
        room = self._workspace.open_dm(speaker.id) if place == "dm" else self._workspace.state.channel_named(place)
        earlier = [one for one in self.said if room and one.channel == room.id]
        thread = self._dice.choice(earlier[-5:]) if not person and earlier and self._dice.random() < 0.3 else None
        message = self._acting.say(speaker, place, text, thread=(thread.thread_ts or thread.ts) if thread else "")
        self.said.append(message)
        if self._dice.random() < 0.2:
            self._workspace.deliveries.repeat(self._workspace.deliveries.log[-1].event_id)
        return message


class KillStage(Value):
    """A workspace with users who post, and daemons to be killed."""

    home: Path
    workspace: WorkspaceServer
    daemons: Nursery
    crowd: Crowd

    async def settle(self, kills: int = 0, *, pid: int = 0, naive: bool = False) -> Outcome:
        """Let the last daemon live until nothing waits any more, kill it too, and judge."""
        last = pid or await self.daemons.spawn(naive=naive)
        await until_settled(self.home, self.workspace, self.crowd.said)
        await self.daemons.end(last)
        return self.judged(kills)

    def judged(self, kills: int) -> Outcome:
        """What became of the messages so far."""
        return judge(self.home, self.workspace, self.crowd.said, kills)


@asynccontextmanager
async def stage(
    home: Path, seed: int, *, retries: Sequence[float] = (0.0, 0.3, 1.0), soul: str = "", tools: bool = False
) -> AsyncIterator[KillStage]:
    """A workspace, a zygote and no daemon yet; an event without acknowledgement comes again after `retries`."""
    async with (
        serve_workspace(retries=Retries(deadline=0.5, schedule=tuple(retries))) as workspace,
        nursery(home, workspace, soul=soul, tools=tools) as daemons,
    ):
        yield KillStage(home, workspace, daemons, Crowd(workspace, seed))


async def run(
    home: Path, *, kills: int = 300, events: int = 300, seed: int, naive: bool = False, soul: str = ""
) -> Outcome:
    """Kill daemons at random moments while users post, then let one live and judge the outcome.

    Those that are `naive` are the negative control: they resend without looking.
    """
    dice = random.Random(seed)
    async with stage(home, seed, retries=PATIENT, soul=soul) as on:
        for number in range(kills):
            pid = await on.daemons.spawn(naive=naive, pace=dice.choice((0.0, 0.0, 0.01)))
            due = (number + 1) * events // kills
            lifetime = dice.uniform(0.05, 0.4)
            while len(on.crowd.said) < due:
                await asyncio.sleep(lifetime * dice.random() / max(1, due - len(on.crowd.said)))
                on.crowd.speak()
            await asyncio.sleep(lifetime * dice.random())
            await on.daemons.end(pid)
        return await on.settle(kills, naive=naive)
