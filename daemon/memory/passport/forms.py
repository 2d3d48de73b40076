"""The forms of a passport's files: the seed's fields with defaults, and all our fields under `soul_daemon`.

They are read strictly: a wrong type is refused, a missing field gets its default, an unknown one is kept only in a
record.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from daemon.memory.knowledge.records.kinds import (
    Qualia,
    SituationContext,
    StructuredSummary,
    Topic,
    Trust,
    WorkflowState,
)
from daemon.memory.passport.beside_forms import BESIDE_FORMS, BesideForm
from daemon.memory.passport.form_fields import Count, Form, Moment, OurLink, OurOrigin, Share, Words
from daemon.memory.passport.names import PassportKind
from daemon.memory.records import TurnKind

EpistemicMode = Literal["explore", "hypothesize", "assert", "caution", "reflect"]


class OurRecord(OurOrigin):
    """The fields of every record in addition to the seed's."""

    text: str = ""
    trust: Trust = Trust.NOTED
    significance: Annotated[int, Field(ge=1, le=10)] = 5
    person: str = ""
    links: tuple[OurLink, ...] = ()


class OurEpisode(OurRecord):
    """The fields of an episode, a core or a sphere in addition to the seed's."""

    state: Literal["open", "closing", "closed", "distilled"] = "closed"
    visit: Count = 0
    closed_ms: Moment | None = None


class OurFact(OurRecord):
    """The fields of a fact in addition to the seed's."""

    id: str = ""
    topic: Topic = Topic.OTHER
    claimed_by: str = ""
    valid_from_ms: Moment | None = None
    valid_until_ms: Moment | None = None
    why_ended: str = ""


class OurSense(OurRecord):
    """The fields of a sense in addition to the seed's."""

    name: str = ""
    media_type: str = ""
    bytes: Count = 0


class OurJournal(OurRecord):
    """The fields of a journal entry, for which the seed has no form."""

    tone: str = ""
    tags: Words = ()


class OurTurn(OurOrigin):
    """The fields of a turn in addition to the seed's. `session`: the author is a session of Claude Code."""

    author: str = ""
    name: str = ""
    ts: str = ""
    kind: TurnKind = TurnKind.REPLY
    model: str = ""
    trace_id: str = ""
    session: bool = False
    thought: Mapping[str, object] = Field(default_factory=dict)
    intent_confidence: Share = 0.0


class OurSession(OurOrigin):
    """The fields of a conversation's summary in addition to its words."""

    summarized_to: Annotated[int, Field(ge=-(2**53), le=2**53)] = 0
    version: Count = 1


class EpisodeForm(Form):
    """An episode. A core and a sphere have the same fields under their own ids."""

    type: Literal[PassportKind.EPISODE] = PassportKind.EPISODE
    episode_id: str
    created_at: str | None = None
    persona_id: str = ""
    user_id: str = ""
    session_id: str = ""
    event_id: str = ""
    turn_refs: Words = ()
    sensory_refs: Words = ()
    semantic_refs: Words = ()
    situation_context: SituationContext = SituationContext()
    summary: StructuredSummary = StructuredSummary()
    workflow_state: WorkflowState = WorkflowState()
    state_snapshot: Mapping[str, object] = Field(default_factory=dict)
    tags: Words = ()
    cues: Words = ()
    soul_daemon: OurEpisode = OurEpisode()


class CoreForm(EpisodeForm):
    """The common content of eight episodes."""

    type: Literal[PassportKind.CORE]  # type: ignore[assignment]  # a core is read by its own type alone
    episode_id: str = Field(alias="core_id")


class SphereForm(EpisodeForm):
    """The common content of eight cores."""

    type: Literal[PassportKind.SPHERE]  # type: ignore[assignment]  # a sphere is read by its own type alone
    episode_id: str = Field(alias="sphere_id")


class FactForm(Form):
    """A fact. The seed gives it no id: ours is in `soul_daemon`."""

    type: Literal[PassportKind.FACT] = PassportKind.FACT
    subject: str
    predicate: str
    object: str
    confidence: Share = 0.8
    source: str = "conversation"
    learned_at: str | None = None
    last_accessed: str | None = None
    access_count: Count = 0
    episode_refs: Words = ()
    soul_daemon: OurFact = OurFact()


class SenseForm(Form):
    """A thing seen, heard or read."""

    type: Literal[PassportKind.SENSE] = PassportKind.SENSE
    sensory_id: str
    episode_id: str = ""
    data_type: Literal["image", "audio", "visual_pattern", "text_visual", "document"]
    raw_data_ref: str = ""
    qualia: Qualia = Qualia()
    extracted_features: Mapping[str, object] = Field(default_factory=dict)
    concept_refs: Words = ()
    physio_snapshot: Mapping[str, float] = Field(default_factory=dict)
    created_at: str | None = None
    source: str = "perception"
    soul_daemon: OurSense = OurSense()


class JournalForm(Form):
    """A journal entry: words of the soul for itself."""

    type: Literal[PassportKind.JOURNAL]
    journal_id: str
    created_at: str | None = None
    soul_daemon: OurJournal = OurJournal()


class TurnUserForm(Form):
    """A user's message."""

    type: Literal[PassportKind.TURN_USER] = PassportKind.TURN_USER
    turn_id: str
    episode_id: str = ""
    speaker: Literal["user"] = "user"
    username: str = ""
    user_id: str = ""
    text_excerpt: str = ""
    emotion_signal: str = ""
    intent: str = ""
    salience_anchor: Words = ()
    created_at: str | None = None
    soul_daemon: OurTurn = OurTurn()


class TurnLLMForm(Form):
    """The soul's answer."""

    type: Literal[PassportKind.TURN_LLM] = PassportKind.TURN_LLM
    turn_id: str
    episode_id: str = ""
    speaker: Literal["llm"] = "llm"
    text_excerpt: str = ""
    epistemic_mode: EpistemicMode = "assert"
    confidence: Share = 0.5
    created_at: str | None = None
    soul_daemon: OurTurn = OurTurn()


class SessionForm(Form):
    """The summary of the older turns of a conversation."""

    type: Literal[PassportKind.SESSION]
    session_id: str
    summary: str = ""
    created_at: str | None = None
    soul_daemon: OurSession = OurSession()


RecordForm = EpisodeForm | FactForm | SenseForm | JournalForm
TurnForm = TurnUserForm | TurnLLMForm
AnyForm = RecordForm | TurnForm | SessionForm | BesideForm

FORMS: Final[Mapping[PassportKind, type[AnyForm]]] = {
    PassportKind.EPISODE: EpisodeForm,
    PassportKind.CORE: CoreForm,
    PassportKind.SPHERE: SphereForm,
    PassportKind.FACT: FactForm,
    PassportKind.SENSE: SenseForm,
    PassportKind.JOURNAL: JournalForm,
    PassportKind.TURN_USER: TurnUserForm,
    PassportKind.TURN_LLM: TurnLLMForm,
    PassportKind.SESSION: SessionForm,
    **BESIDE_FORMS,
}

REFERENCES: Final = ("turn_refs", "sensory_refs", "semantic_refs", "episode_refs", "concept_refs")
"""The fields that hold ids of other files, in no particular order."""
