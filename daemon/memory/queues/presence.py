"""Which daemons are alive: one row each with a heartbeat, and the release of claims that dead daemons held."""

import json
import os
import socket
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction

GHOST_MS = 24 * 3600 * 1000
"""A row that was silent for so long is no daemon's, on whatever host: a living one writes every few seconds."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Host, boot, PID namespace, pid and start time of a process, which tell it from a later one with the same pid.

    `namespace` is empty where it is unknown: on systems without namespaces, and in what older programs wrote.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    start: str

    def __str__(self) -> str:
        return f"{self.host}/{self.boot}/{self.namespace}/{self.pid}/{self.start}"

    @classmethod
    def parse(cls, text: str) -> "ProcessIdentity":
        """Read what `str()` wrote, here or in an older program. Raises ValueError for anything else."""
        host, boot, *namespace, pid, start = text.split("/")
        if len(namespace) > 1:
            raise ValueError(f"{text} has too many parts")
        return cls(host, boot, "".join(namespace), int(pid), start)

    @classmethod
    def current(cls) -> "ProcessIdentity":
        """The identity of this process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _boot_id(), _pid_namespace(), pid, _start_time(pid) or "")

    @property
    def in_sight(self) -> bool:
        """Whether it runs or ran where this process sees all pids."""
        return (self.host, self.boot, self.namespace) == (socket.gethostname(), _boot_id(), _pid_namespace())

    def surely_dead(self) -> bool:
        """Whether this process is gone; one that can't be seen from here counts as alive.

        That is a process on another host, in another PID namespace (a container), or hidden from this user.
        """
        if self.host == socket.gethostname() and self.boot != _boot_id():
            return True
        if not self.in_sight:
            return False
        start = _start_time(self.pid)
        return start is None or start not in {_HIDDEN, self.start}


_HIDDEN = "?"  # the start of a process that is alive but can't be looked at


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    """The id of the namespace in which this process sees pids; empty on systems without them."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """Start of a live process in clock ticks since boot; None when it is gone.

    `?` for a live one that can't be looked at: there is no /proc, or it shows a user's own processes alone.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _HIDDEN if _answers(pid) else None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def _answers(pid: int) -> bool:
    """Whether a process has this pid; it may be hidden in /proc, but not from a signal."""
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
    except ValueError:  # another format, perhaps of a newer program: its claims lapse with their leases
        return False


def _in_sight(holder: str) -> bool:
    try:
        return ProcessIdentity.parse(holder).in_sight
    except ValueError:
        return False


class Presence:
    """The row of this daemon, and the release of what dead daemons held."""

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
        """Write the heartbeat of this daemon, with its state and details."""
        await self._database.write(
            lambda transaction: transaction.insert(
                "presence",
                """
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
                started_ms=self._started,
                seen_ms=self._clock.now_ms(),
                state=state,
                detail=json.dumps(detail),
            )
        )

    async def leave(self) -> None:
        """Delete the row of this daemon on a clean stop."""
        await self._database.run("DELETE FROM presence WHERE id = :id", id=str(self.identity))

    async def release_dead_claims(self, in_doubt: float) -> int:
        """Release the claims of daemons that are surely dead before their leases lapse; returns how many were dead.

        A last request of theirs may still be under way: posts that they were sending are looked up after `in_doubt`
        seconds. Rows that were silent for a day are deleted, whatever host they name.
        """
        look_up_ms = self._clock.now_ms() + int(in_doubt * 1000)

        rows = await self._database.rows(
            """
            SELECT lease_owner AS id FROM conversations WHERE lease_owner <> ''
            UNION SELECT lease_owner FROM outbox WHERE lease_owner <> '' AND state IN ('pending', 'sending')
            UNION SELECT lease_owner FROM jobs WHERE lease_owner <> '' AND state IN ('ready', 'running')
            UNION SELECT id FROM presence
            """
        )
        dead = [row["id"] for row in rows if _surely_dead(row["id"])]

        async def release(transaction: Transaction) -> None:
            for holder in dead:
                for statement in _RELEASE:
                    await transaction.run(statement, id=holder, look_up=look_up_ms)

        if dead:
            await self._database.write(release)
        silent = await self._database.rows(
            "SELECT id FROM presence WHERE seen_ms < :before", before=self._clock.now_ms() - GHOST_MS
        )
        for row in silent:
            if not _in_sight(row["id"]):
                await self._database.run("DELETE FROM presence WHERE id = :id", id=row["id"])
        return len(dead)


_RELEASE = (
    "UPDATE conversations SET lease_until = 0, lease_owner = '' WHERE lease_owner <> '' AND lease_owner = :id",
    """
    UPDATE outbox SET lease_until = :look_up, lease_owner = ''
    WHERE state IN ('pending', 'sending') AND lease_owner = :id
    """,
    "UPDATE jobs SET lease_until = 0, lease_owner = '' WHERE state IN ('ready', 'running') AND lease_owner = :id",
    "DELETE FROM presence WHERE id = :id",
)
