"""An import that was killed is finished by a second run, and leaves nothing half proved in between."""

import json
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace

from daemon.memory.admin.nights import check_memory
from daemon.memory.database import Unit, open_database
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.importing import import_passport
from tests.fakes import FakeClock
from tests.store.parts import look
from tests.store.passports import ANSWER, EPISODE, MADE, SENSE, bytes_in, remember, write

OWNER = Owner("minoan", "T1")
T = TypeVar("T")


class CutOffError(Exception):
    """What ends an import as a kill would."""


async def passport(folder: Path, times: int) -> Path:
    """A passport of six times as many memories that rest on each other, turns of another house among them."""
    async with open_database(folder / "made.db", FakeClock(auto=True)) as database:
        for number in range(times):
            said = [replace(ANSWER, body=f"answer {number}")]
            await database.write(lambda transaction, said=said: remember(transaction, said, MADE))  # type: ignore[misc]
        await export_passport(database, folder / "passport")
    return folder / "passport"


async def cut_off_after(most: int, path: Path, folder: Path) -> None:
    """Begin to bring a passport in, and end after so many writes."""
    async with open_database(path, FakeClock(auto=True)) as database:
        write, writes = database.write, 0

        async def counted(unit: Unit[T]) -> T:
            nonlocal writes
            value = await write(unit)
            writes += 1
            if writes == most:
                raise CutOffError
            return value

        database.write = counted  # type: ignore[method-assign,assignment]
        with pytest.raises(CutOffError):
            await import_passport(database, folder, OWNER, FakeClock(auto=True))


async def finished(path: Path, folder: Path, records: int) -> None:
    """Bring in the rest; there is as much as in the passport, and nothing was half proved in between."""
    assert look(path, "SELECT count(*) FROM passport_unfinished") != [(0,)]
    async with open_database(path, FakeClock(auto=True)) as database:
        found = await check_memory(database, path.with_suffix(".index"), "")
        assert (found.unquoted, found.links_broken, found.chain) == ((), (), True)
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert done.refused == ()
        again = path.with_suffix(".again")
        await export_passport(database, again)
        assert bytes_in(again) == bytes_in(folder)
        third = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert (third.stored, third.unchanged, third.refused) == (0, records, ())
    assert look(path, "SELECT count(*) FROM passport_unfinished") == [(0,)]


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.memory.passport.importing._AT_ONCE", 10)


async def test_a_second_run_finishes_what_was_cut_off_after_any_write(tmp_path: Path, small_steps: None) -> None:
    folder = await passport(tmp_path, 4)
    for writes in (1, 2, 3, 4):
        path = tmp_path / f"{writes}.db"
        await cut_off_after(writes, path, folder)
        await finished(path, folder, 24)


async def test_links_on_one_side_alone_are_finished_too(path: Path, tmp_path: Path, small_steps: None) -> None:
    turns = {f"TU_{number}": {"turn_id": f"TU_{number}", "text_excerpt": "x"} for number in range(9001, 9021)}
    episode = {**EPISODE, "turn_refs": list(turns), "sensory_refs": ["SMEM_001"]}
    folder = write(tmp_path / "in", EP_001=episode, SMEM_001={**SENSE, "episode_id": ""}, **turns)
    await cut_off_after(2, path, folder)
    async with open_database(path, FakeClock(auto=True)) as database:
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert done.refused == ()
        await export_passport(database, tmp_path / "out")
    [found] = [json.loads(one) for name, one in bytes_in(tmp_path / "out").items() if "EP_001" in name]
    assert len(found["turn_refs"]) == len(turns)
    assert found["sensory_refs"] == ["SMEM_001"]


async def test_what_was_whole_before_gets_no_new_link_from_a_passport(path: Path, tmp_path: Path) -> None:
    folder = await passport(tmp_path, 2)
    async with open_database(path, FakeClock(auto=True)) as database:
        await import_passport(database, folder, OWNER, FakeClock(auto=True))
        fact = min(folder.rglob("sem_*.json"))
        changed = json.loads(fact.read_text())
        changed["soul_daemon"]["links"].append({"relation": "evidence", "target": "TU_3", "quote": "I work on billing"})
        fact.write_text(json.dumps(changed))
        done = await import_passport(database, folder, OWNER, FakeClock(auto=True))
        assert [one.reason for one in done.refused] == ["it is here already and says something else"]
