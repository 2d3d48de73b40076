"""Lost, doubled and torn: the messages of users against memory.db and against the posts in Slack."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Final

from daemon.local_slack.model import WorkspaceMessage
from daemon.local_slack.server import WorkspaceServer
from daemon.memory.database.sqlite import sqlite3

_STANDSTILL_S = 60.0  # without any change
_LOOK_S: Final = 0.25  # between looks into a file that seems unchanged
_PATIENT_S: Final = 5.0  # until a file that is locked is read another time
_ENTERS = frozenset({"enter", "move", "visit", "return"})


@dataclass
class Figure:
    """What a play found. It reads `name=value …`, with the number of reasons; those in `FAULTS` must be zero."""

    FAULTS: ClassVar[tuple[str, ...]] = ()

    @property
    def faultless(self) -> bool:
        """Whether nothing went wrong."""
        return not any(getattr(self, one) for one in self.FAULTS)

    @property
    def details(self) -> tuple[str, ...]:
        """A line for each thing that went wrong, where it is known."""
        return ()

    def __str__(self) -> str:
        return " ".join(f"{one.name}={_read(getattr(self, one.name))}" for one in fields(self))


def _read(value: object) -> object:
    if isinstance(value, tuple):
        return len(value)
    return f"{value:.4f}" if isinstance(value, float) else value


@dataclass
class Outcome(Figure):
    """The outcome of a run; `reported` are posts that the daemon itself calls unknown.

    `notes` counts the reminders that were posted; one that was not, or not once, is among `lost` or `duplicated`.
    `torn` names user models and paths of processes that are not whole, `ends` says how each lost message ended, `twice`
    names the posts of which there are too many.
    """

    FAULTS: ClassVar = ("lost", "duplicated", "reported", "torn")
    kills: int
    events: int
    lost: int
    duplicated: int
    reported: int
    integrity: str
    notes: int = 0
    torn: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()

    @property
    def faultless(self) -> bool:
        """Whether every reply was posted exactly once and every stored row is whole."""
        return super().faultless and self.integrity == "ok"

    @property
    def details(self) -> tuple[str, ...]:
        """Each with what it is about."""
        return (*self.torn, *self.ends, *self.twice)


def replies(workspace: WorkspaceServer) -> list[WorkspaceMessage]:
    """Every post of the soul that was not deleted."""
    state = workspace.workspace.state
    everything = (message for channel in state.channels for message in state.timeline(channel).everything())
    return [message for message in everything if message.author == state.app.user and message.subtype != "tombstone"]


def key_of(message: WorkspaceMessage) -> str:
    """The outbox key in a post's metadata; empty when it carries none."""
    payload: dict[str, Any] = (message.metadata or {}).get("event_payload", {})
    return str(payload.get("key", ""))


def judge(
    home: Path,
    workspace: WorkspaceServer,
    said: Sequence[WorkspaceMessage],
    kills: int,
    *,
    uncalled: Callable[[str], bool] = lambda _: False,
) -> Outcome:
    """Compare the messages of users, the rows of memory.db and the posts in Slack.

    Posts with a text that is `uncalled` may answer nothing; how often they are there is judged elsewhere.
    """
    visible = Counter(key_of(message) for message in replies(workspace))
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        answers = connection.execute(_ANSWERS).fetchall()
        notes = connection.execute(_NOTES).fetchall()
        reported = {key for (key,) in connection.execute("SELECT id FROM outbox WHERE state = 'unknown'")}
        torn = (*_torn_models(connection), *_torn_paths(connection))
        ended = {where: end for where, *end in connection.execute(_ENDS)}
        integrity = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    answered_by = {where: key for where, key, words in answers if words}
    keys = [answered_by.get(f"{message.channel}/{message.ts}") or "?" for message in said]
    keys += [key or "?" for _, key in notes]
    gone = [f"{one.channel}/{one.ts}" for one in said]
    called = {*(key for _, key, _ in answers), *(key for _, key in notes)}
    elsewhere = {key_of(one) for one in replies(workspace) if uncalled(one.text)} - called
    too_many = {
        key: more for key, count in visible.items() if key not in elsewhere and (more := count - (key in called))
    }
    return Outcome(
        kills=kills,
        events=len(said),
        notes=len(notes),
        lost=sum(not visible[key] and key not in reported for key in keys),
        duplicated=sum(too_many.values())
        + sum(count - 1 for count in Counter(content for content, _ in notes).values()),
        reported=len(reported),
        integrity=integrity,
        torn=torn,
        ends=tuple(
            f"{where}: {ended.get(where, 'never stored')}"
            for where, key in zip(gone, keys, strict=False)  # reminders, which come last, have no message
            if not visible[key] and key not in reported
        ),
        twice=tuple(
            f"{key or 'a post without a key'}: {more} too many of {_shown(workspace, key)}"
            for key, more in too_many.items()
        ),
    )


def _shown(workspace: WorkspaceServer, key: str) -> str:
    """The posts with this key, each with its ts."""
    return "; ".join(f"{one.ts} {one.text[:80]!r}" for one in replies(workspace) if key_of(one) == key)


# What was answered by which post; events of the daemon's own may share the ts of another one.
_ANSWERS: Final = """
    SELECT channel || '/' || ts, answered_by, modality = 'words' FROM inbox WHERE state = 'answered'
    """


# How each message of a user ended: its row, and that of its reply.
_ENDS = """
    SELECT i.channel || '/' || i.ts, i.state, i.reason, i.attempts, o.state, o.reason, o.attempts
    FROM inbox i LEFT JOIN outbox o ON o.id = i.answered_by
    """


# Each reminder and the reply that posted it; the checks for dormancy post nothing.
_NOTES = """
    SELECT i.content, w.answered_by FROM intentions i LEFT JOIN inbox w ON w.state = 'answered'
      AND w.id LIKE '%/due:' || i.id || ':%' AND i.state = 'due' AND i.fired = 1 WHERE i.slot <> 'idle'
    """


def _torn_models(connection: sqlite3.Connection) -> tuple[str, ...]:
    """A user model equals its newest version in the history, and no version before it is missing."""
    found = connection.execute(
        """
        SELECT m.person, m.audience, m.version, count(h.version), max(h.version),
               max(h.version = m.version AND h.whispers = m.whispers AND json_array_length(h.notes) = (
                 SELECT count(*) FROM records r JOIN facts f ON f.id = r.id
                 WHERE r.soul = m.soul AND r.workspace = m.workspace AND r.person = m.person
                   AND r.audience = m.audience AND f.valid_until_ms IS NULL))
        FROM user_models m LEFT JOIN user_model_history h USING (soul, workspace, person, audience)
        GROUP BY m.soul, m.workspace, m.person, m.audience
        """
    )
    return tuple(
        f"{person} before {audience}: version {version}, {count} in the history, the newest {newest}, same {same}"
        for person, audience, version, count, newest, same in found
        if version and (count, newest, same) != (version, version, 1)
    )


def _torn_paths(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Every transition starts where the one before ended, and a conversation stands where its last one ended."""
    torn = []
    stands = dict(connection.execute("SELECT id, process FROM conversations"))
    where: dict[str, str] = {}
    steps = connection.execute("SELECT conversation, trace_id, act, origin, target FROM transitions ORDER BY seq")
    for conversation, trace, act, origin, target in steps:
        if where.get(conversation, origin) != origin:
            torn.append(f"{conversation}: {trace} begins in {origin}, but it was in {where[conversation]}")
        where[conversation] = target if act in _ENTERS else origin
    ended = ((one, where[one], stands[one]) for one in where if stands[one] != where[one])
    return (*torn, *(f"{one}: the path ends in {led}, it stands in {stands}" for one, led, stands in ended))


async def until_settled(home: Path, workspace: WorkspaceServer, said: Sequence[WorkspaceMessage]) -> None:
    """Wait until no row waits and every message has its reply, or no row has changed for a minute."""
    with closing(Watch(home)) as watch:

        def left() -> tuple[int, ...]:
            waiting = watch.count(_WAITING)
            return (waiting, -1 if waiting else judge(home, workspace, said, 0).lost)

        await until_still(left)


async def until_still(left: Callable[[], tuple[int, ...]]) -> None:
    """Wait until nothing is left, or nothing of it has changed for a minute.

    A busy machine makes progress slowly: only a standstill is a verdict.
    """
    loop, before = asyncio.get_running_loop(), tuple[int, ...]()
    since = loop.time()
    while loop.time() - since < _STANDSTILL_S:
        await asyncio.sleep(0.1)  # a file has no events
        with suppress(sqlite3.OperationalError):  # the first daemon is still creating the tables
            now = left()
            if not any(now):
                return
            if now != before:
                before, since = now, loop.time()


class Watch:
    """Looks at memory.db again and again: its connection is kept, and a query asked anew once something was written.

    Close it before a daemon follows one that was killed, so that the daemon recovers the file. A write in the same tick
    of the file system's clock as the last look has the same date, so a query is asked anew after a while, too.
    """

    def __init__(self, home: Path) -> None:
        self._file, self._log = home / "memory.db", home / "memory.db-wal"
        self._connection: sqlite3.Connection | None = None
        self._seen: list[tuple[int, int]] = []
        self._at = 0.0
        self._known: dict[str, list[tuple[Any, ...]]] = {}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query gives; nothing while there are no tables yet."""
        stats = [file.stat() for file in (self._file, self._log) if file.exists()]
        seen, now = [(one.st_mtime_ns, one.st_size) for one in stats], time.monotonic()
        if seen != self._seen or now - self._at > _LOOK_S:
            self._known.clear()
            self._seen, self._at = seen, now
        with suppress(sqlite3.OperationalError):
            if stats and sql not in self._known:
                self._connection = self._connection or sqlite3.connect(self._file, timeout=_PATIENT_S)
                self._known[sql] = self._connection.execute(sql).fetchall()
        return self._known.get(sql, [])

    def count(self, sql: str) -> int:
        """The number that a query gives; -1 while there are no tables yet."""
        return next((int(number) for (number,) in self.rows(sql)), -1)

    def close(self) -> None:
        """Let go of the file; the next look opens it."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def count(home: Path, sql: str) -> int:
    """The number that a query of memory.db gives."""
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])


# Rows that are not in a final state; the checks for dormancy never end.
_WAITING = """
    SELECT (SELECT count(*) FROM inbox WHERE state IN ('new', 'claimed'))
         + (SELECT count(*) FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
         + (SELECT count(*) FROM jobs WHERE state IN ('ready', 'running'))
         + (SELECT count(*) FROM intentions WHERE state = 'waiting' AND slot <> 'idle')
    """


_THOUGHTS: Final = "SELECT id, previous, conversation, trace_id FROM thoughts ORDER BY seq"


def faults_of(home: Path, most: int = 1) -> list[str]:
    """Thoughts that name another one than the one before them, and answers with more than so many."""
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        thoughts = connection.execute(_THOUGHTS).fetchall()
    faults, last = list[str](), dict[str, str]()
    for name, previous, conversation, _ in thoughts:
        if previous != last.get(conversation, ""):
            faults.append(f"{name} follows {previous}, not {last.get(conversation, '')}")
        last[conversation] = name
    thought = Counter((conversation, trace) for _, _, conversation, trace in thoughts)
    faults += [f"{one} was thought {times} times" for one, times in thought.items() if times > most]
    return faults if thoughts else ["nothing was thought"]
