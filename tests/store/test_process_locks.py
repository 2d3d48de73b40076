"""Whether a process lives is seen by its lock alone: by others of any user or container, until the kernel frees it."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.core.errors import StoreError
from daemon.memory.database.process_locks import FOLDER, ProcessLocks
from tests.kill.instances import may_be_apart
from tests.kill.loop import APART
from tests.processes import OtherProcess, without_locks

_HOLDS = """
import subprocess, sys
from pathlib import Path
from daemon.memory.database.process_locks import ProcessLocks
locks = ProcessLocks(Path(sys.argv[1]))
started = subprocess.Popen(["cat"], stdin=0, stdout=subprocess.DEVNULL)
print(locks.own, flush=True)
started.wait()
"""
"""Holds its lock, with a program that it started, until its input ends."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def locks(path: Path) -> Iterator[ProcessLocks]:
    made = ProcessLocks(path)
    yield made
    made.close()


@contextmanager
def holder(path: Path, *before: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that holds its lock until the block ends, and its name."""
    program = [*before, sys.executable, "-c", _HOLDS, str(path)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


def test_a_stopped_process_lives_and_a_killed_one_is_dead_as_a_zombie_whatever_it_started(
    path: Path, locks: ProcessLocks
) -> None:
    with holder(path) as (process, name):
        assert locks.has_ended(name) is False
        os.kill(process.pid, signal.SIGSTOP)
        assert locks.has_ended(name) is False
        assert locks.ended() == []
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert locks.has_ended(name)
        assert locks.ended() == [name]
        locks.remove(name)
        assert locks.ended() == []
        assert locks.has_ended(name)


@pytest.mark.skipif(bool(may_be_apart()), reason=may_be_apart())
def test_a_process_in_a_pid_namespace_of_its_own_is_seen(path: Path, locks: ProcessLocks) -> None:
    with holder(path, *APART) as (process, name):
        assert locks.has_ended(name) is False
        process.kill()
        process.wait()
        while not locks.ended():  # the one that it was for dies right after it
            pass
        assert locks.has_ended(name)


def test_a_process_is_there_from_its_first_word_until_it_closes(path: Path, locks: ProcessLocks) -> None:
    assert not (path.parent / FOLDER).exists()
    name = locks.own
    assert locks.own == name
    assert ProcessLocks(path).has_ended(name) is False
    locks.remove(name)
    assert locks.has_ended(name) is False, "the file of a living process stays"
    locks.close()
    assert list((path.parent / FOLDER).iterdir()) == []
    assert locks.has_ended(name)
    assert locks.has_ended("host/boot/namespace/7/99"), "an older program wrote it"


def test_a_file_that_another_removes_before_it_is_locked_is_made_anew(
    path: Path, locks: ProcessLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, removed = fcntl.flock, list[Path]()

    def late(handle: int, how: int) -> None:
        if not removed:
            removed.extend((path.parent / FOLDER).iterdir())
            removed[0].unlink()
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    assert locks.has_ended(locks.own) is False
    assert removed


def test_a_file_that_took_the_place_of_a_dead_ones_stays(
    path: Path, locks: ProcessLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtherProcess(path) as other:
        other.die()
        flock, file = fcntl.flock, path.parent / FOLDER / other.name

        def late(handle: int, how: int) -> None:
            file.unlink()
            file.touch()
            flock(handle, how)

        monkeypatch.setattr(fcntl, "flock", late)
        locks.remove(other.name)
        assert file.exists()


def test_without_locks_nothing_is_known_and_nothing_removed(
    path: Path, locks: ProcessLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", without_locks)
    with OtherProcess(path) as other:
        other.die()
        assert locks.own
        assert locks.has_ended(other.name) is None
        assert locks.ended() == []
        locks.remove(other.name)
        assert locks.has_ended(other.name) is None


def test_a_folder_that_is_none_ends_the_start_with_a_hint(path: Path, locks: ProcessLocks) -> None:
    (path.parent / FOLDER).write_text("no folder can be here")
    with pytest.raises(StoreError, match="run can't be written") as raised:
        _ = locks.own
    assert raised.value.hint == "check the owner and mode of that folder"
