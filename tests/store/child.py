"""Processes that write to memory.db and fail: `python -m tests.store.child DEED PATH [ARGUMENT …]` prints JSON.

The started process holds no handle on the file. It forks the processes that do, because a start of Python takes longer
than all the work of a test.
"""

import asyncio
import ctypes
import errno
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from daemon.core.errors import StoreError
from daemon.core.ports.services import SystemClock
from daemon.memory.database import Database, Transaction, open_database, schema
from daemon.memory.store import open_store
from tests.fakes import Events
from tests.given import SOUL, TEAM, effect, new_message
from tests.store.parts import content, look

Json = dict[str, Any]


async def write(database: Database, name: str, *, size: int = 50) -> None:
    async def unit(transaction: Transaction) -> None:
        await transaction.run(
            "INSERT INTO audit (actor, act, object, done_ms) VALUES ('child', :name, :filling, 0)",
            name=name,
            filling="x" * size,
        )

    await database.write(unit)


def found(path: Path) -> set[str]:
    return {str(act) for (act,) in look(path, "SELECT act FROM audit")}


def integrity(path: Path) -> str:
    return str(look(path, "PRAGMA integrity_check")[0][0])


def forked(work: Callable[[int], Coroutine[object, object, None]]) -> tuple[int, int]:
    """Run work in a child that reports acknowledged rows through a pipe; returns its pid and the pipe."""
    reading, writing = os.pipe()
    if pid := os.fork():
        os.close(writing)
        return pid, reading
    os.close(reading)
    try:
        asyncio.run(work(writing))
    except BaseException as error:  # noqa: BLE001 - a child must end here after any error
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def drained(pipe: int) -> list[str]:
    with open(pipe, encoding="utf-8") as lines:
        return lines.read().splitlines()


def report(pipe: int, name: str) -> None:
    os.write(pipe, f"{name}\n".encode())


def kills(path: Path, times: int, *, lie: bool = False) -> Json:
    """Kill a writing process again and again; with `lie` it acknowledges before the commit."""
    promised: set[str] = set()
    dice = random.Random(20261121)
    for round_ in range(times):

        async def work(pipe: int, round_: int = round_) -> None:
            async with open_database(path, SystemClock()) as database, asyncio.TaskGroup() as group:
                for task in range(4):
                    group.create_task(forever(database, pipe, f"{round_}-{task}"))

        async def forever(database: Database, pipe: int, name: str) -> None:
            for number in range(100_000):
                if lie:
                    report(pipe, f"{name}-{number}")
                await write(database, f"{name}-{number}", size=dice.choice((10, 3000)))
                if not lie:
                    report(pipe, f"{name}-{number}")

        pid, pipe = forked(work)
        first = os.read(pipe, 1)
        time.sleep(dice.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        promised |= set((first.decode() + "\n".join(drained(pipe))).splitlines())
    there = found(path)
    return {"promised": len(promised), "lost": len(promised - there), "integrity": integrity(path)}


def contend(path: Path, writers: int, each: int) -> Json:
    """Processes that write and read as fast as they can; every error goes to the pipe."""
    schema.migrate(path)

    async def work(pipe: int) -> None:
        async with open_database(path, SystemClock()) as database:
            for number in range(each):
                began = time.perf_counter()
                try:
                    await write(database, f"{os.getpid()}-{number}")
                    await database.read(lambda transaction: transaction.rows("SELECT count(*) FROM audit"))
                    report(pipe, str((time.perf_counter() - began) * 1000))
                except StoreError as error:
                    report(pipe, f"error {error.message}")

    children = [forked(work) for _ in range(writers)]
    lines = [line for _, pipe in children for line in drained(pipe)]
    for pid, _ in children:
        os.waitpid(pid, 0)
    times = [float(line) for line in lines if not line.startswith("error")]
    return {
        "errors": [line for line in lines if line.startswith("error")],
        "rows": len(found(path)),
        "max_ms": round(max(times)),
        "integrity": integrity(path),
    }


def opening(path: Path, processes: int) -> Json:
    """Processes that start at the same moment without a file, and write at once."""

    async def work(pipe: int) -> None:
        async with open_database(path, SystemClock()) as database:
            await write(database, str(os.getpid()))
            report(pipe, str(os.getpid()))

    children = [forked(work) for _ in range(processes)]
    promised = {line for _, pipe in children for line in drained(pipe)}
    exits = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in children]
    return {"exits": exits, "lost": len(promised - found(path)), "promised": len(promised)}


def _size(path: Path) -> int:
    return path.stat().st_size


def full(path: Path) -> Json:
    """Limit the size of files, as a full disk does, and then lift the limit."""
    schema.migrate(path)
    most = path.stat().st_size + 150_000

    async def work(pipe: int) -> None:
        async with open_database(path, SystemClock()) as database:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            errors = 0
            for number in range(400):
                try:
                    await write(database, f"{number}", size=2000)
                    report(pipe, f"{number}")
                except StoreError:
                    errors += 1
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            await write(database, "again", size=2000)
            report(pipe, "again")
            report(pipe, f"errors {errors}")

    pid, pipe = forked(work)
    lines = drained(pipe)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    promised = {line for line in lines if not line.startswith("errors")}
    there = found(path)
    return {
        "exit": status,
        "errors": int(lines[-1].split()[1]) if lines else 0,
        "again": "again" in promised,
        "promised": len(promised),
        "lost": len(promised - there),
        "unpromised": len(there - promised),
        "integrity": integrity(path),
    }


async def _life(path: Path) -> None:
    """One run of a daemon: everything that it does with memory.db."""
    clock = SystemClock()
    async with open_store(
        path, clock, Events(), soul=SOUL, workspace=TEAM, kind="test", version="0", lease=5, on_accepted=lambda _: None
    ) as store:
        await store.presence.release_dead_claims(1)
        await store.presence.beat("connected", {})
        await store.inbox.accept(new_message())
        claim = await store.conversations.claim_next()
        assert claim is not None
        delivery = await store.commits.commit(effect(claim, "hello", jobs=("summarizes",)))
        assert delivery is not None
        await store.outbox.sent(delivery, "2.0")
        await store.turns.transcript(claim.conversation, 9)
        await store.presence.leave()


def opens(path: Path, *, plainly: bool) -> Json:
    """The calls on the live file that are not SQLite's own, as Python's audit hooks see them."""
    seen: list[str] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        name = Path(str(arguments[0])).name if arguments else ""
        if event in {"open", "os.truncate", "shutil.copyfile"} and name.startswith(path.name):
            seen.append(event)

    sys.addaudithook(hook)
    asyncio.run(_life(path))
    if plainly:
        path.read_bytes()
    return {"opens": seen}


def locks(path: Path) -> Json:
    """The locks that a unit of work holds on the live file, before and after other reads of it."""

    def held() -> int:
        inode = f":{path.stat().st_ino} "
        return sum(inode in line for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())

    async def work() -> Json:
        async with open_database(path, SystemClock()) as database:

            async def unit(transaction: Transaction) -> Json:
                before = held()
                schema.version_of(path)
                after = held()
                content(path)
                return {"before": before, "after_our_read": after, "after_a_plain_read": held()}

            return await database.write(unit)

    return asyncio.run(work())


class Disk:
    """Controls the failing disk, a shim in front of the C library (`failing_disk.c`)."""

    def __init__(self, shim: str) -> None:
        library = ctypes.CDLL(shim)
        self.calls = ctypes.c_long.in_dll(library, "calls")
        self.syncs = ctypes.c_long.in_dll(library, "syncs")
        self.fail_at = ctypes.c_long.in_dll(library, "fail_at")
        self.kill_at = ctypes.c_long.in_dll(library, "kill_at")
        self.errno = ctypes.c_int.in_dll(library, "fail_errno")


def faults(path: Path, shim: str, *, lie: bool = False) -> Json:
    """Fail each single write, sync and truncation in turn, with each error; with `lie` acknowledge anyway."""
    disk, promised = Disk(shim), set[str]()
    schema.migrate(path)
    refused: set[str] = set()
    points = 1
    for code in (errno.EIO, errno.ENOSPC):
        point = 0
        while point <= points:

            async def work(pipe: int, code: int = code, point: int = point) -> None:
                async with open_database(path, SystemClock()) as database:
                    disk.errno.value, disk.calls.value, disk.fail_at.value = code, 0, point
                    for number in range(3):
                        name = f"{code}-{point}-{number}"
                        try:
                            await write(database, name, size=5000)
                        except StoreError:
                            if not lie:
                                report(pipe, f"refused {name}")
                                continue
                        report(pipe, name)
                    report(pipe, f"calls {disk.calls.value}")
                    disk.fail_at.value = 0
                    await write(database, f"{code}-{point}-after")
                    report(pipe, f"{code}-{point}-after")

            pid, pipe = forked(work)
            lines = drained(pipe)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, (code, point, lines)
            if point == 0:
                points = next(int(line.split()[1]) for line in lines if line.startswith("calls"))
            refused |= {line.split()[1] for line in lines if line.startswith("refused")}
            promised |= {line for line in lines if " " not in line}
            point += 1
    there = found(path)
    return {
        "points": points,
        "lost": len(promised - there),
        "refused": len(refused),
        "integrity": integrity(path),
    }


def syncs(path: Path, shim: str, *, careless: bool) -> Json:
    """Count the acknowledgements without a sync of the file before them."""
    disk = Disk(shim)
    without = 0

    async def work() -> None:
        nonlocal without
        async with open_database(path, SystemClock()) as database:
            if careless:
                await database._writer.execute("PRAGMA synchronous=OFF")
            for number in range(50):
                before = disk.syncs.value
                await write(database, str(number))
                without += disk.syncs.value == before

    asyncio.run(work())
    return {"acks": 50, "without_sync": without}


def migrations(path: Path, shim: str, points: int) -> Json:
    """Kill the making of a file and two steps at up to `points` of its calls to the disk; a next start finishes it."""
    disk = Disk(shim)
    objects = "SELECT name, sql FROM sqlite_schema ORDER BY name"
    whole: dict[int, object] = {0: []}
    for number in range(schema.SCHEMA, schema.SCHEMA + 3):
        if number > schema.BASELINE:
            script = path.parent.with_name(f"{number}.sql")
            script.write_text(
                f"CREATE TABLE t{number} (page BLOB) STRICT;\n"
                f"INSERT INTO t{number} SELECT zeroblob(4000) FROM pragma_function_list LIMIT 100;\n"
            )  # so many pages that some of the calls belong to it
            schema.STEPS[number], schema.SCHEMA = script, number
        made = path.parent.with_name(f"{number}.db")
        schema.migrate(made)
        whole[number] = look(made, objects)
    newest = max(schema.STEPS)

    async def work(pipe: int) -> None:
        schema.migrate(path)
        report(pipe, str(disk.calls.value))

    def attempt(at: int) -> list[str]:
        shutil.rmtree(path.parent)
        path.parent.mkdir()
        disk.calls.value, disk.kill_at.value = 0, at
        pid, pipe = forked(work)
        lines = drained(pipe)
        os.waitpid(pid, 0)
        return lines

    def state() -> tuple[int, object]:
        return (schema.version_of(path), look(path, objects)) if path.exists() else (0, [])

    total = int(attempt(0)[0])
    killed = between = repaired = 0
    for at in random.Random(7).sample(range(1, total + 1), min(points, total)):
        killed += not attempt(at)
        disk.kill_at.value = 0
        version, found_there = state()
        between += found_there != whole[version]
        pid, pipe = forked(work)  # in a process of its own, as a restart would
        drained(pipe)
        os.waitpid(pid, 0)
        repaired += state() == (newest, whole[newest]) and integrity(path) == "ok"
    return {"calls": total, "killed": killed, "between": between, "repaired": repaired}


def main() -> None:
    deed, path, arguments = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    deeds: dict[str, Callable[[], Json]] = {
        "kills": lambda: kills(path, int(arguments[0]), lie="lie" in arguments),
        "contend": lambda: contend(path, int(arguments[0]), int(arguments[1])),
        "opening": lambda: opening(path, int(arguments[0])),
        "full": lambda: full(path),
        "opens": lambda: opens(path, plainly="plainly" in arguments),
        "locks": lambda: locks(path),
        "faults": lambda: faults(path, arguments[0], lie="lie" in arguments),
        "syncs": lambda: syncs(path, arguments[0], careless="careless" in arguments),
        "migrations": lambda: migrations(path, arguments[0], int(arguments[1])),
    }
    sys.stdout.write(json.dumps(deeds[deed]()))


if __name__ == "__main__":
    main()
