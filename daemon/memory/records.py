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
class Heard:
    """One claimed inbox row. `revision` counts edits: a commit is refused when it has changed meanwhile."""

    id: str
    conversation: ConversationKey
    ts: str
    actor: str
    body: str
    place: Place
    audience: Audience
    source: Source
    received_ms: int
    revision: int
    attempts: int
    modality: Modality = Modality.WORDS
    process: str | None = None
    params: JSONObject = field(default_factory=dict)

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Heard":
        """Read an `inbox` row."""
        return cls(
            id=row["id"],
            conversation=ConversationKey.parse(row["conversation"]),
            ts=row["ts"],
            actor=row["actor"],
            body=row["body"],
            place=Place(row["place"]),
            audience=Audience.parse(row["audience"]),
            source=Source(row["source"]),
            received_ms=row["received_ms"],
            revision=row["revision"],
            attempts=row["attempts"],
            modality=Modality(row["modality"]),
            process=row["process"],
            params=json.loads(row["params"]),
        )

    @property
    def said_at(self) -> tuple[float, str]:
        """What orders messages within a conversation; a ts that is no number comes first instead of failing."""
        try:
            return float(self.ts), self.ts
        except ValueError:
            return 0.0, self.ts

    def perception(self, *, name: str = "", late: bool = False) -> Perception:
        """The row as the mind perceives it."""
        return Perception(
            id=self.id,
            conversation=self.conversation,
            modality=self.modality,
            content=self.body,
            source=self.actor,
            audience=self.audience,
            place=self.place,
            ts=self.ts,
            received_ms=self.received_ms,
            name=name,
            late=late,
            process=self.process,
            params=self.params,
        )


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
    kept: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spell:
    """How far the talk in a conversation has come: which spell it is, its replies so far, when anybody last spoke."""

    visit: int = 0
    exchanges: int = 0
    spoken_ms: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one cycle on a conversation, fenced by `gen`: whoever claims next bumps it."""

    conversation: ConversationKey
    owner: str
    gen: int
    version: int
    audience: Audience
    heard: tuple[Heard, ...]
    draft: Draft | None = None
    state: ProcessState = ProcessState()
    spell: Spell = Spell()

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
    actor: str
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
            actor=row["actor"],
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
    gen: int
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
                not_before=row["posted_after"],
                part=row["part"],
                last=bool(row["last"]),
                draft=row["platform_ts"],
                drafting=row["reason"] == DRAFT_LOST,
                approval=row["approval"],
                revises=row["revises"],
            ),
            gen=row["gen"],
            doubtful=doubtful,
            created_ms=row["created_ms"],
            attempts=row["attempts"],
            lease_until=row["lease_until"],
        )


DRAFT_LOST = "draft opened, its id unknown"
ASIDE = "people talk to each other"
