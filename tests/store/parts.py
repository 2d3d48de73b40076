"""Parts for the tests of memory.db: messages, the stores of one worker, the effects of cycles, intentions."""

import asyncio
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import cast

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.ports.arrivals import NewMessage
from daemon.core.ports.services import Clock
from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.learning import Learned, Learning, Proved, TurnRange
from daemon.memory.knowledge.records.kinds import Episode, Fact, Trust
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModels, record_encounter
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.inbox import Inbox
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import store_intentions
from daemon.memory.queues.jobs import Jobs
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Claim, Delivery, Speaks, Turn, Worker
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.given import DM, HERE, LEASE, SOUL, TEAM, effect

SILENCE = 1800 * 1000
WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
ACTS = "SELECT act FROM audit ORDER BY seq"


class Stores(Value):
    database: Database
    clock: FakeClock
    inbox: Inbox
    conversations: Conversations
    commits: Commits
    outbox: Outbox
    turns: Turns
    jobs: Jobs
    user_models: UserModels
    learning: Learning
    episodes: Episodes
    events: Events

    @classmethod
    def of(cls, database: Database, clock: Clock, name: str = "worker-1", soul: str = SOUL) -> "Stores":
        worker, events = Worker(name, soul, TEAM, int(LEASE * 1000)), Events()
        return cls(
            database,
            cast("FakeClock", clock),  # where a test turns it
            Inbox(database, clock, events, lambda _: None),
            Conversations(database, clock, worker),
            Commits(database, clock, worker),
            Outbox(database, clock, worker),
            Turns(database, clock),
            Jobs(database, clock, worker),
            UserModels(database, clock, worker),
            Learning(database, clock, worker),
            Episodes(database, clock, worker),
            events,
        )

    @property
    def path(self) -> Path:
        return self.database.path

    async def claim(self) -> Claim:
        claim = await self.conversations.claim_next()
        assert claim is not None, "nothing to claim"
        return claim

    async def claimed(self, message: NewMessage) -> Claim:
        await self.inbox.accept(message)
        return await self.claim()

    async def answer(self, *parts: str, jobs: tuple[str, ...] = ()) -> Delivery:
        delivery = await self.commits.commit(effect(await self.claim(), *(parts or ("hello",)), jobs=jobs))
        assert delivery is not None, "nothing to send"
        return delivery


def look(path: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """The rows that another program sees in the file: committed ones only."""
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        return list(connection.execute(sql, values))


def poke(path: Path, sql: str, *values: object) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        connection.execute(sql, values)


def make_wal(path: Path) -> None:
    """Create a file in WAL mode, as another SQLite may leave it."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)


def make_rollback(path: Path) -> None:
    """Create a file with a rollback journal, whatever this SQLite would choose."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=TRUNCATE")
        connection.execute("VACUUM")  # gives the empty file its first page


def content(path: Path) -> bytes:
    return path.read_bytes()


def overwrite(path: Path, content: bytes | bytearray) -> None:
    path.write_bytes(content)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def room(database: Database, key: ConversationKey = DM, audience: Audience = HERE) -> None:
    await database.write(
        lambda transaction: transaction.run(
            """
            INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
            VALUES (:id, :soul, :workspace, :channel, :thread, 'dm', :audience, 0) ON CONFLICT DO NOTHING
            """,
            id=str(key),
            soul=key.soul,
            workspace=key.workspace,
            channel=key.channel,
            thread=key.thread,
            audience=str(audience),
        )
    )


async def intend(
    database: Database,
    clock: Clock,
    *new: NewIntention,
    key: ConversationKey = DM,
    most: int = 100,
    shared_out: bool = False,
) -> tuple[str, ...]:
    await room(database, key)
    return await database.write(
        lambda transaction: store_intentions(
            transaction,
            conversation=key,
            place=Place.DM,
            audience=Audience(AudienceKind.DM, key.channel),
            intentions=new,
            now=clock.now_ms(),
            most=most,
            shared_out=shared_out,
        )
    )


def later(clock: Clock, slot: str = "look", minutes: float = 10, *, every: str = "") -> NewIntention:
    due = clock.now_ms() + int(minutes * MINUTE_MS)
    params = {"why": "asked"}
    return NewIntention(
        slot=slot, due_ms=due, process="ready", params=params, content="the build", every=every, behalf="U1"
    )


async def met(
    database: Database,
    now: int = 1_000,
    *,
    person: str = "U1",
    audience: Audience = HERE,
    name: str = "Ben",
    soul: str = SOUL,
    workspace: str = TEAM,
) -> None:
    await database.write(
        lambda transaction: record_encounter(
            transaction,
            soul=soul,
            workspace=workspace,
            person=person,
            name=name,
            audience=audience,
            now=now,
            visit_timeout_ms=SILENCE,
        )
    )


async def spoken(
    database: Database,
    words: str,
    *,
    key: ConversationKey = DM,
    audience: Audience = HERE,
    person: str = "U1",
    ts: str = "1.0",
) -> int:
    """Store a message of a user as a turn, and give its seq."""
    await room(database, key, audience)

    async def unit(transaction: Transaction) -> int:
        turn = Turn(Speaks.PERSON, person, person, ts, words)
        await store_turns(transaction, [turn], conversation=key, audience=audience, trace_id="t", now=1)
        newest = await transaction.one("SELECT max(seq) AS seq FROM turns")
        assert newest is not None
        seq: int = newest["seq"]
        return seq

    return await database.write(unit)


async def revised(
    stores: Stores,
    *lines: str,
    expected: int = 0,
    audience: Audience = HERE,
    turns: tuple[int, int] | None = None,
    corrected: Mapping[str, str] | None = None,
    retired: Collection[str] = (),
    whispers: str = "",
    person: str = "U1",
    most_lost: float = 0.34,
) -> bool:
    """Have lines learned that the user just said, or said in the turns named, word by word."""
    words = "; ".join((*lines, *(corrected or {}).values()))
    key = DM if audience == HERE else ConversationKey(SOUL, TEAM, audience.id, "1.0")
    first = turns[0] if turns else await spoken(stores.database, words, key=key, audience=audience, person=person)
    standing = {fact.text: fact.id for fact in await stores.user_models.facts(person, audience)}
    learned = Learned(
        added=tuple(Proved(line, first, line) for line in lines),
        corrected=tuple((standing[old], Proved(new, first, new)) for old, new in (corrected or {}).items()),
        retired=tuple(standing[line] for line in retired),
        whispers=whispers,
    )
    return await stores.learning.revise(
        person,
        audience,
        learned,
        expected_version=expected,
        source=TurnRange(key, *(turns or (first, first))),
        most_lost=most_lost,
        trace_id="t1",
    )


_COMMON: Mapping[str, object] = {"soul": SOUL, "workspace": TEAM, "audience": HERE, "channel": DM.channel, "at_ms": 1}


def a_fact(text: str = "keeps bees", **fields: object) -> Fact:
    """A fact that a person said of themselves in the DM, unless the fields say otherwise."""
    given = {"valid_from_ms": 1, "trust": Trust.OWN, "subject": "U1", "predicate": "keeps", "object": "bees"}
    return Fact(text=text, **{**_COMMON, **given, **fields})  # type: ignore[arg-type]  # fields by name


def a_visit(text: str, **fields: object) -> Episode:
    """A visit of the DM that is looked through, unless the fields say otherwise."""
    given = {"trust": Trust.INFERRED, "state": "closed"}
    return Episode(text=text, **{**_COMMON, **given, **fields})  # type: ignore[arg-type]  # as above


def note(act: str) -> "Note":
    return Note(act)


class Note:
    """A unit that stores a row, and may wait in the thread of its connection or fail."""

    def __init__(self, act: str, *, fail: Exception | None = None, hold: threading.Event | None = None) -> None:
        self.act, self.fail, self.hold = act, fail, hold
        self.ran = 0
        self._started = threading.Event()

    async def __call__(self, transaction: Transaction) -> str:
        self.ran += 1
        await transaction.run("INSERT INTO audit (actor, act, object, done_ms) VALUES ('t', :act, '', 0)", act=self.act)
        self._started.set()
        if self.hold is not None:
            assert self.hold.wait(TIMEOUT)
        if self.fail is not None:
            raise self.fail
        return self.act

    async def started(self) -> None:
        assert await asyncio.to_thread(self._started.wait, TIMEOUT)


async def acts(transaction: Transaction) -> list[str]:
    return [row["act"] for row in await transaction.rows(ACTS)]
