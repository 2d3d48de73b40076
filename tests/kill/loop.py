"""The kill loop: users post, daemons die at any instant, and in the end every event must be answered exactly once.

Run a long one by hand: `python -m tests.kill.loop --kills 300 --events 300`; the last line is the figure.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.model import WorkspaceMessage
from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.kill.mind import MOODS
from tests.kill.verdict import Outcome, judge, until_settled

PEOPLE = ("U0ADA", "U0BEN", "U0CHLOE")
SOUL = "restless"
APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Gives a program a PID namespace and a /proc of its own."""

_DORMANT_AFTER = 0.3
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


class Nursery:
    """Daemons that the zygote forks and the test kills."""

    def __init__(self, process: asyncio.subprocess.Process, home: Path, workspace: WorkspaceServer) -> None:
        self._process = process
        self._home = home
        self._workspace = workspace

    async def spawn(
        self,
        *,
        crash: str = "",
        passed: str = "",
        naive: bool = False,
        pace: float = 0.0,
        lease: float = 2.0,
        lives: Path | str = "",
        settings: Mapping[str, object] = MappingProxyType({}),
        bill: Path | str = "",
        careless: bool = False,
        busy: bool = False,
    ) -> int:
        """Start a daemon on the shared memory.db and return its pid; see `tests.kill.zygote` for the parameters.

        `settings` are those of the daemon that differ. It notes in the file `lives` who it is and whom it finds dead,
        and in `bill` what its model charges. One that is `careless` forgets what others have reserved,
        one that is `busy` has a `BusyMind`.
        """
        order = {
            "settings": {
                "learn_after": 0,
                "slack_bot_token": self._workspace.bot_token,
                "slack_app_token": self._workspace.app_token,
                "slack_api_url": self._workspace.api_url,
                "slack_pacing": False,
                "home": str(self._home),
                "lease": lease,
                "in_doubt": 0.2,
                "http": False,
                "name": SOUL,
                "ism_enabled": True,
                "dormant_after": _DORMANT_AFTER,
                **settings,
            },
            "log": str(self._home / "daemon.log"),
            "crash": crash,
            "passed": passed,
            "naive": naive,
            "pace": pace,
            "lives": str(lives),
            "bill": str(bill),
            "careless": careless,
            "busy": busy,
        }
        return await self._order(order)

    async def end(self, pid: int) -> None:
        """Have a daemon killed where its pid holds, with SIGKILL; it is gone then."""
        await self._order({"kill": pid})

    async def _order(self, order: Mapping[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        return int(await self._process.stdout.readline())


@asynccontextmanager
async def nursery(
    home: Path, workspace: WorkspaceServer, *, apart: bool = False, mind: str = "process", tools: bool = False
) -> AsyncIterator[Nursery]:
    """A running zygote; `apart` where neither its daemons see other processes of this machine nor those see them.

    In which way its soul answers, `mind` says. With `tools` its daemons needn't load what connects to servers.
    """
    folder = home / "souls" / SOUL
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "soul.toml").write_text(f'mind = "{mind}"\n{_SOUL}')
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


def kill(pid: int) -> None:
    """Kill a process with SIGKILL."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


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
        speaker = self._acting.person(person or self._dice.choice(PEOPLE))
        place = place or ("dm" if person else self._dice.choice(("dm", "general", "general")))
        room = self._acting.readable(speaker, place)
        text = f"marker{len(self.said):05d} {words}"
        if not room.id.startswith("D"):
            text = f"@soul {text}"
        earlier = [one for one in self.said if one.channel == room.id]
        thread = self._dice.choice(earlier[-5:]) if not person and earlier and self._dice.random() < 0.3 else None
        message = self._acting.say(speaker, room, text, thread=(thread.thread_ts or thread.ts) if thread else "")
        self.said.append(message)
        if self._dice.random() < 0.2:
            self._workspace.deliveries.repeat(self._workspace.deliveries.log[-1].event_id)
        return message


async def run(home: Path, *, kills: int, events: int, seed: int, naive: bool = False, mind: str = "process") -> Outcome:
    """Kill daemons at random moments while users post, then let one live and judge the outcome."""
    dice = random.Random(seed)
    retries = Retries(deadline=0.5, schedule=(0.0, 0.5, 1.0, 2.0))
    async with serve_workspace(retries=retries) as workspace, nursery(home, workspace, mind=mind) as daemons:
        crowd = Crowd(workspace, seed)
        for number in range(kills):
            pid = await daemons.spawn(naive=naive, pace=dice.choice((0.0, 0.0, 0.01)))
            due = (number + 1) * events // kills
            lifetime = dice.uniform(0.05, 0.4)
            while len(crowd.said) < due:
                await asyncio.sleep(lifetime * dice.random() / max(1, due - len(crowd.said)))
                crowd.speak()
            await asyncio.sleep(lifetime * dice.random())
            kill(pid)
            await until_dead(pid)
        last = await daemons.spawn(naive=naive)
        await until_settled(home, workspace, crowd.said)
        outcome = judge(home, workspace, crowd.said, kills)
        kill(last)
        await until_dead(last)
        return replace(outcome, integrity=judge(home, workspace, crowd.said, kills).integrity)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--naive", action="store_true", help="the negative control: resend without looking")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="kill-loop-"))
    print(f"seed={options.seed} home={home}")
    outcome = asyncio.run(run(home, kills=options.kills, events=options.events, seed=options.seed, naive=options.naive))
    print(outcome, *outcome.torn, sep="\n")
    sys.exit(not outcome.faultless)


if __name__ == "__main__":
    main()
