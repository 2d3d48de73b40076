"""Which daemons are alive: one row each with a heartbeat, and the release of claims whose holder is surely dead."""

import json
import os
import socket
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that can't be mistaken for a later one with the same pid: host, boot, pid and start time."""

    host: str
    boot: str
    pid: int
    start: str

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.pid}/{self.start}"

    @classmethod
    def parse(cls, text: str) -> "ProcessIdentity":
        """Read what `str()` wrote. Raises ValueError for anything else."""
        host, boot, pid, start = text.split("/")
        return cls(host, boot, int(pid), start)

    @classmethod
    def current(cls) -> "ProcessIdentity":
        """The process that asks."""
        return cls(socket.gethostname(), _boot_id(), os.getpid(), _start_time(os.getpid()) or "")

    def surely_dead(self) -> bool:
        """Whether this process is gone; what runs on another host can't be told and counts as alive."""
        if self.host != socket.gethostname():
            return False
        if self.boot != _boot_id():
            return True
        return _start_time(self.pid) != self.start


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """Start of a live process in clock ticks since boot, None when it's gone; `?` where the system can't tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() or not _answers(pid) else "?"
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def _answers(pid: int) -> bool:
    """Whether a process has this pid, on systems without /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _surely_dead(holder: str) -> bool:
    try:
        return ProcessIdentity.parse(holder).surely_dead()
    except ValueError:  # no name of ours, perhaps of a later program: its lease will tell
        return False


class Presence:
    """This daemon's row, and the housekeeping of those that went without a word."""

    def __init__(self, database: Database, clock: Clock, *, soul: str, workspace: str, kind: str, version: str) -> None:
        self.identity = ProcessIdentity.current()
        self._database = database
        self._clock = clock
        self._soul = soul
        self._workspace = workspace
        self._kind = kind
        self._version = version
        self._started = clock.now_ms()

    async def beat(self, state: str, detail: Mapping[str, object]) -> None:
        """Say that we are alive and how we do."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.run(
                """
                INSERT INTO presence (id, soul, workspace, kind, host, pid, version, sqlite, started_ms, seen_ms, state,
                                      detail)
                VALUES (:id, :soul, :workspace, :kind, :host, :pid, :version, :sqlite, :started, :now, :state, :detail)
                ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, state = excluded.state,
                                               detail = excluded.detail
                """,
                id=str(self.identity),
                soul=self._soul,
                workspace=self._workspace,
                kind=self._kind,
                host=self.identity.host,
                pid=self.identity.pid,
                version=self._version,
                sqlite=sqlite3.sqlite_version,
                started=self._started,
                now=now,
                state=state,
                detail=json.dumps(detail),
            )

        await self._database.write(unit)

    async def leave(self) -> None:
        """Remove our row on a clean stop."""

        async def unit(transaction: Transaction) -> None:
            await transaction.run("DELETE FROM presence WHERE id = :id", id=str(self.identity))

        await self._database.write(unit)

    async def release_the_dead(self, in_doubt: float) -> int:
        """Free at once what surely dead daemons held, instead of waiting for their leases; returns how many were dead.

        Their last requests may still be under way: posts they were sending are looked up only after `in_doubt` seconds.
        """
        look_up_ms = self._clock.now_ms() + int(in_doubt * 1000)

        async def holders(transaction: Transaction) -> set[str]:
            rows = await transaction.rows(
                """
                SELECT lease_owner AS id FROM conversations WHERE lease_owner <> ''
                UNION SELECT lease_owner FROM outbox WHERE lease_owner <> '' AND state IN ('pending', 'sending')
                UNION SELECT lease_owner FROM jobs WHERE lease_owner <> '' AND state IN ('ready', 'running')
                UNION SELECT id FROM presence
                """
            )
            return {row["id"] for row in rows}

        dead = {holder for holder in await self._database.read(holders) if _surely_dead(holder)}

        async def free(transaction: Transaction) -> None:
            for holder in dead:
                for statement in _FREE:
                    await transaction.run(statement, id=holder, look_up=look_up_ms)

        if dead:
            await self._database.write(free)
        return len(dead)


_FREE = (
    "UPDATE conversations SET lease_until = 0, lease_owner = '' WHERE lease_owner <> '' AND lease_owner = :id",
    """
    UPDATE outbox SET lease_until = :look_up, lease_owner = ''
    WHERE state IN ('pending', 'sending') AND lease_owner = :id
    """,
    "UPDATE jobs SET lease_until = 0, lease_owner = '' WHERE state IN ('ready', 'running') AND lease_owner = :id",
    "DELETE FROM presence WHERE id = :id",
)
