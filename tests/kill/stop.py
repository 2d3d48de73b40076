"""Stops replies by the button and by the word, with the daemon killed between the click and the end.

`python -m tests.kill stop --rounds 60` prints the figure: `after_stop_visible=0 p95_s=…`. A word that becomes visible
after the reply was closed, a second message, and a reply that was not stopped although the daemon had acknowledged the
click each count as visible after the stop.
"""

import asyncio
import random
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from daemon.core.value import Value
from daemon.local_slack.model import Streaming, WorkspaceMessage
from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.server import WorkspaceServer
from tests.kill.loop import PEOPLE, Nursery, stage
from tests.kill.verdict import Figure, count, replies, until_still

PACE: Final = 0.01  # seconds from word to word
_WORD: Final = re.compile(r"word(\d{4})")
_LEFT: Final = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    """
_PATIENCE: Final = 60.0  # seconds until a reply is begun, or closed


@dataclass
class StopVerdict(Figure):
    """In how many rounds something came after the stop, and within how many seconds 95 of 100 ended a reply."""

    FAULTS: ClassVar = ("after_stop_visible",)
    rounds: int = 0
    kills: int = 0
    after_stop_visible: int = 0
    p95_s: float = 0.0
    wrong: tuple[str, ...] = ()

    @property
    def details(self) -> tuple[str, ...]:
        """How each reply went on that was to be stopped."""
        return self.wrong

    @property
    def faultless(self) -> bool:
        """Whether nothing came after a stop, and stops took a second at most."""
        return super().faultless and self.p95_s <= 1.0


class StoppedReply(Value):
    """A question, the number of words that were shown when its reply was closed, and whether the click was heard."""

    asked: WorkspaceMessage
    words: int
    heard: bool


class StopStage:
    """The workspace, and what the soul shows in the thread of one message."""

    def __init__(self, server: WorkspaceServer) -> None:
        self._server, self._workspace = server, server.workspace
        self._acting = PeopleActing(server.workspace)

    def ask(self, person: str, words: str, thread: str = "") -> WorkspaceMessage:
        """A message of a user in their direct messages."""
        return self._acting.say(self._workspace.state.people[person], "dm", words, thread=thread)

    def press_stop(self, asked: WorkspaceMessage) -> str:
        """Press Slack's stop button below a message; gives the id of the event."""
        return self._acting.stop(self._workspace.state.people[asked.author], "dm", asked.ts)

    def is_heard(self, event_id: str) -> bool:
        """Whether a daemon has acknowledged an event."""
        log = self._workspace.deliveries.log
        return any(one.event_id == event_id and one.acked_at is not None for one in log)

    def replies(self, asked: WorkspaceMessage) -> list[WorkspaceMessage]:
        """What the soul shows below a message, oldest first."""
        return [one for one in replies(self._server) if one.thread_ts == asked.ts]

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


async def run(home: Path, *, rounds: int = 60, kills: int = 20, seed: int) -> StopVerdict:
    """Stop a reply in each round; in `kills` of them the daemon dies at once after the click."""
    dice, found, seconds = random.Random(seed), StopVerdict(rounds, kills), list[float]()
    async with stage(home, seed) as on:
        pids = [await on.daemons.spawn(pace=PACE), await on.daemons.spawn(pace=PACE)]
        deadly = set(dice.sample(range(rounds), kills))
        shown, asked = StopStage(on.workspace), list[StoppedReply]()
        for number in range(rounds):
            words = f"tell me at length of {number}"
            asked.append(await _round(shown, words, on.daemons, pids if number in deadly else [], seconds, dice))
        await until_still(lambda: (count(home, _LEFT),))  # what a daemon would still say is said
        found.wrong = tuple(fault for one in asked if (fault := _fault(shown, one)))
        found.after_stop_visible = len(found.wrong)
        for pid in pids:
            await on.daemons.end(pid)
    found.p95_s = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)] if seconds else 0.0
    return found


async def _round(  # noqa: PLR0917  # the parts of a round
    shown: StopStage, words: str, daemons: Nursery, pids: list[int], seconds: list[float], dice: random.Random
) -> StoppedReply:
    """One reply that is stopped, by the button where a daemon dies, else by the button or the word."""
    asked = shown.ask(dice.choice(PEOPLE), words)
    await shown.until_begun(asked, dice.randint(1, 60))
    began = time.monotonic()
    heard = True
    if pids or dice.random() < 0.5:
        event = shown.press_stop(asked)
    else:
        shown.ask(asked.author, "stop", asked.ts)
    if pids:
        await asyncio.sleep(dice.uniform(0.0, 0.04))
        heard = shown.is_heard(event)
        for number, pid in enumerate(pids):
            await daemons.end(pid)
            pids[number] = await daemons.spawn(pace=PACE)
    await shown.until_closed(asked)
    if not pids:
        seconds.append(time.monotonic() - began)
    return StoppedReply(asked, shown.words(asked), heard)


def _fault(shown: StopStage, stopped: StoppedReply) -> str:
    """What went wrong with a stop; nothing where nothing did."""
    posts = shown.replies(stopped.asked)
    said = "".join(f"{one.text} {one.blocks}" for one in posts)
    words = shown.words(stopped.asked)
    ended = "Stopped" in said
    # A daemon that died before it acknowledged the click owes nothing: the next one writes the reply anew.
    if len(posts) == 1 and (words == stopped.words if ended else not stopped.heard):
        return ""
    return f"{stopped}: {len(posts)} posts, {ended=}, {words} words now: {said[:300]!r} … {said[-300:]!r}"
