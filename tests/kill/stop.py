"""Stops replies by the button and by the word, with the daemon killed between the click and the end.

`python -m tests.kill.stop --rounds 60` prints the figure: `after_stop_visible=0 p95_s=…`. A word that becomes visible
after the reply was closed, a second message, and a reply that was not stopped although the daemon had acknowledged the
click each count as visible after the stop.
"""

import argparse
import asyncio
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from daemon.local_slack.deliveries import Retries
from daemon.local_slack.model import Streaming, WorkspaceMessage
from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.kill.loop import PEOPLE, Nursery, kill, nursery, until_dead

PACE: Final = 0.01  # seconds from word to word
_WORD: Final = re.compile(r"word(\d{4})")
_PATIENCE: Final = 60.0  # seconds until a reply is begun, or closed


@dataclass(slots=True)
class StopVerdict:
    """How long stops took where nobody was killed (seconds), and in how many rounds something came after the stop."""

    rounds: int = 0
    kills: int = 0
    after_stop_visible: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def p95_s(self) -> float:
        """The time within which 95 of 100 stops ended a reply."""
        ordered = sorted(self.seconds)
        return ordered[max(0, round(0.95 * len(ordered)) - 1)] if ordered else 0.0

    def __str__(self) -> str:
        return (
            f"rounds={self.rounds} kills={self.kills} after_stop_visible={self.after_stop_visible} "
            f"p95_s={self.p95_s:.3f}"
        )


@dataclass(frozen=True, slots=True)
class StoppedReply:
    """A question, the number of words that were shown when its reply was closed, and whether the click was heard."""

    asked: WorkspaceMessage
    words: int
    heard: bool


class StopStage:
    """The workspace, and what the soul shows in the thread of one message."""

    def __init__(self, server: WorkspaceServer) -> None:
        self._workspace = server.workspace
        self._acting = PeopleActing(server.workspace)

    def ask(self, person: str, words: str, thread: str = "") -> WorkspaceMessage:
        """A message of a user in their direct messages."""
        speaker = self._acting.person(person)
        return self._acting.say(speaker, self._acting.readable(speaker, "dm"), words, thread=thread)

    def press_stop(self, asked: WorkspaceMessage) -> str:
        """Press Slack's stop button below a message; gives the id of the event."""
        speaker = self._acting.person(asked.author)
        return self._acting.stop(speaker, self._acting.readable(speaker, "dm"), asked.ts)

    def is_heard(self, event_id: str) -> bool:
        """Whether a daemon has acknowledged an event."""
        log = self._workspace.deliveries.log
        return any(one.event_id == event_id and one.acked_at is not None for one in log)

    def replies(self, asked: WorkspaceMessage) -> list[WorkspaceMessage]:
        """What the soul shows below a message, oldest first."""
        timeline = self._workspace.state.timeline(asked.channel)
        below = (timeline.get(ts) for ts in timeline.replies(asked.ts))
        return [one for one in below if one is not None and one.author == self._workspace.state.app.user]

    def words(self, asked: WorkspaceMessage) -> int:
        """The highest number of a word that is shown below a message."""
        shown = " ".join(f"{one.text} {one.blocks}" for one in self.replies(asked))
        return max((int(number) for number in _WORD.findall(shown)), default=0)

    async def until_begun(self, asked: WorkspaceMessage, words: int) -> None:
        """Wait until so many words are shown."""
        async with asyncio.timeout(_PATIENCE):
            while self.words(asked) < words:  # noqa: ASYNC110 - other processes grow it
                await asyncio.sleep(0.005)

    async def until_closed(self, asked: WorkspaceMessage) -> None:
        """Wait until nothing grows below a message any more."""
        async with asyncio.timeout(_PATIENCE):
            while not self._is_closed(asked):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.002)

    def _is_closed(self, asked: WorkspaceMessage) -> bool:
        shown = self.replies(asked)
        return bool(shown) and all(one.streaming is not Streaming.OPEN for one in shown)


async def run(home: Path, *, rounds: int, kills: int, seed: int) -> StopVerdict:
    """Stop a reply in each round; in `kills` of them the daemon dies at once after the click."""
    dice, verdict = random.Random(seed), StopVerdict()
    retries = Retries(deadline=0.5, schedule=(0.0, 0.3, 1.0))
    async with serve_workspace(retries=retries) as server, nursery(home, server) as daemons:
        stage, pids = StopStage(server), [await daemons.spawn(pace=PACE), await daemons.spawn(pace=PACE)]
        deadly = set(dice.sample(range(rounds), kills))
        asked = []
        for number in range(rounds):
            dies = number in deadly
            asked.append(await _round(stage, daemons, pids if dies else [], verdict, dice))
        await asyncio.sleep(1.0)  # real time: what a daemon would still say is said by now
        verdict.after_stop_visible += sum(_is_wrong(stage, one) for one in asked)
        for pid in pids:
            kill(pid)
            await until_dead(pid)
    return verdict


async def _round(
    stage: StopStage, daemons: Nursery, pids: list[int], verdict: StopVerdict, dice: random.Random
) -> StoppedReply:
    """One reply that is stopped, by the button where a daemon dies, else by the button or the word."""
    asked = stage.ask(dice.choice(PEOPLE), f"tell me at length of {verdict.rounds}")
    verdict.rounds += 1
    await stage.until_begun(asked, dice.randint(1, 60))
    began = time.monotonic()
    heard = True
    if pids or dice.random() < 0.5:
        event = stage.press_stop(asked)
    else:
        stage.ask(asked.author, "stop", asked.ts)
    if pids:
        verdict.kills += 1
        await asyncio.sleep(dice.uniform(0.0, 0.04))
        heard = stage.is_heard(event)
        for number, pid in enumerate(pids):
            kill(pid)
            await until_dead(pid)
            pids[number] = await daemons.spawn(pace=PACE)
    await stage.until_closed(asked)
    if not pids:
        verdict.seconds.append(time.monotonic() - began)
    return StoppedReply(asked, stage.words(asked), heard)


def _is_wrong(stage: StopStage, stopped: StoppedReply) -> bool:
    shown = stage.replies(stopped.asked)
    said = "".join(f"{one.text} {one.blocks}" for one in shown)
    goes_on = stopped.heard and "Stopped" not in said
    return len(shown) != 1 or goes_on or stage.words(stopped.asked) != stopped.words


def main() -> None:
    """Run from the command line; exit code 1 where something was visible after a stop, or stops took too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="stop-"))
    print(f"seed={options.seed} home={home}")
    verdict = asyncio.run(run(home, rounds=options.rounds, kills=options.kills, seed=options.seed))
    print(verdict)
    sys.exit(bool(verdict.after_stop_visible) or verdict.p95_s > 1.0)


if __name__ == "__main__":
    main()
