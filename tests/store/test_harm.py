"""After kills, contention, full disks and disk errors every acknowledged row is there and the file is sound."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
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
        pytest.skip("no C compiler: THE SWEEP OF DISK FAULTS DID NOT RUN")
    target = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    source = Path(__file__).with_name("failing_disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", target, source, "-ldl"], check=True)
    return str(target)


def test_sixty_kills_during_writes_lose_no_row(either: Path, tmp_path: Path) -> None:
    outcome = deed("kills", either, 60)
    assert outcome["promised"] >= 100
    assert (outcome["lost"], outcome["integrity"]) == (0, "ok")
    assert deed("kills", tmp_path / "another.db", 10, "lie")["lost"] > 0, "the test catches an early acknowledgement"


def test_four_writers_meet_no_lock_error(either: Path) -> None:
    outcome = deed("contend", either, 4, 60)
    assert outcome["errors"] == []
    assert (outcome["rows"], outcome["integrity"]) == (240, "ok")
    assert outcome["max_ms"] < 5000


def test_daemons_that_create_the_file_at_once_all_start(path: Path) -> None:
    assert deed("opening", path, 5) == {"exits": [0] * 5, "lost": 0, "promised": 5}


def test_a_full_disk_refuses_writes_and_loses_no_acknowledged_row(either: Path) -> None:
    outcome = deed("full", either)
    assert (outcome["exit"], outcome["lost"], outcome["integrity"]) == (0, 0, "ok")
    assert outcome["promised"] > 10
    assert outcome["errors"] > 10
    assert outcome["unpromised"] == 0
    assert outcome["again"]


def test_only_sqlite_opens_the_live_file(either: Path, tmp_path: Path) -> None:
    assert deed("opens", either) == {"opens": []}
    assert deed("opens", tmp_path / "another.db", "plainly") == {"opens": ["open"]}, "the test catches one"


def test_reading_the_schema_version_drops_no_locks(path: Path) -> None:
    outcome = deed("locks", path)
    if not outcome["before"]:
        pytest.skip("this system does not show its locks")
    assert outcome["after_our_read"] == outcome["before"]
    assert outcome["after_a_plain_read"] < outcome["before"]  # the test can detect dropped locks


def test_no_single_disk_fault_loses_an_acknowledged_row(either: Path, tmp_path: Path, shim: str) -> None:
    outcome = deed("faults", either, shim, preload=shim)
    assert outcome["points"] >= 10
    assert outcome["refused"] > 0
    assert (outcome["lost"], outcome["integrity"]) == (0, "ok")
    (tmp_path / "lie").mkdir()
    lie = deed("faults", tmp_path / "lie" / "memory.db", shim, "lie", preload=shim)
    assert lie["lost"] > 0, "the test catches an acknowledgement after a fault"


def test_every_acknowledgement_follows_a_sync(either: Path, shim: str) -> None:
    assert deed("syncs", either, shim, preload=shim) == {"acks": 50, "without_sync": 0}
    assert deed("syncs", either, shim, "careless", preload=shim)["without_sync"] == 50, "the test catches missing ones"


def test_a_migration_killed_at_any_call_leaves_a_whole_schema_and_is_finished(tmp_path: Path, shim: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    outcome = deed("migrations", home / "memory.db", shim, 24, preload=shim)
    assert outcome["killed"] == outcome["repaired"] == min(24, outcome["calls"])
    assert outcome["between"] == 0
