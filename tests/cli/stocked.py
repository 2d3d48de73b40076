"""A memory.db with messages and posts in every state, for commands to look at and change."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from daemon.memory.admin.queue_admin import INBOX_STATES, OUTBOX_STATES
from daemon.memory.database import Transaction, open_database, schema, sqlite
from daemon.memory.database.sqlite import sqlite3
from tests.fakes import FakeClock
from tests.processes import OtherProcess

T = TypeVar("T")
CONVERSATION = "minoan/T1/D1/"
WORDS = "please don't tell \x1b]0;owned\x07 anybody"
THOUGHT = "a private thought"
NOW = 1_750_000_000_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as SQL sees it."""
    with closing(sqlite.connect(path)) as connection:
        yield connection


def one(path: Path, sql: str, *values: object) -> object:
    """The first value of the first row, None without one."""
    return next((row[0] for row in rows(path, sql, *values)), None)


def rows(path: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """What an SQL query finds."""
    with opened(path) as connection:
        return [tuple(row) for row in connection.execute(sql, values)]


def change(path: Path, sql: str, *values: object) -> None:
    """Change the file as an SQL statement says."""
    with opened(path) as connection:
        connection.execute(sql, values)


def insert(path: Path, table: str, /, **values: object) -> None:
    """One more row."""
    change(path, f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", *values.values())


def written(home: Path, unit: Callable[[Transaction], Awaitable[T]]) -> T:
    """What a unit of writing gives, once it is in the memory of a home."""

    async def work() -> T:
        async with open_database(home / "memory.db", FakeClock(auto=True)) as database:
            return await database.write(unit)

    return asyncio.run(work())


def talk(path: Path, name: str, audience: str = "workspace:T1", place: str = "public_channel") -> None:
    """A conversation."""
    ids = dict(zip(("soul", "workspace", "channel", "thread"), name.split("/"), strict=True))
    insert(path, "conversations", id=name, place=place, audience=audience, last_ms=NOW, **ids)


def turn(path: Path, conversation: str, author: str, audience: str, **more: object) -> None:
    """What a person said there."""
    values = {"speaker": "person", "name": "Ben", "ts": "1.5", "body": "hi", "trace_id": "abc", "said_ms": NOW} | more
    insert(path, "turns", conversation=conversation, author=author, audience=audience, **values)


def stock(path: Path) -> Path:
    """One message and one post for each state, a turn with a private thought, a model call."""
    schema.migrate(path)
    talk(path, CONVERSATION, "dm:D1", "dm")
    with opened(path) as connection:
        for number, state in enumerate(INBOX_STATES):
            connection.execute(
                "INSERT INTO inbox (id, soul, workspace, channel, ts, conversation, author, place, audience, body,"
                " source, state, reason, attempts, received_ms, envelope) VALUES"
                " (?, 'minoan', 'T1', 'D1', ?, ?, 'U1', 'dm', 'dm:D1', ?, 'backfill', ?, '', 2, ?, '{}')",
                (f"minoan/T1/D1/{number}.5", f"{number}.5", CONVERSATION, WORDS, state, NOW + number),
            )
        for number, state in enumerate(OUTBOX_STATES):
            connection.execute(
                "INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient,"
                " newer_than_ts, audience, state, platform_ts, attempts, created_ms, lease_owner, lease_until)"
                " VALUES (?, ?, 'minoan', 'T1', 0, 1, ?, '1.5', 'U1', '1.5', 'dm:D1', ?, ?, 3, ?, '', 0)",
                (f"{CONVERSATION}@{number}#0", CONVERSATION, WORDS, state, f"{number}.7" if number % 2 else None, NOW),
            )
        connection.execute(
            "INSERT INTO turns (conversation, speaker, author, name, ts, body, thought, audience, trace_id, said_ms)"
            " VALUES (?, 'soul', 'minoan', 'Kothar', '1.5', 'hello', ?, 'dm:D1', 'abc', ?)",
            (CONVERSATION, f'{{"monologue": "{THOUGHT}"}}', NOW),
        )
        connection.execute(
            "INSERT INTO llm_calls (trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd,"
            " started_ms, first_ms, latency_ms, outcome)"
            " VALUES ('abc', 'persona', 'respond', 'm', 10, 2, 5, 0.25, ?, 1, 2, 'ok')",
            (NOW,),
        )
        connection.execute(
            "INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms)"
            " VALUES ('summarizes_the_conversation', ?, 'minoan', 'T1', 'ready', ?)",
            (CONVERSATION, NOW),
        )
    return path


def message_in(state: str) -> str:
    """The id of the message in that state."""
    return f"minoan/T1/D1/{INBOX_STATES.index(state)}.5"


def post_in(state: str) -> str:
    """The key of the post in that state."""
    return f"{CONVERSATION}@{OUTBOX_STATES.index(state)}#0"


def add_daemon(
    path: Path, *, identity: str = "", kind: str = "slack", state: str = "connected", seen_ms: int = NOW
) -> None:
    """A daemon's row; by default one that is alive."""
    program = {"kind": kind, "host": "here", "pid": 42, "version": "0.1.0", "sqlite": "3", "started_ms": NOW}
    whose = {"id": identity or OtherProcess(path).name, "soul": "minoan", "workspace": "T1"}
    insert(path, "presence", **whose, **program, seen_ms=seen_ms, state=state, detail='{"active": 0}')


def host(path: Path, soul: str) -> None:
    """A living process hosts a soul."""
    insert(
        path, "awareness", context_key="souls", member=soul, process=OtherProcess(path).name, state="{}", seen_ms=NOW
    )


def filled(path: Path, rows: int) -> Path:
    """Make the file larger: half a KiB a row."""
    with opened(path) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO audit (actor, act, object, detail, done_ms) VALUES ('a', 'b', 'c', ?, 1)",
            [("x" * 500,)] * rows,
        )
        connection.execute("COMMIT")
    return path


def dead_identity() -> str:
    """A process that is gone."""
    return "7-of-the-dead"
