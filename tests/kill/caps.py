"""Two daemons on one memory.db, fifty conversations at once, kills in between: no cap of the day may be passed.

`python -m tests.kill caps --kills 20 --bursts 8` prints the figure; `--careless` is the negative control.
"""

import asyncio
import random
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final

from daemon.core.spending import PaidBy
from daemon.memory.database.sqlite import sqlite3
from tests.kill.bill import billed, paid_by_each
from tests.kill.loop import PATIENT, PEOPLE, stage
from tests.kill.verdict import Figure, count, replies, until_still

AT_ONCE: Final = 50
_SHARES: Final = {PaidBy.SOUL: 1.0, PaidBy.PERSON: 0.4, PaidBy.ROOM: 0.75}  # of the soul's cap
_SETTINGS: Final = {"ism_enabled": False, "embedder": "none", "deadline": 60.0}
_ROOMS: Final = ("general", "general", "general", "general", "dm")
_NAMES: Final = {
    PaidBy.SOUL: "max_usd_a_day",
    PaidBy.PERSON: "max_usd_a_day_person",
    PaidBy.ROOM: "max_usd_a_day_room",
}
_ROUNDING: Final = 1e-6
_SLOW: Final = 0.05  # seconds from word to word, so that all of a burst are under way at once


@dataclass
class Bills(Figure):
    """The outcome in US dollars: what the vendor charged, the soul's cap, and by how much which cap was passed.

    `unpaid` is what the vendor charged and memory.db does not know of; `leaked` counts reservations that nothing ends,
    `silent` messages without an end, `refused` the words about a cap that people read.
    """

    FAULTS: ClassVar = ("overspend", "unpaid", "leaked", "silent")
    cap: float
    kills: int
    conversations: int
    spent: float = 0.0
    overspend: float = 0.0
    unpaid: float = 0.0
    leaked: int = 0
    silent: int = 0
    refused: int = 0


async def run(
    home: Path, *, cap: float = 20.0, kills: int = 20, bursts: int = 6, seed: int, careless: bool = False
) -> Bills:
    """Let people speak in bursts of fifty conversations while one of two daemons is killed again and again.

    The soul has so many US dollars a day, people and rooms have less. Daemons that are `careless` forget what is
    reserved.
    """
    dice, bill = random.Random(seed), home / "bill"
    settings = {**_SETTINGS, **{_NAMES[one]: cap * share for one, share in _SHARES.items()}}
    async with stage(home, seed, retries=PATIENT) as on:

        async def spawn() -> int:
            pace = _SLOW if careless else dice.choice((0.0, 0.002, 0.01))
            return await on.daemons.spawn(pace=pace, bill=bill, careless=careless, settings=settings)

        living = [await spawn(), await spawn()]
        for burst in range(bursts):
            for number in range(AT_ONCE):
                on.crowd.say("please", PEOPLE[number % len(PEOPLE)], dice.choice(_ROOMS))
            for _ in range(kills * (burst + 1) // bursts - kills * burst // bursts):
                await asyncio.sleep(dice.uniform(0.1, 1.0))
                await on.daemons.end(living.pop(dice.randrange(2)))
                living.append(await spawn())
        await until_still(lambda: (count(home, _LEFT), len(on.crowd.said) - count(home, _ENDED)))
        bills = _judged(home, bill, Bills(cap, kills, len(on.crowd.said)))
        spoken = [one.text for one in replies(on.workspace)]
        for pid in living:
            await on.daemons.end(pid)
    return replace(bills, refused=sum("used up" in text for text in spoken))


def _judged(home: Path, bill: Path, bills: Bills) -> Bills:
    """What the vendor charged against the soul's cap, and what memory.db says against those of people and rooms."""
    spent, cap = sum(one.usd for one in billed(bill)), bills.cap
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        sums = {one: paid_by_each(connection, one) for one in PaidBy}
    most = max(spent - cap, *(max(sums[one], default=0.0) - cap * _SHARES[one] for one in PaidBy))
    unpaid = spent - sum(sums[PaidBy.SOUL])
    return replace(
        bills,
        spent=spent,
        overspend=most if most > _ROUNDING else 0.0,
        unpaid=unpaid if unpaid > _ROUNDING else 0.0,
        leaked=count(home, "SELECT count(*) FROM reservations"),
        silent=bills.conversations - count(home, _ENDED),
    )


_ENDED: Final = "SELECT count(*) FROM inbox WHERE modality = 'words' AND state NOT IN ('new', 'claimed', 'dead')"
_LEFT: Final = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed')) + (SELECT count(*) FROM reservations)
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
         + (SELECT count(*) FROM jobs WHERE state = 'running' OR (state = 'ready' AND not_before = 0))
    """
