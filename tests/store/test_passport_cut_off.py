"""An import that was killed is finished by a second run, and leaves nothing half proved in between."""

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.memory.admin.memory_check import check_memory
from daemon.memory.database import open_database
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.importing import import_passport
from tests.fakes import FakeClock
from tests.store.parts import look
from tests.store.passports import ANSWER, EPISODE, MADE, SENSE, bytes_in, remember, write

OWNER = Owner("minoan", "T1")
HOW_OFTEN = 30


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A passport of some hundred memories that rest on each other, turns of another house among them."""
    async with open_database(tmp_path / "made.db", FakeClock(auto=True)) as database:
        for number in range(HOW_OFTEN):
            said = [replace(ANSWER, body=f"answer {number}")]
            await database.write(lambda transaction, said=said: remember(transaction, said, MADE))  # type: ignore[misc]
        await export_passport(database, tmp_path / "passport")
    return tmp_path / "passport"


async def killed_after(writes: int, path: Path, folder: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.store.import_child", str(path), str(folder), str(writes))
    )
    assert await child.wait() == -signal.SIGKILL


def _give_a_fact_more_evidence(folder: Path) -> None:
    fact = min(folder.rglob("sem_*.json"))
    changed = json.loads(fact.read_text())
    changed["soul_daemon"]["links"].append({"relation": "evidence", "target": "TU_3", "quote": "I work on billing"})
    fact.write_text(json.dumps(changed))


@pytest.mark.parametrize("writes", [1, 2, 3, 5])
async def test_a_second_run_finishes_what_a_kill_cut_off(path: Path, folder: Path, tmp_path: Path, writes: int) -> None:
    await killed_after(writes, path, folder)
    assert look(path, "SELECT count(*) FROM passport_unfinished") != [(0,)]
    async with open_database(path, FakeClock(auto=True)) as database:
        found = await check_memory(database, tmp_path / "index", "")
        assert (found.unquoted, found.links_broken, found.chain) == ((), (), True)
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert done.refused == ()
        await export_passport(database, tmp_path / "again")
        assert bytes_in(tmp_path / "again") == bytes_in(folder)
        third = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert (third.stored, third.unchanged, third.refused) == (0, HOW_OFTEN * 6, ())
    assert look(path, "SELECT count(*) FROM passport_unfinished") == [(0,)]


async def test_links_that_stand_on_one_side_alone_are_finished_too(path: Path, tmp_path: Path) -> None:
    turns = {f"TU_{number}": {"turn_id": f"TU_{number}", "text_excerpt": "x"} for number in range(9001, 9201)}
    episode = {**EPISODE, "turn_refs": list(turns), "sensory_refs": ["SMEM_001"]}
    folder = write(tmp_path / "in", EP_001=episode, SMEM_001={**SENSE, "episode_id": ""}, **turns)
    await killed_after(2, path, folder)
    async with open_database(path, FakeClock(auto=True)) as database:
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert done.refused == ()
        await export_passport(database, tmp_path / "out")
    [found] = [json.loads(one) for name, one in bytes_in(tmp_path / "out").items() if "EP_001" in name]
    assert len(found["turn_refs"]) == len(turns)
    assert found["sensory_refs"] == ["SMEM_001"]


async def test_what_was_whole_before_gets_no_new_link_from_a_passport(path: Path, folder: Path, tmp_path: Path) -> None:
    async with open_database(path, FakeClock(auto=True)) as database:
        await import_passport(database, folder, OWNER, FakeClock(auto=True))
        _give_a_fact_more_evidence(folder)
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert [one.reason for one in done.refused] == ["it is here already and says something else"]
