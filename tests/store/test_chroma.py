"""Chroma beside the exact scan: one owner; after any harm to its folder or its process nothing is missing."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from daemon.memory.knowledge.turn_index import delete_turns
from daemon.memory.retrieval.chroma import Chroma
from daemon.memory.retrieval.keeper import LEAST_ROOM, owned, owner_of
from daemon.memory.retrieval.sources import Order, enqueue
from daemon.memory.retrieval.vector_file import Shelf, VectorFile
from daemon.memory.retrieval.vectors import FILE
from tests.fakes import FakeClock
from tests.given import DM
from tests.store.indexed import CHANNEL, EVERYBODY, MINE, Indexed, whole, work_off
from tests.store.parts import Stores

pytestmark = pytest.mark.slow
LEAST = 20
ROOT = Path(__file__).parents[2]


@pytest.fixture
def large(indexed: Indexed, clock: FakeClock) -> Indexed:
    """An index in which a shelf of twenty vectors goes to Chroma."""
    return Indexed(indexed.database, indexed.folder, clock, chroma_from=LEAST)


def _folders(indexed: Indexed) -> list[str]:
    return sorted(path.name for path in indexed.folder.glob("chroma-*"))


def _in_chroma(indexed: Indexed) -> dict[str, set[int]]:
    """The numbers in each collection of the folder, as a fresh process sees them."""
    with owned(indexed.folder) as lock:
        assert lock is not None
        (folder,) = indexed.folder.glob("chroma-*")
        chroma = Chroma(folder, lock)
        try:
            return {name: chroma.numbers(_shelf(name)) for name in chroma.names()}
        finally:
            chroma.close()


def _shelf(name: str) -> Shelf:
    view, _, partition = name.partition("-")
    return Shelf(partition, view)  # type: ignore[arg-type]  # its name alone counts


def _as_in_file(indexed: Indexed) -> dict[str, set[int]]:
    file = VectorFile(indexed.folder / FILE, read_only=True)
    found = {str(shelf): set(file.numbers(shelf)) for shelf, size in file.sizes().items() if size >= LEAST}
    file.close()
    return found


async def test_a_large_shelf_is_searched_by_chroma_with_what_is_newer_and_without_what_is_gone(large: Indexed) -> None:
    await large.say(*(f"alpha{number} beta{number} gamma{number}" for number in range(30)))
    async with large.owning() as work:
        await work_off(work)
        exact = Indexed(large.database, large.folder, FakeClock(auto=True))
        for number in (0, 7, 29):
            asked = f"alpha{number} beta{number}"
            by_chroma, scanned = await large.near(asked), await exact.near(asked)
            assert (by_chroma.kind, scanned.kind) == ("chroma", "exact")
            best = f"TU_{number + 1}"
            assert by_chroma.cosines[best] == pytest.approx(scanned.cosines[best], abs=1e-3)
            assert max(by_chroma.cosines, key=by_chroma.cosines.__getitem__) == best
            assert by_chroma.mean == pytest.approx(scanned.mean, abs=1e-3)
            assert by_chroma.deviation == pytest.approx(scanned.deviation, abs=1e-3)
        await large.say("delta omega")
        await work.feed()  # it is in the file, and not in Chroma yet
        assert await large.best("delta omega") == "TU_31"
        await large.database.write(partial(delete_turns, conversation=str(DM), ts="7.0", now=1))
        await work.feed()
        assert "TU_8" not in (await large.near("alpha7 beta7")).cosines
        await work_off(work)
        await exact.index.aclose()
    await whole(large)
    assert _in_chroma(large) == _as_in_file(large)
    assert len(_as_in_file(large)) == 2  # the shelf of each view


async def test_small_shelves_never_start_chroma_and_one_that_shrinks_leaves_it(large: Indexed) -> None:
    await large.say("word0", "word1")
    async with large.owning() as work:
        await work_off(work)
        assert (await large.near("word1")).kind == "exact"
        assert not _folders(large)
        await large.say(*(f"word{number}" for number in range(2, LEAST)))
        await work_off(work)
        assert (await large.near("word3")).kind == "chroma"
        await large.database.write(partial(delete_turns, conversation=str(DM), ts="3.0", now=1))
        await work_off(work)
        assert (await large.near("word4")).kind == "exact"
    assert not _folders(large)


def _wiped(folder: Path) -> None:
    shutil.rmtree(folder)


def _corrupt(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file() and file.stat().st_size:
            file.write_bytes(os.urandom(file.stat().st_size))


def _corrupt_vectors(folder: Path) -> None:
    for file in folder.rglob("*.bin"):
        file.write_bytes(os.urandom(max(100, file.stat().st_size)))


def _cut_off(folder: Path) -> None:
    database = folder / "chroma.sqlite3"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


@pytest.mark.parametrize("harm", [_wiped, _corrupt, _corrupt_vectors, _cut_off])
async def test_a_wiped_or_corrupt_folder_is_made_anew_while_exact_scans_serve(
    large: Indexed, clock: FakeClock, harm: Callable[[Path], None]
) -> None:
    await large.say(*(f"word{number}" for number in range(30)))
    async with large.owning() as work:
        await work_off(work)
    harm(large.folder / _folders(large)[0])
    async with large.owning() as work:
        assert await large.best("word7") == "TU_8"
        await work.keep_chroma()
        assert await large.best("word7") == "TU_8"
        await clock.sleep(3_600.0)  # a failure is followed by a pause
        await work_off(work)
        near = await large.near("word7")
        assert (near.kind, max(near.cosines, key=near.cosines.__getitem__)) == ("chroma", "TU_8")
    assert len(_folders(large)) == 1
    assert _in_chroma(large) == _as_in_file(large)


async def test_a_stale_folder_loses_what_is_gone_and_gets_what_is_missing(large: Indexed, tmp_path: Path) -> None:
    await large.say(*(f"word{number}" for number in range(30)))
    async with large.owning() as work:
        await work_off(work)
    folder, kept = large.folder / _folders(large)[0], tmp_path / "kept"
    shutil.copytree(folder, kept)
    await large.database.write(partial(delete_turns, conversation=str(DM), ts="7.0", now=1))
    await large.say("news")
    async with large.owning() as work:
        await work_off(work)
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    async with large.owning() as work:
        await work_off(work)
        assert await large.best("news") == "TU_31"
        assert "TU_8" not in (await large.near("word7")).cosines
    assert _in_chroma(large) == _as_in_file(large)
    await whole(large)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP])
async def test_a_process_that_crashes_costs_no_query(
    large: Indexed, clock: FakeClock, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    await large.say(*(f"word{number}" for number in range(30)))
    async with large.owning() as work:
        await work_off(work)
        chroma = large.index._chroma
        assert chroma is not None
        monkeypatch.setattr("daemon.core.workers._ANSWER_S", 0.3)
        os.kill(chroma.pid, number)
        near = await large.near("word7")
        assert (near.kind, max(near.cosines, key=near.cosines.__getitem__)) == ("exact", "TU_8")
        monkeypatch.undo()
        await work.keep_chroma()
        assert "vectors.chroma_failed" in large.events.names
        await clock.sleep(3_600.0)
        await work_off(work)
        assert (await large.near("word7")).kind == "chroma"
    assert len(_folders(large)) == 1


async def test_after_forgetting_the_folder_has_another_generation(large: Indexed) -> None:
    await large.say(*(f"word{number}" for number in range(30)))
    async with large.owning() as work:
        await work_off(work)
        before, generation = _folders(large), large.fact("generation")
        await large.database.write(partial(delete_turns, conversation=str(DM), ts="7.0", now=1))
        await large.database.write(partial(enqueue, ids=[Order.RENEW]))
        await work_off(work)
        assert _folders(large) != before
        assert int(large.fact("generation")) > int(generation)
    assert _in_chroma(large) == _as_in_file(large)


async def test_there_are_no_more_collections_than_chroma_has(large: Indexed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.memory.retrieval.chroma_shelves.MOST_COLLECTIONS", 3)
    await large.say(*(f"word{number}" for number in range(LEAST)))
    await large.say(*(f"word{number}" for number in range(30)), where=CHANNEL, audience=EVERYBODY)
    async with large.owning() as work:
        await work_off(work)
        assert (await large.near("word3", *MINE)).kind == "exact"
    assert len(_in_chroma(large)) == 3


async def test_a_second_daemon_scans_and_takes_over_when_the_first_dies(large: Indexed, clock: FakeClock) -> None:
    await large.say(*(f"word{number}" for number in range(30)))
    second = Indexed(large.database, large.folder, clock, chroma_from=LEAST)
    async with large.owning() as work:
        await work_off(work)
        assert not await second.keeper.catch_up()
        assert (await second.near("word7")).kind == "exact"
    async with second.owning() as work:
        await work_off(work)
        assert (await second.near("word7")).kind == "chroma"
    await second.index.aclose()


_CHILD = """
import asyncio, sys
from pathlib import Path
from daemon.core.ports.services import SystemClock
from daemon.memory.database import open_database
from tests.store.indexed import Indexed, work_off
async def main():
    async with open_database(Path(sys.argv[1]), SystemClock()) as database:
        one = Indexed(database, Path(sys.argv[2]), SystemClock(), chroma_from=20)
        async with one.owning() as work:
            print("owned", flush=True)
            while True:
                await work_off(work)
                print("fed", flush=True)
                await asyncio.sleep(0.01)
asyncio.run(main())
"""


@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_kill_in_the_middle_of_a_write_leaves_nothing_missing_and_nothing_too_much(
    large: Indexed, path: Path, stores: Stores, after: int
) -> None:
    await large.say(*(f"word{number}" for number in range(40)))
    command = (sys.executable, "-c", _CHILD, str(path), str(large.folder))
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}, text=True)  # noqa: ASYNC220
    assert child.stdout is not None
    assert child.stdout.readline() == "owned\n"
    assert owner_of(large.folder) == child.pid
    for number in range(after):
        assert child.stdout.readline() == "fed\n"
        await large.say(*(f"more{number} word{one}" for one in range(10)))
        await large.database.write(partial(delete_turns, conversation=str(DM), ts=f"{number}.0", now=1))
    child.kill()
    child.wait()
    child.stdout.close()
    while owner_of(large.folder) is not None:  # Chroma's process sees its end
        await FakeClock(auto=True).sleep(0)
    async with large.owning() as work:
        await work_off(work)
        assert (await large.near("word39")).kind == "chroma"
    await whole(large)
    assert _in_chroma(large) == _as_in_file(large)


async def test_on_a_full_disk_vectors_wait_and_go_on_by_themselves(large: Indexed) -> None:
    await large.say("one")
    large.free = LEAST_ROOM - 1
    async with large.owning() as work:
        assert await large.keeper._turn(work) > 10
        assert (await large.difference()).missing == ("TU_1",)
        large.free = LEAST_ROOM
        await large.keeper._turn(work)
        await whole(large)
    assert [event for event in large.events.names if event in ("vectors.wait", "vectors.go_on")] == [
        "vectors.wait",
        "vectors.go_on",
    ]
