"""Kills, crowds, full disks and failing ones: what was acknowledged is there, and the file is whole."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]


def deed(name: str, path: Path, *arguments: object, preload: str = "") -> dict[str, Any]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(_ROOT), **({"LD_PRELOAD": preload} if preload else {})}
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.child", name, str(path), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
        env=environment,
        cwd=path.parent.parent,
    )
    assert done.returncode == 0, done.stderr
    print(name, *arguments[1:], done.stdout, done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def tmp_path(disk_path: Path) -> Path:
    """On the disk, since these tests are about what it keeps."""
    return disk_path


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here: THE SWEEP OF DISK FAULTS DID NOT RUN")
    target = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, source, "-ldl"], check=True)
    return str(target)


def test_sixty_kills_in_mid_write_lose_nothing(either: Path) -> None:
    outcome = deed("kills", either, 60)
    assert outcome["promised"] >= 100
    assert (outcome["lost"], outcome["integrity"]) == (0, "ok")


def test_the_test_of_kills_catches_a_promise_made_too_early(path: Path) -> None:
    assert deed("kills", path, 10, "lie")["lost"] > 0


def test_four_writers_meet_no_lock_error(either: Path) -> None:
    outcome = deed("contend", either, 4, 60)
    assert outcome["errors"] == []
    assert (outcome["rows"], outcome["integrity"]) == (240, "ok")
    assert outcome["max_ms"] < 5000


def test_daemons_that_start_at_once_on_no_file_all_come_up(path: Path) -> None:
    assert deed("opening", path, 5) == {"exits": [0] * 5, "lost": 0, "promised": 5}


def test_a_full_disk_stops_promises_and_nothing_else(either: Path) -> None:
    outcome = deed("full", either)
    assert (outcome["exit"], outcome["lost"], outcome["integrity"]) == (0, 0, "ok")
    assert outcome["promised"] > 10
    assert outcome["errors"] > 10
    assert outcome["unpromised"] == 0
    assert outcome["again"]


def test_the_live_file_is_opened_by_sqlite_alone(either: Path) -> None:
    assert deed("opens", either) == {"opens": []}


def test_the_test_of_plain_opens_can_fail(path: Path) -> None:
    assert deed("opens", path, "plainly") == {"opens": ["open"]}


def test_a_look_at_the_schema_drops_no_locks(path: Path) -> None:
    outcome = deed("locks", path)
    if not outcome["before"]:
        pytest.skip("this system does not show its locks")
    assert outcome["after_our_look"] == outcome["before"]
    assert outcome["after_a_plain_look"] < outcome["before"]  # so the test can tell


@pytest.mark.slow
def test_every_single_disk_fault_loses_nothing(either: Path, shim: str) -> None:
    outcome = deed("faults", either, shim, preload=shim)
    assert outcome["points"] >= 10
    assert outcome["refused"] > 0
    assert (outcome["lost"], outcome["integrity"]) == (0, "ok")


@pytest.mark.slow
def test_the_sweep_catches_a_promise_in_spite_of_a_fault(path: Path, shim: str) -> None:
    assert deed("faults", path, shim, "lie", preload=shim)["lost"] > 0


def test_every_acknowledgement_follows_a_sync(either: Path, shim: str) -> None:
    assert deed("syncs", either, shim, preload=shim) == {"acks": 50, "without_sync": 0}


def test_the_test_of_syncs_can_fail(path: Path, shim: str) -> None:
    assert deed("syncs", path, shim, "careless", preload=shim)["without_sync"] == 50


@pytest.mark.slow
def test_a_migration_killed_at_any_call_is_brought_to_its_end_by_the_next_start(tmp_path: Path, shim: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    outcome = deed("migrations", home / "memory.db", shim, 30, preload=shim)
    assert outcome["killed"] == outcome["repaired"] == min(30, outcome["calls"])
