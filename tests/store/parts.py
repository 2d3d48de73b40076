"""Parts for the tests of memory.db: messages, the stores of one worker, the effects of cycles, intentions."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import Clock, Deletion, Edit, LLMCall, ModelRole, NewMessage
from daemon.core.timetable import MINUTE_MS
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import record_encounter
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.inbox import Inbox
from daemon.memory.queues.intentions import NewIntention, store_intentions
from daemon.memory.queues.jobs import Jobs
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Claim, Delivery, Dismissal, InboxMessage, Speaks, Turn, Worker
from tests.fakes import Events

SOUL, TEAM, CHANNEL = "ada", "T1", "C1"
LEASE = 60.0
DM = ConversationKey(SOUL, TEAM, "D1")
HERE = Audience(AudienceKind.DM, "D1")
SILENCE = 1800 * 1000
WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
ACTS = "SELECT act FROM audit ORDER BY seq"


@dataclass(frozen=True, slots=True)
class Stores:
    """Everything that one worker does with memory.db."""

    database: Database
    inbox: Inbox
    conversations: Conversations
    commits: Commits
    outbox: Outbox
    turns: Turns
    jobs: Jobs
    events: Events

    @classmethod
    def of(cls, database: Database, clock: Clock, name: str = "worker-1", soul: str = SOUL) -> "Stores":
        worker, events = Worker(name, soul, TEAM, int(LEASE * 1000)), Events()
        return cls(
            database,
            Inbox(database, clock, events, lambda _: None),
            Conversations(database, clock, worker),
            Commits(database, clock, worker),
            Outbox(database, clock, worker),
            Turns(database, clock),
            Jobs(database, clock, worker),
            events,
        )

    async def claim(self) -> Claim:
        claim = await self.conversations.claim_next()
        assert claim is not None, "nothing to claim"
        return claim

    async def answer(self, *parts: str, jobs: tuple[str, ...] = ()) -> Delivery:
        delivery = await self.commits.commit(effect(await self.claim(), *(parts or ("hello",)), jobs=jobs))
        assert delivery is not None, "nothing to send"
        return delivery


def said(
    ts: str = "100.000001",
    text: str = "hi",
    *,
    event: str = "",
    conversation: ConversationKey = DM,
    author: str = "U1",
    addressed: bool = True,
    to_others: bool = False,
    audience: Audience | None = None,
) -> NewMessage:
    return NewMessage(
        event_id=event or f"E{conversation.channel}{ts}",
        perception=Perception.of_message(
            conversation=conversation,
            ts=ts,
            author=author,
            content=text,
            place=Place.DM,
            audience=audience or Audience(AudienceKind.DM, conversation.channel),
        ),
        addressed=addressed,
        to_others=to_others,
    )


def edited(ts: str, text: str, event: str = "", conversation: ConversationKey = DM) -> Edit:
    return Edit(event or f"edit-{ts}-{text}", SOUL, TEAM, conversation.channel, ts, text)


def deleted(ts: str, event: str = "", conversation: ConversationKey = DM) -> Deletion:
    return Deletion(event or f"gone-{ts}", SOUL, TEAM, conversation.channel, ts)


def thread(root: str, channel: str = CHANNEL) -> ConversationKey:
    return ConversationKey(SOUL, TEAM, channel, root)


def call(trace: str = "t1") -> LLMCall:
    return LLMCall(trace, ModelRole.PERSONA, "respond", "placeholder/parrot", 1, 2, "ok")


def effect(
    claim: Claim,
    *parts: str,
    answered: tuple[InboxMessage, ...] | None = None,
    dismissed: Mapping[str, Dismissal] | None = None,
    jobs: tuple[str, ...] = (),
) -> CycleEffect:
    answered = claim.messages if answered is None else answered
    heard = tuple(
        Turn(Speaks.PERSON, one.perception.author, "Ben", one.perception.ts, one.perception.content) for one in answered
    )
    newest = answered[-1].perception.ts if answered else "0"
    spoken = (Turn(Speaks.SOUL, SOUL, "Ada", newest, "".join(parts), {"why": "asked"}),) if parts else ()
    return CycleEffect(
        claim=claim,
        trace_id="t1",
        state=claim.state,
        visit_state=claim.visit_state,
        turns=heard + spoken,
        parts=parts,
        reply_to="",
        recipient="U1",
        newer_than_ts=newest,
        answered=answered,
        dismissed=dismissed or {},
        jobs=jobs,
        calls=(call(),),
    )


def look(path: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """What another program sees in the file: committed rows only."""
    with closing(sqlite3.connect(path, timeout=10)) as connection:
        return list(connection.execute(sql, values))


def poke(path: Path, sql: str, *values: object) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
        connection.execute(sql, values)


def make_wal(path: Path) -> None:
    """A file that is in WAL mode already, as another SQLite may have left it."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)


def content(path: Path) -> bytes:
    return path.read_bytes()


def overwrite(path: Path, content: bytes | bytearray) -> None:
    path.write_bytes(content)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def room(database: Database, key: ConversationKey = DM) -> None:
    """A conversation in which nothing waits."""
    await database.write(
        lambda transaction: transaction.run(
            """
            INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
            VALUES (:id, :soul, :workspace, :channel, :thread, 'dm', 'dm:D1', 0) ON CONFLICT DO NOTHING
            """,
            id=str(key),
            soul=key.soul,
            workspace=key.workspace,
            channel=key.channel,
            thread=key.thread,
        )
    )


async def intend(
    database: Database, clock: Clock, *new: NewIntention, key: ConversationKey = DM, most: int = 100
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
            visit_silence_ms=SILENCE,
        )
    )


def note(act: str) -> "Note":
    return Note(act)


class Note:
    """A unit that stores a row, tells that it runs, and may wait or fail."""

    def __init__(self, act: str, *, fail: Exception | None = None, hold: asyncio.Event | None = None) -> None:
        self.act, self.fail, self.hold = act, fail, hold
        self.ran = 0
        self.started = asyncio.Event()

    async def __call__(self, transaction: Transaction) -> str:
        self.ran += 1
        await transaction.run("INSERT INTO audit (actor, act, object, done_ms) VALUES ('t', :act, '', 0)", act=self.act)
        self.started.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.fail is not None:
            raise self.fail
        return self.act


async def acts(transaction: Transaction) -> list[str]:
    return [row["act"] for row in await transaction.rows(ACTS)]
