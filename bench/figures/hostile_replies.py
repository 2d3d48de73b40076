"""Hostile markdown through everything that a reply passes before it is posted: no crash, and never long under way."""

import random
import time
from typing import Final

from bench.plan import Bench
from bench.report import Row
from daemon.channels.slack.outgoing.blocks import rich
from daemon.channels.slack.outgoing.markup import inert
from daemon.channels.slack.outgoing.splitting import split
from daemon.channels.slack.outgoing.unknown_links import ReplyGuard
from daemon.core.links import KnownHosts
from daemon.core.perception import ConversationKey
from daemon.core.ports import Post
from tests.unit.hostile_markdown import hostile_markdown

_GUARD: Final = ReplyGuard(KnownHosts(["example.org"]))
_WHERE: Final = ConversationKey("soul", "T0", "C0")


async def measure(bench: Bench) -> list[Row]:
    """Generated replies of 1 to 60,000 characters: crashes, and milliseconds of a reply's cut and of a part's post."""
    replies, crashes, cut, post = bench.size(20_000, 500), 0, [], []
    for seed in range(replies):
        text = hostile_markdown(random.Random(seed))  # noqa: S311  # the same texts each time
        try:
            began = time.thread_time()
            parts = split(inert(text, _GUARD))
            cut.append(time.thread_time() - began)
            for number, part in enumerate(parts):
                began = time.thread_time()
                rich(Post(f"key-{seed}", _WHERE, part, "", "U0ADA", "0", number))
                post.append(time.thread_time() - began)
        except Exception as error:  # noqa: BLE001  # counted: each is a reply that nobody would see
            bench.tell(f"seed {seed}: {type(error).__name__}")
            crashes += 1
    return [
        Row(f"crashes, of {replies} hostile replies", "", crashes, at_most=0),
        Row("rendering a part, p99", "ms", _p99(post), at_most=50),
        Row("rendering a part, slowest", "ms", 1000 * max(post)),
        Row("cutting a reply into parts (beside the loop), p99", "ms", _p99(cut)),
    ]


def _p99(seconds: list[float]) -> float:
    return 1000 * sorted(seconds)[int(0.99 * len(seconds))]
