"""Visits are looked through and distilled exactly once, wherever the daemon is killed: none is lost or doubled."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import SystemClock
from daemon.memory.consolidation.slots import NightSlots
from daemon.memory.database import open_database
from daemon.memory.knowledge.records.kinds import Episode, Trust
from daemon.memory.knowledge.records.store import put
from daemon.memory.records import Worker
from tests.kill.loop import SOUL, KillStage, alive, stage, until_dead
from tests.kill.scenes import LEASE
from tests.kill.verdict import Watch
from tests.store.parts import look

VISIT: Final = {"dormant_after": 0.2, "visit_silence": 0.6}
CLOSED: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM jobs WHERE state IN ('ready', 'running'))
      AND EXISTS (SELECT 1 FROM episodes) AND NOT EXISTS (SELECT 1 FROM episodes WHERE state IN ('open', 'closing'))
    """


@pytest.mark.timeout(120)
@pytest.mark.parametrize("place", ["Commits.commit(silent)@after", "Episodes.close@before", "Episodes.close@after"])
async def test_a_visit_is_closed_once_wherever_the_daemon_dies_at_it(tmp_path: Path, place: str) -> None:
    async with stage(tmp_path, 5) as on:
        pid = await on.daemons.spawn(crash=place, passed=str(tmp_path / "passed"), lease=LEASE, settings=VISIT)
        on.crowd.say("please", "U0ADA")
        await until_dead(pid)
        assert look(tmp_path / "memory.db", "SELECT count(*) FROM episodes") == [(1,)]
        await _live_until(on, CLOSED, VISIT)
    assert look(tmp_path / "memory.db", "SELECT r.text, k.state FROM records r JOIN episodes k ON k.id = r.id") == [
        ("They asked.", "closed")
    ]
    assert look(tmp_path / "memory.db", "SELECT text FROM records WHERE kind = 'journal'") == [("It went well.",)]
    written = look(tmp_path / "memory.db", "SELECT count(*) FROM ledger WHERE reason = 'the visit was looked through'")
    assert written == [(1,)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("place", ["Runs.begin@after", "Runs.charge@after", "Runs.write@before", "Runs.write@after"])
async def test_a_core_is_made_once_wherever_the_daemon_dies_at_it(tmp_path: Path, place: str) -> None:
    async with stage(tmp_path, 5) as on:
        await _eight_visits_and_an_order(tmp_path / "memory.db", on.workspace.team.id)
        pid = await on.daemons.spawn(crash=place, passed=str(tmp_path / "passed"), lease=LEASE)
        await until_dead(pid)
        await _live_until(on, "SELECT count(*) FROM consolidations WHERE state = 'done'", {})
    assert look(tmp_path / "memory.db", "SELECT id, text FROM records WHERE kind = 'core'") == [
        ("core_001", "They asked.")
    ]
    assert look(tmp_path / "memory.db", "SELECT count(*) FROM links WHERE relation = 'sources'") == [(8,)]
    assert look(tmp_path / "memory.db", "SELECT DISTINCT state FROM episodes WHERE id LIKE 'EP%'") == [("distilled",)]


async def _live_until(on: KillStage, holds: str, settings: Mapping[str, object]) -> None:
    """A daemon lives until a query holds."""
    last = await on.daemons.spawn(lease=LEASE, settings=settings)
    with closing(Watch(on.home)) as watch:
        while watch.count(holds) <= 0:
            assert alive(last)
            await asyncio.sleep(0.01)  # a file has no events to wait on
    await on.daemons.end(last)


async def _eight_visits_and_an_order(path: Path, team: str) -> None:
    """Visits of one DM that are closed, and the order to consolidate now."""
    clock = SystemClock()
    async with open_database(path, clock) as database:
        for number in range(8):
            visit = Episode(
                soul=SOUL,
                workspace=team,
                audience=Audience(AudienceKind.DM, "D0ADA"),
                channel="D0ADA",
                text=f"They asked, time {number}.",
                at_ms=clock.now_ms(),
                trust=Trust.INFERRED,
                state="closed",
            )
            await database.write(lambda transaction, visit=visit: put(transaction, visit, visit.at_ms))  # type: ignore[misc]
        await NightSlots(database, clock, Worker("test", SOUL, team, 1000)).order()
