"""The kinds of records as values, with the field names of seed 004."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Literal

from msgspec import field

from daemon.core.perception import Audience
from daemon.core.value import Value


class RecordKind(StrEnum):
    EPISODE = "episode"
    CORE = "core"
    SPHERE = "sphere"
    FACT = "fact"
    SENSE = "sense"
    JOURNAL = "journal"


class Trust(StrEnum):
    """The way a record came to be known.

    `OWN`: the person said it of themselves. `CLAIM`: a user said it of another person. `DOCUMENT`: it was read.
    `INFERRED`: the soul made it from others. `NOTED`: an old note without a quotation, which proves nothing.
    """

    OWN = "own"
    CLAIM = "claim"
    DOCUMENT = "document"
    INFERRED = "inferred"
    NOTED = "noted"


class Record(Value, kw_only=True):
    """The fields of all kinds of records. `text` is searched and shown, and `significance` goes from 1 to 10.

    `audience` may hear the record. With outsiders present it is repeated in `channel` alone. `conversation` is an id,
    `person` the platform id of the person whom it is about. `extra` keeps unknown fields of a passport. The store sets
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


class SituationContext(Value):
    """The reason and place of an event (seed 004, section 2.2)."""

    context_id: str = ""
    interaction_mode: str = "casual"
    stakes_level: str = "low"
    time_pressure: str = "low"
    location_context: str = ""
    domain_area: str = ""
    mission_goal: str = ""
    agent_role: str = ""


class StructuredSummary(Value):
    """The outcome of a visit. `future_implication` follows from `key_outcome` (seed 004, section 2.3 and rule 4)."""

    content: str = ""
    action_taken: str = ""
    key_outcome: str = ""
    future_implication: str = ""


class WorkflowState(Value):
    """The current task, the completed items and the remaining ones (seed 004, section 2.4)."""

    current_task: str = ""
    completed_items: tuple[str, ...] = ()
    pending_items: tuple[str, ...] = ()


NOTHING_LEFT = WorkflowState()


class Episode(Record, kw_only=True):
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


class Core(Episode, kw_only=True):
    """A distillate of eight closed episodes of one audience."""

    kind = RecordKind.CORE


class Sphere(Episode, kw_only=True):
    """A distillate of eight cores of one audience."""

    kind = RecordKind.SPHERE


class Topic(StrEnum):
    ROLE = "role"
    ANSWERING = "answering"
    WORK = "work"
    PREFERENCE = "preference"
    OTHER = "other"


class Fact(Record, kw_only=True):
    """A believed statement. `text` is the line that users read. It holds now while `valid_until_ms` is None.

    `claimed_by` is the platform id of the user who said it. `why_ended` is superseded, retired or wrong.
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


class Qualia(Value):
    """The feel of a sense (seed 004, section 5.2). `intensity` is between 0 and 1."""

    color_hex: str = "#808080"
    texture: str = "neutral"
    soundscape: str = ""
    temperature_feel: str = "neutral"
    intensity: float = 0.5

    @property
    def significance(self) -> int:
        return 4 + round(4 * self.intensity)


class Sense(Record, kw_only=True):
    """A picture, sound or document. `raw_data_ref` is the digest of its bytes, kept as long as a message shows them."""

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


class JournalEntry(Record, kw_only=True):
    """An entry of the soul's journal. It returns in prompts before the same audience, and no command shows it."""

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
"""The class of each kind and the name of its table."""
