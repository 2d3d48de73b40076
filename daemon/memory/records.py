"""The values that go into and come out of memory.db: inbox messages, claims, states, turns, claimed posts."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from daemon.core.fencing import NO_NONCE, Nonce
from daemon.core.notes import NEVER_QUIET_THERE, QuietThere
from daemon.core.perception import Audience, ConversationKey, Modality, Perception, Place
from daemon.core.ports.arrivals import Source
from daemon.core.ports.library import Nod, Post
from daemon.core.questions import BoundThread
from daemon.core.room_ways import RoomWay
from daemon.core.sessions import key_of
from daemon.core.step import PLAINLY_STATED, EpistemicMode, Heard, Stated
from daemon.memory.database.sqlite import sqlite3

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

JSONObject = Mapping[str, object]
"""A JSON object."""


IN_PRIVATE: Final = "!own:"
"""Stands in the keys of posts that go to one person alone."""


def as_json(value: object) -> str:
    """JSON text, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def json_object(text: str) -> JSONObject:
    """Read what `as_json` wrote of an object. Raises ValueError for anything else."""
    value = _json_value(text)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  # it is text that can't be read
    return value


def _json_value(text: str) -> object:
    """The value in JSON text. Raises ValueError where it can't be read, also for its depth."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def read_row(record: type[T], row: sqlite3.Row, **decoders: Callable[..., object]) -> T:
    """Make a dataclass from the columns named like its fields; `decoders` convert columns by their names."""
    values = {field.name: row[field.name] for field in fields(record)}
    return record(**values | {name: decode(values[name]) for name, decode in decoders.items()})


def conversation_columns(key: ConversationKey) -> dict[str, str]:
    """The columns of a row that belongs to a conversation."""
    return {"conversation": str(key), "soul": key.soul, "workspace": key.workspace}


@dataclass(frozen=True, slots=True)
class Worker:
    """One daemon that works for one soul in one workspace; its claims lapse after `lease_ms` without renewal."""

    id: str
    soul: str
    workspace: str
    lease_ms: int

    @property
    def scope(self) -> dict[str, str]:
        return {"soul": self.soul, "workspace": self.workspace}


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One claimed inbox row around its perception.

    `revision` counts edits: a commit is refused when it has changed since the claim. `attempts` counts claims, `voided`
    the cycles that ended because the text changed. `received_ms` is when it was stored, `not_before` when its last
    pause ends (ms). `crowded`: too many conversations of its author waited already. `stopped`: a person wants no
    answer any more. `addressed`: it surely was meant for the soul.
    """

    perception: Perception
    source: Source
    revision: int
    attempts: int
    received_ms: int = 0
    not_before: int = 0
    voided: int = 0
    crowded: bool = False
    stopped: bool = False
    addressed: bool = True

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
        return cls(
            perception,
            Source(row["source"]),
            row["revision"],
            row["attempts"],
            row["received_ms"],
            row["not_before"],
            row["voided"],
            bool(row["crowded"]),
            bool(row["stopped"]),
            bool(row["addressed"]),
        )

    @property
    def id(self) -> str:
        return self.perception.id


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Why a message gets no reply; `stale`: it is too old for one; `alone`: the reason holds for no other message."""

    reason: str
    stale: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply that users see before its cycle commits; `ts` is None when the platform's answer was lost."""

    key: str
    ts: str | None


@dataclass(frozen=True, slots=True)
class ProcessState:
    """The mental process of a conversation, the one before it, its runs so far, its parameters and its memory."""

    process: str = "engaged"
    previous: str = ""
    invocations: int = 0
    params: JSONObject = field(default_factory=dict)
    process_memory: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VisitState:
    """The number of the visit in a conversation, its replies so far, and when the last message was written (ms)."""

    visit: int = 0
    exchanges: int = 0
    spoken_ms: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run one cycle on a conversation; the next claim raises `fence`, and this one is lost.

    `outsider_spoke`: a user who isn't a full member of the workspace wrote in the conversation before.
    `away_told_ms` is when the conversation was last told that messages had become too old to be answered,
    `cap_shown_day` the day on which it read that a cap is met.
    `unreadable` names rows that could not be read: they were parked, or a state began anew. `nonce` fences the words of
    others in the conversation's prompts. `forgotten` counts how often earlier words were edited or deleted there,
    `narrowed` how often a channel of the workspace was made private. `bound` names the session that it is bound to,
    `way` how the soul works in its channel.
    """

    conversation: ConversationKey
    owner: str
    fence: int
    version: int
    audience: Audience
    messages: tuple[InboxMessage, ...]
    draft: Draft | None = None
    state: ProcessState = ProcessState()
    visit_state: VisitState = VisitState()
    outsider_spoke: bool = False
    away_told_ms: int = 0
    cap_shown_day: str = ""
    unreadable: tuple[str, ...] = ()
    nonce: Nonce = NO_NONCE
    forgotten: int = 0
    narrowed: int = 0
    bound: BoundThread | None = None
    way: RoomWay = RoomWay()  # noqa: RUF009 - a frozen value

    def key(self, part: int) -> str:
        """The outbox key of a part of this cycle's reply; a repeated cycle uses the same one."""
        return f"{self.conversation}@{self.version + 1}#{part}"


class Speaks(StrEnum):
    """Who wrote a turn. What is said in a session of Claude Code is its own, and never evidence about people."""

    PERSON = "person"
    SOUL = "soul"
    SESSION = "session"

    @classmethod
    def of(cls, author: str) -> "Speaks":
        """Who speaks to the soul under an author's name: a person, or a session that came with a key."""
        return cls.PERSON if key_of(author) is None else cls.SESSION


class TurnKind(StrEnum):
    """What a turn of the soul is: a reply, one cut by the model's output limit, or an apology in the house's words."""

    REPLY = "reply"
    CUT = "cut"
    APOLOGY = "apology"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message or reply. `thought` is private to the soul; `ts` is of the message, or of the one replied to.

    `model` is the id of the model that said a reply, empty where none did. The four fields from `emotion_signal` on say
    how a message was heard, the next two how a reply was stated (seed 004, section 3). `passing`: its author asked that
    nothing of this be remembered, so that it is neither found nor learned from, and gone when the visit ends.
    """

    speaker: Speaks
    author: str
    name: str
    ts: str
    body: str
    thought: Mapping[str, object] = field(default_factory=dict)
    seq: int = 0
    kind: TurnKind = TurnKind.REPLY
    model: str = ""
    emotion_signal: str = ""
    salience_anchor: tuple[str, ...] = ()
    intent: str = ""
    intent_confidence: float = 0.0
    epistemic_mode: EpistemicMode = PLAINLY_STATED.epistemic_mode
    confidence: float = PLAINLY_STATED.confidence
    passing: bool = False

    def heard_as(self, heard: Heard) -> "Turn":
        """The same message as it was heard; key words that don't stand in it are left out."""
        kept = heard.within(self.body)
        return replace(
            self,
            emotion_signal=kept.emotion_signal,
            salience_anchor=kept.salience_anchor,
            intent=kept.intent,
            intent_confidence=kept.intent_confidence,
        )

    def stated_as(self, stated: Stated) -> "Turn":
        """The same reply as it was stated."""
        return replace(self, epistemic_mode=stated.epistemic_mode, confidence=stated.confidence)

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Turn":
        """Read a `turns` row; what can't be read of its private part or its key words counts as nothing."""
        return read_row(
            cls,
            row,
            speaker=Speaks,
            thought=object_or_nothing,
            kind=TurnKind,
            salience_anchor=_key_words,
            epistemic_mode=EpistemicMode,
            passing=bool,
        )


def object_or_nothing(stored: str) -> JSONObject:
    """A stored JSON object; an empty one where it can't be read, or no reply could ever be made there again."""
    try:
        return json_object(stored)
    except ValueError:
        return {}


def pairs_or_none(stored: str) -> tuple[tuple[str, str], ...]:
    """Stored pairs of words, a JSON list of lists; without those that can't be read, as `object_or_nothing`."""
    try:
        pairs = _json_value(stored)
    except ValueError:
        return ()
    each = pairs if isinstance(pairs, list) else []
    return tuple((str(one[0]), str(one[1])) for one in each if isinstance(one, list) and len(one) == 2)  # noqa: PLR2004 - a pair


def _key_words(stored: str) -> tuple[str, ...]:
    try:
        words = _json_value(stored)
    except ValueError:
        return ()
    return tuple(map(str, words)) if isinstance(words, list) else ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """A post claimed for sending until `lease_until` (ms).

    `doubtful`: an earlier attempt may have posted it, so the platform's history is searched first; `doubted_ms` is
    since when. `faults` counts failures that were not foreseen, `draft_tries` the tries to finish its draft that the
    platform answered but did not do. `note`: it is a line of the daemon's own about another post. `emptied`: it lost
    its words while it waited, so that it can be found, and never sent. `halted`: a person stopped its reply, so that no
    more of it is sent. `unasked`: no one waits for it, so that where it can't be posted it leaves no note.
    In `quiet` hours it isn't sent.
    """

    post: Post
    fence: int
    doubtful: bool
    created_ms: int
    attempts: int
    lease_until: int
    doubted_ms: int | None = None
    faults: int = 0
    draft_tries: int = 0
    note: bool = False
    emptied: bool = False
    halted: bool = False
    unasked: bool = False
    quiet: QuietThere = NEVER_QUIET_THERE

    @classmethod
    def from_row(cls, row: sqlite3.Row, *, doubtful: bool) -> "Delivery":
        """Read an `outbox` row after its claim."""
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
                file=row["file"],
                closes=row["stopped"] == "closing",
                dates=json.loads(row["dates"]),
                answers=tuple(json.loads(row["answers"] or "[]")),
                withdrawn=bool(row["withdrawn"]),
                note=bool(row["note"]),
                nod=Nod(row["nod"], row["nod_to"]) if row["nod"] else None,
            ),
            fence=row["fence"],
            doubtful=doubtful,
            created_ms=row["created_ms"],
            attempts=row["attempts"],
            lease_until=row["lease_until"],
            doubted_ms=row["doubted_ms"],
            faults=row["faults"],
            draft_tries=row["draft_tries"],
            note=bool(row["note"]),
            emptied=bool(row["cleared"]),
            halted=row["stopped"] == "halted",
            unasked=bool(row["unasked"]),
            quiet=QuietThere.parse(row["quiet"]),
        )
