"""A mind under kills loses, doubles and overspends nothing and scores nothing twice; the judge would see it."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from daemon.memory.database.sqlite import sqlite3
from tests import chance
from tests.kill.bill import BilledCall
from tests.kill.busy_mind import KEPT
from tests.kill.mind_verdict import DAY_MS, HOUR_MS, Budget, Left, judged, overspent
from tests.kill.whole_mind import MindPlay, play, run

_WISHES: Final = ("please promise it", "please plan it and look", "please expect it", "please write it down")
_TAMPERED: Final = (
    ("lost", "UPDATE inbox SET answered_by = 'none' WHERE modality = 'words' AND author = 'U0BEN'"),
    ("lost", "UPDATE goals SET state = 'open' WHERE goal LIKE '%plan%'"),
    ("lost", "UPDATE thoughts SET output = json_set(output, '$.inner_speech', '') WHERE output <> ''"),
    ("lost", "UPDATE predictions SET state = 'open', due_ms = 1"),
    ("lost", "UPDATE approvals SET state = 'approved' WHERE tool LIKE 'shelf/%'"),
    ("doubled", "UPDATE thoughts SET output = json_set(output, '$.inner_speech', 'Seen: G1 Done: G1')"),
    ("doubled", "UPDATE goals SET goal = 'marker00000 plan'"),
    ("scored_twice", "UPDATE prediction_sums SET scored = scored + 1"),
    ("scored_twice", "UPDATE prediction_sums SET squared = squared + 0.5"),
    ("scored_twice", """UPDATE thoughts SET input = '{"prediction_errors": [{"predicted": "marker00002 news"}]}'"""),
    ("torn", "UPDATE thoughts SET previous = 'none' WHERE seq = 2"),
    ("torn", "UPDATE conversations SET process = 'poetic'"),
)
_MISREAD: Final[tuple[tuple[str, Callable[[Left], Left]], ...]] = (
    ("lost", lambda left: replace(left, posts=[one for one in left.posts if KEPT not in one])),
    ("doubled", lambda left: replace(left, posts=[*left.posts, *left.posts])),
    ("doubled", lambda left: replace(left, effects=left.effects + left.effects)),
    ("doubled", lambda left: replace(left, outcome=dataclasses.replace(left.outcome, twice=("a post",)))),
    ("overspend", lambda left: replace(left, budget=replace(left.budget, tokens_hour=1))),
    ("overspend", lambda left: replace(left, budget=replace(left.budget, tokens_day=1))),
    ("overspend", lambda left: replace(left, budget=replace(left.budget, usd_day=0.0))),
)


@pytest.mark.timeout(1_800)  # for what hangs; half a minute on an idle machine
@pytest.mark.parametrize("daemons", [1, 2])
async def test_nothing_of_a_mind_is_lost_doubled_or_scored_twice_by_kills(tmp_path: Path, daemons: int) -> None:
    found = await run(tmp_path, kills=6, seed=chance.SEED, daemons=daemons)
    print(found)
    assert found.faultless, found.details
    assert found.kills >= 6


@pytest.mark.timeout(1_800)  # for what hangs; seconds on an idle machine
async def test_the_judge_sees_each_fault(tmp_path: Path) -> None:
    async with play(tmp_path, 1, 1) as played:
        await played.spawn(armed=False)
        for wish, person in zip(_WISHES, ("U0ADA", "U0ADA", "U0BEN", "U0CHLOE"), strict=True):
            played.crowd.say(wish, person)
        assert (await played.settle()).faultless
        await played.end_all()
        left = played.left()
        assert left.effects == Counter({"marker00003": 1})
        for kind, misread in _MISREAD:
            assert getattr(judged(misread(left)), kind), kind
        for kind, change in _TAMPERED:
            assert getattr(_judged_after(played, change), kind), change


def _judged_after(played: MindPlay, change: str) -> object:
    """The faults once memory.db was changed; the change is taken back."""
    path = played.home / "memory.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.read_bytes()
        with connection:
            connection.execute(change)
        found = judged(played.left())
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(before)
    return found


def test_an_hour_is_any_hour_and_a_day_the_calendars() -> None:
    budget = Budget(tokens_hour=100, tokens_day=150, usd_day=1.0)

    def over(*calls: tuple[int, int], unasked: bool = True) -> list[str]:
        return overspent([BilledCall("", at, unasked, tokens, 0.0) for at, tokens in calls], budget)

    assert over((10 * DAY_MS, 60), (10 * DAY_MS + HOUR_MS, 60)) == []
    assert over((10 * DAY_MS, 60), (10 * DAY_MS + HOUR_MS - 1, 60)) == ["120 tokens in an hour, of 100"]
    assert over((10 * DAY_MS, 90), (10 * DAY_MS + 2 * HOUR_MS, 90)) == ["180 tokens in a day, of 150"]
    assert over((10 * DAY_MS - 1, 90), (10 * DAY_MS + 2 * HOUR_MS, 90)) == []
    assert over((10 * DAY_MS, 1_000), unasked=False) == []
