"""The values that go into and come out of memory.db: inbox messages, claims, states, turns, claimed posts."""

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from msgspec import field
from msgspec.structs import replace

from daemon.core.fencing import NO_NONCE, Nonce
from daemon.core.initiative import NEVER_QUIET_THERE, QuietThere
from daemon.core.perception import Audience, ConversationKey, Modality, Perception, Place
from daemon.core.ports.arrivals import Source
from daemon.core.ports.library import Post, ReactionReply
from daemon.core.questions import BoundThread
from daemon.core.room_ways import ChannelSettings
from daemon.core.sessions import key_of
from daemon.core.step import PLAINLY_STATED, EpistemicMode, Heard, Stated
from daemon.core.value import Value
from daemon.memory.database.sqlite import sqlite3

T = TypeVar("T", bound=Value)

JSONObject = Mapping[str, object]
Row = Mapping[str, Any]
"""A row as a command shows it: its columns by their names."""


IN_PRIVATE: Final = "!own:"
"""The part of a post's key that marks a post to one person alone."""


def as_json(value: object) -> str:
    """Return JSON text that is the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def json_object(text: str) -> JSONObject:
    """Read a JSON object that `as_json` wrote. Raises ValueError for anything else."""
    value = json_value(text)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  # it is text that can't be read
    return value


def json_value(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def read_row(record: type[T], row: sqlite3.Row, **decoders: Callable[..., object]) -> T:
    """Make a value from the columns of equal names. `decoders` convert columns by their names."""
    values = {name: row[name] for name in record.__struct_fields__}
    return record(**values | {name: decode(values[name]) for name, decode in decoders.items()})


def conversation_columns(key: ConversationKey) -> dict[str, str]:
    return {"conversation": str(key), "soul": key.soul, "workspace": key.workspace}


class Worker(Value):
    """A daemon that works for one soul in one workspace. A claim without renewal lapses after `lease_ms`."""

    id: str
    soul: str
    workspace: str
    lease_ms: int

    @property
    def scope(self) -> dict[str, str]:
        return {"soul": self.soul, "workspace": self.workspace}


class InboxMessage(Value):
    """A claimed inbox row with its perception.

    `revision` counts edits: a commit is refused if it changed since the claim. `attempts` counts claims, `voided` the
    cycles that ended because the text changed. `not_before` is the end of the last pause (ms). `crowded`: too many
    conversations of its author waited already. `stopped`: a user wants no answer any more. `addressed`: the message was
    surely meant for the soul.
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


class Dismissal(Value):
    """The reason for no reply. `stale`: the message is too old. `alone`: only for this message."""

    reason: str
    stale: bool = False
    alone: bool = False


class Draft(Value):
    """A reply that users see before its cycle commits. `ts` is None if Slack's response was lost."""

    key: str
    ts: str | None


class ProcessState(Value):
    """The mental process of a conversation, the one before it, its runs so far, its parameters and its memory."""

    process: str = "engaged"
    previous: str = ""
    invocations: int = 0
    params: JSONObject = field(default_factory=dict)
    process_memory: JSONObject = field(default_factory=dict)


class VisitState(Value):
    """The number of the visit in a conversation, its replies so far, and when the last message was written (ms)."""

    visit: int = 0
    exchanges: int = 0
    spoken_ms: int = 0


class Claim(Value):
    """The right to run one cycle on a conversation. The next claim raises `fence` and ends this one.

    `outsider_spoke`: a user who isn't a full member of the workspace wrote there before. `away_told_ms` is the last
    time when the conversation read that messages were too old for an answer. `cap_shown_day` is the day on which it
    read that a cap is met. `unreadable` names rows that could not be read: they were parked, or a state began again.
    `nonce` fences the words of others in prompts. `forgotten` counts edits and deletions of earlier words there.
    `narrowed` counts channels of the workspace that became private. `bound` is the session's binding, `way` the soul's
    settings for the channel.
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
    way: ChannelSettings = ChannelSettings()

    def key(self, part: int) -> str:
        """Return the outbox key of a part of this cycle's reply. A repeated cycle uses equal keys."""
        return f"{self.conversation}@{self.version + 1}#{part}"


class Speaks(StrEnum):
    """The author of a turn. Words from a session of Claude Code are its own, and never evidence about people."""

    PERSON = "person"
    SOUL = "soul"
    SESSION = "session"

    @classmethod
    def of(cls, author: str) -> "Speaks":
        """Return SESSION for the name of a session's key, else PERSON."""
        return cls.PERSON if key_of(author) is None else cls.SESSION


class TurnKind(StrEnum):
    """The kind of a soul's turn: a reply, one cut by the model's output limit, or a fixed apology."""

    REPLY = "reply"
    CUT = "cut"
    APOLOGY = "apology"


class Turn(Value):
    """A message or a reply. `thought` is private to the soul.

    `ts` is that of the message, or of the one replied to. `model` is empty if no model wrote it. The four fields from
    `emotion_signal` on say how a message was understood, the next two how a reply was stated (seed 004, section 3).
    `passing`: the author asked to remember nothing of it. It is not found or learned from, and is deleted when the
    visit ends.
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
        """Return the message with what was heard in it. Key words that it doesn't contain are left out."""
        kept = heard.within(self.body)
        return replace(
            self,
            emotion_signal=kept.emotion_signal,
            salience_anchor=kept.salience_anchor,
            intent=kept.intent,
            intent_confidence=kept.intent_confidence,
        )

    def stated_as(self, stated: Stated) -> "Turn":
        return replace(self, epistemic_mode=stated.epistemic_mode, confidence=stated.confidence)

    @classmethod
    def from_row(cls, row: sqlite3.Row) -> "Turn":
        """Read a `turns` row. Unreadable private parts and key words become empty."""
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
    """Read a stored JSON object, or an empty one if unreadable: otherwise every later reply there would fail."""
    try:
        return json_object(stored)
    except ValueError:
        return {}


def pairs_or_none(stored: str) -> tuple[tuple[str, str], ...]:
    """Read stored pairs of words, a JSON list of lists, without those that are unreadable."""
    try:
        pairs = json_value(stored)
    except ValueError:
        return ()
    each = pairs if isinstance(pairs, list) else []
    return tuple((str(one[0]), str(one[1])) for one in each if isinstance(one, list) and len(one) == 2)  # noqa: PLR2004 - a pair


def _key_words(stored: str) -> tuple[str, ...]:
    try:
        words = json_value(stored)
    except ValueError:
        return ()
    return tuple(map(str, words)) if isinstance(words, list) else ()


class Delivery(Value):
    """A post claimed for sending until `lease_until` (ms).

    `doubtful`: an earlier attempt, since `doubted_ms`, may have posted it. Slack's history is searched first. `faults`
    counts unforeseen failures. `draft_tries` counts Slack's refusals to finish its draft. `note`: a line of the daemon
    about another post. `emptied`: the post lost its words while it waited. It can be found, and is never sent.
    `halted`: a user stopped its reply. `unasked`: no user waits for it. If it can't be posted, it leaves no note. In
    `quiet` hours it isn't sent.
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
                nod=ReactionReply(row["nod"], row["nod_to"]) if row["nod"] else None,
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
