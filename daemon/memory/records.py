"""The values that go into and come out of memory.db: what was heard, claims, states, turns, posts on their way."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from daemon.core.perception import Audience, ConversationKey, Modality, Perception, Place
from daemon.core.ports import Post, Source

JSONObject = Mapping[str, object]
"""What JSON can hold, by name."""


def as_json(value: object) -> str:
    """JSON text, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Worker:
    """One daemon at work for one soul in one workspace; its claims hold `lease_ms` without a sign of life."""

    id: str
    soul: str
    workspace: str
    lease_ms: int


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One claimed inbox row around its perception.

    `revision` counts edits: a commit is refused when it has changed meanwhile. `attempts` counts claims.
    """

    perception: Perception
    source: Source
    revision: int
    attempts: int

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "InboxMessage":
        """Read an `inbox` row."""
        perception = Perception(
            id=row["id"],
            conversation=ConversationKey.parse(row["conversation"]),
            modality=Modality(row["modality"]),
            content=row["body"],
            author=row["author"],
            audience=Audience.parse(row["audience"]),
            place=Place(row["place"]),
            ts=row["ts"],
            received_ms=row["received_ms"],
            name=row["name"],
            process=row["process"],
            params=json.loads(row["params"]),
        )
        return cls(perception, Source(row["source"]), row["revision"], row["attempts"])

    @property
    def id(self) -> str:
        """The row's key."""
        return self.perception.id


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Why a message gets no reply; `stale`: it is too old to be answered."""

    reason: str
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply that was begun visibly before its cycle committed; `ts` is None when the platform's answer was lost."""

    key: str
    ts: str | None


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The mental process a conversation is in: since how many runs, after which one, with what, and what it keeps."""

    process: str = "engaged"
    previous: str = ""
    invocations: int = 0
    params: JSONObject = field(default_factory=dict)
    process_memory: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VisitState:
    """How far the talk in a conversation has come: which spell it is, its replies so far, when anybody last spoke."""

    visit: int = 0
    exchanges: int = 0
    spoken_ms: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one cycle on a conversation, fenced by `fence`: whoever claims next bumps it."""

    conversation: ConversationKey
    owner: str
    fence: int
    version: int
    audience: Audience
    messages: tuple[InboxMessage, ...]
    draft: Draft | None = None
    state: ProcessState = ProcessState()
    visit_state: VisitState = VisitState()

    def key(self, part: int) -> str:
        """The outbox key of a part of this cycle's reply; the same for whoever repeats the cycle."""
        return f"{self.conversation}@{self.version + 1}#{part}"


class Speaks(StrEnum):
    """Who said a turn."""

    PERSON = "person"
    SOUL = "soul"


@dataclass(frozen=True, slots=True)
class Turn:
    """A record of what was said. `thought` is private to the soul; `ts` is of the message said or answered."""

    speaker: Speaks
    author: str
    name: str
    ts: str
    body: str
    thought: Mapping[str, object] = field(default_factory=dict)
    seq: int = 0

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Turn":
        """Read a `turns` row."""
        return cls(
            speaker=Speaks(row["speaker"]),
            author=row["author"],
            name=row["name"],
            ts=row["ts"],
            body=row["body"],
            thought=json.loads(row["thought"]),
            seq=row["seq"],
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """A post claimed for sending until `lease_until` (ms).

    `doubtful`: an earlier attempt may have gone through, so look before sending.
    """

    post: Post
    fence: int
    doubtful: bool
    created_ms: int
    attempts: int
    lease_until: int

    @classmethod
    def from_row(cls, row: sqlite3.Row, *, doubtful: bool) -> "Delivery":
        """Read an `outbox` row that has just been claimed."""
        return cls(
            post=Post(
                key=row["id"],
                conversation=ConversationKey.parse(row["conversation"]),
                body=row["body"],
                reply_to=row["reply_to"],
                recipient=row["recipient"],
                newer_than_ts=row["newer_than_ts"],
                part=row["part"],
                last=bool(row["last"]),
                draft=row["platform_ts"],
                draft_lost=bool(row["draft_lost"]),
                approval=row["approval"],
                revises=row["revises"],
            ),
            fence=row["fence"],
            doubtful=doubtful,
            created_ms=row["created_ms"],
            attempts=row["attempts"],
            lease_until=row["lease_until"],
        )
