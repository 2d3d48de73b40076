"""Hostile markdown through everything that a reply passes before it is posted: no crash, and never long under way."""

import asyncio
import random
import time
from dataclasses import dataclass, field
from typing import Final

from bench.plan import Bench
from bench.report import Row
from daemon.channels.slack.link_safety import ReplyGuard
from daemon.channels.slack.markup import inert
from daemon.channels.slack.splitting import plain, rich, split
from daemon.core.concurrency import alongside
from daemon.core.perception import ConversationKey
from daemon.core.ports.library import Post
from daemon.core.ports.services import SystemClock
from daemon.core.text import KnownHosts
from tests.unit.hostile_markdown import hostile_markdown

_GUARD: Final = ReplyGuard(KnownHosts(["example.org"]))
_WHERE: Final = ConversationKey("soul", "T0", "C0")
_LOOK: Final = 0.005  # seconds between two looks at the event loop


@dataclass(slots=True)
class _Seen:
    """Seconds of processor time: of each reply's cut and of each part's post, and the longest that the loop waited."""

    cut: list[float] = field(default_factory=list)
    post: list[float] = field(default_factory=list)
    held: float = 0.0

    def render(self, seed: int, text: str) -> None:
        """What the daemon does in a thread of its own."""
        began = time.thread_time()
        parts = split(inert(text, _GUARD))
        self.cut.append(time.thread_time() - began)
        for number, part in enumerate(parts):
            post = Post(f"key-{seed}", _WHERE, part, "", "U0ADA", "0", number)
            began = time.thread_time()
            rich(post)
            self.post.append(time.thread_time() - began)
            plain(post)

    async def watch(self) -> None:
        """Measure how long the event loop gets no turn because this process works: not while others have the core."""
        clock = SystemClock()
        while True:
            began, worked = clock.monotonic(), time.process_time()
            await clock.sleep(_LOOK)
            late = clock.monotonic() - began - _LOOK
            self.held = max(self.held, min(late, time.process_time() - worked))


async def measure(bench: Bench) -> list[Row]:
    """Generated replies of 1 to 60,000 characters: crashes, milliseconds of each step, how long the loop is held."""
    replies, crashes, seen = bench.size(20_000, 500), 0, _Seen()
    async with alongside(seen.watch()):
        for seed in range(replies):
            text = hostile_markdown(random.Random(seed))  # noqa: S311  # the same texts each time
            try:
                await asyncio.to_thread(seen.render, seed, text)
            except Exception as error:  # noqa: BLE001  # counted: each is a reply that would end in an apology
                bench.tell(f"seed {seed}: {type(error).__name__}")
                crashes += 1
    return [
        Row(f"crashes, of {replies} hostile replies", "", crashes, at_most=0),
        Row("rendering a part, p99", "ms", _p99(seen.post), at_most=50),
        Row("rendering a part, slowest", "ms", 1000 * max(seen.post)),
        Row("cutting a reply into parts, p99", "ms", _p99(seen.cut)),
        Row("event loop without a turn, longest", "ms", 1000 * seen.held, at_most=100),
    ]


def _p99(seconds: list[float]) -> float:
    return 1000 * sorted(seconds)[int(0.99 * len(seconds))]
