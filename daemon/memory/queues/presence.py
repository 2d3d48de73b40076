"""Which daemons are alive: one row each with a heartbeat, and the release of claims that dead daemons held.

Death is believed where a bell refuses (`daemon/core/bell_sockets.py`), or where /proc shows all processes and not this
one. In doubt a process counts as alive, and its leases decide.
"""

import hashlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from daemon.core.bell_sockets import FOLDER, bells_in, listens
from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.leases import SLACK_MS, any_too_long, shorten
from daemon.memory.spending.reservations import settle_lost

SILENT_MS = 60_000
"""Heartbeats come every few seconds; after this time a daemon hangs, or its machine sleeps."""

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
        if not 0 < int(pid) <= _HIGHEST_PID:
            raise ValueError(f"{text} names no process")
        return cls(host, boot, "".join(namespace), int(pid), start)

    @classmethod
    def current(cls) -> "ProcessIdentity":
        """The identity of this process."""
        pid = os.getpid()
        return cls(socket.gethostname(), _boot_id(), _pid_namespace(), pid, _start_time(pid) or "")

    @property
    def bell(self) -> str:
        """What the names of its bells begin with: its boot, then itself."""
        return f"{_boot_of_bell(self.boot)}{hashlib.sha256(str(self).encode()).hexdigest()[:10]}"

    @property
    def in_sight(self) -> bool:
        """Whether it runs or ran where this process sees all pids, and /proc is not kept from it."""
        here = (self.host, self.boot, self.namespace) == (socket.gethostname(), _boot_id(), _pid_namespace())
        return here and (_PROC / "1").exists()

    def surely_dead(self, database: Path | None = None) -> bool:
        """Whether this process is gone; `database` is the memory.db that it had open, if any, with its bells beside it.

        One that can't be seen from here counts as alive. That is a process on another host, and without a bell also one
        in another PID namespace (a container), or hidden from this user.
        """
        if self.host == socket.gethostname() and self.boot != _boot_id():
            return True
        if database is not None and self.boot and self.boot == _boot_id():
            answers = {listens(bell) for bell in bells_in(bells_beside(database), self.bell)}
            if answers - {None}:
                return True not in answers
        if not self.in_sight:
            return False
        start = _start_time(self.pid)
        return start is None or start not in {_HIDDEN, self.start}


_PROC = Path("/proc")
_HIGHEST_PID = 2**31 - 1
_HIDDEN = "?"  # the start of a process that is alive but can't be looked at


@dataclass(frozen=True, slots=True)
class OtherDaemon:
    """A living daemon on the same memory.db, as its last heartbeat says.

    `account` is whose messages it hears on its platform, `souls` those that it hosts, with the channels that they name;
    both are empty in what older programs wrote. `here`: it runs on this machine.
    """

    workspace: str
    account: str
    souls: Mapping[str, Sequence[str]]
    here: bool


def bells_beside(database: Path) -> Path:
    """The folder of the bells of those who have a memory.db open."""
    return database.absolute().parent / FOLDER


def _boot_of_bell(boot: str) -> str:
    return f"{hashlib.sha256(boot.encode()).hexdigest()[:4]}-"


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    """The id of the namespace in which this process sees pids; empty on systems without them."""
    try:
        return str((_PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _start_time(pid: int) -> str | None:
    """Start of a live process in clock ticks since boot; None when it is gone.

    `?` for a live one that can't be looked at: there is no /proc, or it shows a user's own processes alone.
    """
    try:
        stat = (_PROC / f"{pid}/stat").read_text(encoding="utf-8", errors="replace")
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


def _made_s(bell: Path) -> float:
    try:
        return bell.lstat().st_mtime
    except OSError:  # another daemon took it down
        return float("inf")


def is_surely_dead(holder: str, database: Path) -> bool:
    """Whether the process that a row names is gone; see `ProcessIdentity.surely_dead`."""
    try:
        return ProcessIdentity.parse(holder).surely_dead(database)
    except ValueError:  # another format, perhaps of a newer program: its claims lapse with their leases
        return False


def _in_sight(holder: str) -> bool:
    try:
        return ProcessIdentity.parse(holder).in_sight
    except ValueError:
        return False


class Presence:
    """The row of this daemon, and the release of what dead daemons held; `lease` is that of its claims, in seconds."""

    def __init__(
        self, database: Database, clock: Clock, *, soul: str, workspace: str, kind: str, version: str, lease: float
    ) -> None:
        self.identity = ProcessIdentity.current()
        self._database = database
        self._clock = clock
        self._soul = soul
        self._workspace = workspace
        self._kind = kind
        self._version = version
        self._lease = lease
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
            ),
            passing=True,
        )

    async def others(self) -> tuple[OtherDaemon, ...]:
        """The other living daemons. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT id, workspace, detail FROM presence
            WHERE id <> :me AND seen_ms > :now - :silence AND seen_ms <= :now + :slack ORDER BY id
            """,
            me=str(self.identity),
            now=self._clock.now_ms(),
            silence=SILENT_MS,
            slack=SLACK_MS,
        )
        return tuple(self._other(row) for row in rows if not is_surely_dead(row["id"], self._database.path))

    def _other(self, row: sqlite3.Row) -> OtherDaemon:
        detail = json.loads(row["detail"])
        souls = {soul: tuple(map(str, channels)) for soul, channels in detail.get("souls", {}).items()}
        where = row["id"].split("/")[:2]
        here = where == [self.identity.host, self.identity.boot] or (where[1:] == [self.identity.boot] != [""])
        return OtherDaemon(row["workspace"], str(detail.get("account", "")), souls, here)

    async def leave(self) -> None:
        """Delete the row of this daemon on a clean stop, and all by which its souls are present at shared contexts."""

        async def unit(transaction: Transaction) -> None:
            for statement in _ROWS:
                await transaction.run(statement, id=str(self.identity))

        await self._database.write(unit, passing=True)

    async def release_dead_claims(self, in_doubt: float) -> int:
        """Release the claims of daemons that are surely dead before their leases lapse; returns how many were dead.

        What they had reserved for model calls counts as spent.
        A last request of theirs may still be under way: posts that they were sending are looked up after `in_doubt`
        seconds. Rows that were silent for a day are deleted, whatever host they name, or that say a day to come.
        Leases that a clock wrote which was far ahead are shortened.
        """
        look_up_ms = self._clock.now_ms() + int(in_doubt * 1000)
        silent_bells = self._silent_bells()  # looked for first: what their processes held stands in the rows below
        rows = await self._database.rows(
            """
            SELECT lease_owner AS id FROM conversations WHERE lease_owner <> ''
            UNION SELECT lease_owner FROM outbox WHERE lease_owner <> '' AND state IN ('pending', 'sending')
            UNION SELECT lease_owner FROM jobs WHERE lease_owner <> '' AND state IN ('ready', 'running')
            UNION SELECT lease_owner FROM consolidation_slots WHERE lease_owner <> ''
            UNION SELECT lease_owner FROM duties WHERE lease_owner <> ''
            UNION SELECT holder FROM reservations
            UNION SELECT process FROM awareness WHERE until_ms IS NULL
            UNION SELECT id FROM presence
            """
        )
        dead = [row["id"] for row in rows if is_surely_dead(row["id"], self._database.path)]

        async def release(transaction: Transaction) -> None:
            for holder in dead:
                for statement in _RELEASE:
                    await transaction.run(statement, id=holder, look_up=look_up_ms)
                await settle_lost(transaction, "holder = :which", holder)

        if dead:
            await self._database.write(release)
        for bell in silent_bells:
            with suppress(OSError):
                bell.unlink(missing_ok=True)
        silent = await self._database.rows(
            "SELECT id FROM presence WHERE seen_ms < :now - :day OR seen_ms > :now + :day",
            now=self._clock.now_ms(),
            day=GHOST_MS,
        )
        for row in silent:
            if not _in_sight(row["id"]):
                await self._database.run("DELETE FROM presence WHERE id = :id", id=row["id"])
        await self._shorten_leases(in_doubt)
        await self._forget_leases()
        return len(dead)

    def _silent_bells(self) -> list[Path]:
        """The bells of the dead: those of this boot that refuse, and of another host or an earlier boot only old ones.

        Processes of another host ring as well, and can't be heard from here.
        """
        bells, old_s = bells_beside(self._database.path), (self._clock.now_ms() - GHOST_MS) / 1000
        boot = _boot_of_bell(self.identity.boot)
        refused = [bell for bell in bells_in(bells) if listens(bell) is False]
        return [bell for bell in refused if bell.name.startswith(boot) or _made_s(bell) < old_s]

    async def _shorten_leases(self, in_doubt: float) -> None:
        """Have no claim bind for longer than one that is taken now, or than a post waits to be looked up."""
        last = self._clock.now_ms() + int(max(self._lease, in_doubt) * 1000) + SLACK_MS
        if await self._database.read(lambda transaction: any_too_long(transaction, last)):
            await self._database.write(lambda transaction: shorten(transaction, last), passing=True)

    async def _forget_leases(self) -> None:
        """Delete the members over HTTP whose leases have run out, or end at a day to come."""
        gone, now = f"FROM awareness WHERE until_ms < :now OR until_ms > :now + {GHOST_MS}", self._clock.now_ms()
        if await self._database.one(f"SELECT 1 {gone} LIMIT 1", now=now):
            await self._database.write(lambda transaction: transaction.run(f"DELETE {gone}", now=now), passing=True)


_ROWS = ("DELETE FROM presence WHERE id = :id", "DELETE FROM awareness WHERE process = :id")
_RELEASE = (
    "UPDATE conversations SET lease_until = 0, lease_owner = '' WHERE lease_owner <> '' AND lease_owner = :id",
    """
    UPDATE outbox SET lease_until = :look_up, lease_owner = ''
    WHERE state IN ('pending', 'sending') AND lease_owner = :id
    """,
    "UPDATE jobs SET lease_until = 0, lease_owner = '' WHERE state IN ('ready', 'running') AND lease_owner = :id",
    "UPDATE consolidation_slots SET lease_until = 0, lease_owner = '' WHERE lease_owner = :id",
    "UPDATE duties SET lease_until = 0, lease_owner = '' WHERE lease_owner = :id",
    *_ROWS,
)
