"""What the store's tests are made of: utterances, one worker's hands on memory.db, and the ends of cycles."""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import Clock, Deletion, Edit, LLMCall, ModelRole, NewMessage
from daemon.memory.database import Database
from daemon.memory.knowledge.turns import Turns
from daemon.memory.queues.commits import Commits
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.inbox import Inbox
from daemon.memory.queues.jobs import Jobs
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Claim, Delivery, Dismissal, InboxMessage, Speaks, Turn, Worker

SOUL, TEAM, CHANNEL = "ada", "T1", "C1"
LEASE = 60.0
DM = ConversationKey(SOUL, TEAM, "D1")


class Events:
    """Keeps what was emitted, by name."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: str, /, **fields: object) -> None:
        self.told.append((event, fields))
        self._changed.set()

    async def until(self, event: str) -> None:
        """Wait until an event was emitted."""
        while event not in self.names:
            self._changed.clear()
            await self._changed.wait()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.told]


@dataclass(frozen=True, slots=True)
class Hands:
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
    def of(cls, database: Database, clock: Clock, name: str = "worker-1", soul: str = SOUL) -> "Hands":
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
