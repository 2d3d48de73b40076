"""The kinds of records as dataclasses, with the field names of seed 004."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

from daemon.core.perception import Audience


class RecordKind(StrEnum):
    """What a record is."""

    EPISODE = "episode"
    CORE = "core"
    SPHERE = "sphere"
    FACT = "fact"
    SENSE = "sense"
    JOURNAL = "journal"


class Trust(StrEnum):
    """How a record came to be known.

    `OWN`: its person said it of themselves; `CLAIM`: somebody said it of another; `DOCUMENT`: it was read; `INFERRED`:
    the soul made it from others; `NOTED`: it is an old note without a quotation, and proves nothing.
    """

    OWN = "own"
    CLAIM = "claim"
    DOCUMENT = "document"
    INFERRED = "inferred"
    NOTED = "noted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What all kinds have.

    `audience` may ever hear it, and before outsiders it is told in `channel` alone. `conversation` is the id of the one
    it comes from, `person` the platform id of whom it is about. `text` is the line that is searched and shown;
    `significance` goes from 1 to 10. `extra` keeps fields of a passport that this program doesn't know. The store sets
    `id`, `seq` and `created_ms`.
    """

    kind: ClassVar[RecordKind]

    soul: str
    workspace: str
    audience: Audience
    channel: str
    text: str
    at_ms: int
    trust: Trust
    significance: int = 5
    conversation: str | None = None
    person: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)
    id: str = ""
    seq: int = 0
    created_ms: int = 0


@dataclass(frozen=True, slots=True)
class SituationContext:
    """Why and where something happened (seed 004, section 2.2)."""

    context_id: str = ""
    interaction_mode: str = "casual"
    stakes_level: str = "low"
    time_pressure: str = "low"
    location_context: str = ""
    domain_area: str = ""
    mission_goal: str = ""
    agent_role: str = ""


@dataclass(frozen=True, slots=True)
class StructuredSummary:
    """What came of it; `future_implication` follows from `key_outcome` (seed 004, section 2.3 and rule 4)."""

    content: str = ""
    action_taken: str = ""
    key_outcome: str = ""
    future_implication: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowState:
    """What is being worked on, what is done and what is left (seed 004, section 2.4)."""

    current_task: str = ""
    completed_items: tuple[str, ...] = ()
    pending_items: tuple[str, ...] = ()


NOTHING_LEFT = WorkflowState()
"""Nothing is being worked on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Record):
    """A visit: open while it goes on, `closing` until it is looked through, distilled once a core was made of it."""

    kind = RecordKind.EPISODE

    state: Literal["open", "closing", "closed", "distilled"] = "open"
    persona_id: str = ""
    event_id: str = ""
    session_id: str = ""
    visit: int = 0
    situation: SituationContext = SituationContext()
    summary: StructuredSummary = StructuredSummary()
    workflow: WorkflowState = WorkflowState()
    state_snapshot: Mapping[str, object] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    closed_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Core(Episode):
    """What eight closed episodes of one audience have in common."""

    kind = RecordKind.CORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphere(Episode):
    """What eight cores of one audience have in common."""

    kind = RecordKind.SPHERE


class Topic(StrEnum):
    """The group of a fact about a person."""

    ROLE = "role"
    ANSWERING = "answering"
    WORK = "work"
    PREFERENCE = "preference"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Record):
    """Something believed; `text` is the line that users read. Valid now while `valid_until_ms` is None.

    `claimed_by` is the platform id of who said it; `why_ended` is superseded, retired or wrong.
    """

    kind = RecordKind.FACT

    subject: str
    predicate: str
    object: str
    topic: Topic = Topic.OTHER
    confidence: float = 0.8
    claimed_by: str = ""
    valid_from_ms: int
    valid_until_ms: int | None = None
    why_ended: str = ""
    used: int = 0
    used_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Qualia:
    """How something felt (seed 004, section 5.2); `intensity` is between 0 and 1."""

    color_hex: str = "#808080"
    texture: str = "neutral"
    soundscape: str = ""
    temperature_feel: str = "neutral"
    intensity: float = 0.5

    @property
    def significance(self) -> int:
        return 4 + round(4 * self.intensity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sense(Record):
    """Something seen, heard or read; its bytes lie under `raw_data_ref`, a digest, as long as a message shows them."""

    kind = RecordKind.SENSE

    data_type: Literal["image", "audio", "visual_pattern", "text_visual", "document"]
    source: str = "perception"
    name: str = ""
    media_type: str = ""
    raw_data_ref: str = ""
    bytes: int = 0
    qualia: Qualia = Qualia()
    features: Mapping[str, object] = field(default_factory=dict)
    physio_snapshot: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry(Record):
    """Words of the soul for itself: thought again before the same audience, shown by no command."""

    kind = RecordKind.JOURNAL

    tone: str = ""
    tags: tuple[str, ...] = ()


KINDS: Mapping[RecordKind, tuple[type[Record], str]] = {
    RecordKind.EPISODE: (Episode, "episodes"),
    RecordKind.CORE: (Core, "episodes"),
    RecordKind.SPHERE: (Sphere, "episodes"),
    RecordKind.FACT: (Fact, "facts"),
    RecordKind.SENSE: (Sense, "senses"),
    RecordKind.JOURNAL: (JournalEntry, "journal"),
}
"""The class of each kind and its table beside `records`."""
