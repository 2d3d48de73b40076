"""What the daemon wrote down while a scenario was played, read from its memory.db without writing to it."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from daemon.core.value import Value
from daemon.memory.database.sqlite import sqlite3

_BUSY: Final = 5.0  # seconds to wait for another process that writes
_AT_REST: Final = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
         + (SELECT count(*) FROM jobs
            WHERE state = 'running' OR (state = 'ready' AND not_before <= strftime('%s', 'now') * 1000 + 999))
    """


class Mark(Value):
    """The newest rows at one moment; what is newer came of the turn that followed."""

    call: int = 0
    step: int = 0
    turn: int = 0
    intention_ms: int = 0
    approval_ms: int = 0


class Call(Value):
    """A model call, from `llm_calls`; `cost` is None where nothing is known of what it used.

    `bound` is 1 where its price is not known, and `cost` is the most that it can have been.
    """

    trace: str
    role: str
    step: str
    model: str
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost: float | None
    latency_ms: int
    outcome: str
    bound: int = 0


class PathRow(Value):
    """A step of a conversation through the states."""

    act: str
    origin: str
    target: str
    decided_by: str
    reason: str


class Spoken(Value):
    """A turn of the soul: `kind` is reply, cut or apology; `thought` is what was thought in private."""

    kind: str
    thought: str


class Rows(Value):
    """Everything newer than a mark."""

    calls: tuple[Call, ...] = ()
    path: tuple[PathRow, ...] = ()
    spoken: tuple[Spoken, ...] = ()
    reminders: tuple[tuple[int, str], ...] = ()
    """Moments in epoch milliseconds, with what is to be brought up."""
    permissions: tuple[str, ...] = ()
    """The tools that the soul asked to use."""


class MemoryFile:
    """Reads one memory.db, beside the loop: the daemon may hold its lock for a moment."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def at_rest(self) -> bool:
        """Whether no message, post or job is in work."""
        return bool((await self._rows(_AT_REST))[0][0] == 0)

    async def indexed(self) -> int:
        """How many files of the library are indexed; 0 while there is no memory.db yet."""
        if not self._path.exists():
            return 0
        try:
            return int((await self._rows("SELECT count(*) FROM library_files"))[0][0])
        except sqlite3.OperationalError:  # the tables are being made
            return 0

    async def sources(self) -> frozenset[str]:
        """The places that a reply may cite: each file of the library, and each passage as `file:line`."""
        files = await self._rows("SELECT path FROM library_files")
        passages = await self._rows("SELECT path || ':' || line FROM library_passages")
        return frozenset(str(row[0]) for row in (*files, *passages))

    async def mark(self) -> Mark:
        """The newest rows now."""
        row = (
            await self._rows(
                """
                SELECT (SELECT coalesce(max(seq), 0) FROM llm_calls), (SELECT coalesce(max(seq), 0) FROM transitions),
                  (SELECT coalesce(max(seq), 0) FROM turns), (SELECT coalesce(max(created_ms), 0) FROM intentions),
                  (SELECT coalesce(max(created_ms), 0) FROM approvals)
                """
            )
        )[0]
        return Mark(*(int(value) for value in row))

    async def since(self, mark: Mark) -> Rows:
        """What came after a mark."""
        calls = await self._rows(
            """
            SELECT trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd, latency_ms, outcome,
                   cost_bound
            FROM llm_calls WHERE seq > ? ORDER BY seq
            """,
            mark.call,
        )
        path = await self._rows(
            "SELECT act, origin, target, decided_by, reason FROM transitions WHERE seq > ? ORDER BY seq", mark.step
        )
        spoken = await self._rows(
            "SELECT kind, thought FROM turns WHERE seq > ? AND speaker = 'soul' ORDER BY seq", mark.turn
        )
        reminders = await self._rows(
            """
            SELECT due_ms, content FROM intentions
            WHERE created_ms > ? AND state = 'waiting' AND content <> '' ORDER BY due_ms
            """,
            mark.intention_ms,
        )
        permissions = await self._rows(
            "SELECT tool FROM approvals WHERE created_ms > ? ORDER BY created_ms", mark.approval_ms
        )
        return Rows(
            tuple(Call(*row) for row in calls),
            tuple(PathRow(*row) for row in path),
            tuple(Spoken(kind, _monologue(thought)) for kind, thought in spoken),
            tuple((int(due), str(content)) for due, content in reminders),
            tuple(str(row[0]) for row in permissions),
        )

    async def speaks_split(self, now_ms: int) -> tuple[str, ...]:
        """The models that lost the form so often that they think and speak in separate calls for now."""
        rows = await self._rows("SELECT model FROM model_habits WHERE split_until_ms > ? ORDER BY model", now_ms)
        return tuple(str(row[0]) for row in rows)

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(self._read, sql, values)

    def _read(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True, timeout=_BUSY)) as connection:
            return connection.execute(sql, values).fetchall()


def _monologue(stored: str) -> str:
    """The words of a stored thought, whose other fields are verbs and checks."""
    try:
        thought = json.loads(stored)
    except json.JSONDecodeError:
        return ""
    return str(thought.get("monologue") or "") if isinstance(thought, dict) else ""
