"""Memories of every kind, at random and by hand, and the folders that hold them as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.step import EpistemicMode
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import (
    Core,
    Episode,
    Fact,
    JournalEntry,
    Qualia,
    Record,
    Sense,
    SituationContext,
    Sphere,
    StructuredSummary,
    Topic,
    Trust,
    WorkflowState,
)
from daemon.memory.knowledge.records.links import Link, Relation, turn_id
from daemon.memory.knowledge.records.store import put
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn

DAY: Final = 1_769_558_400_000
WHERE: Final = ConversationKey("minoan", "T1", "D1")
HERE: Final = Audience(AudienceKind.DM, "D1")
SAID: Final = "I keep bees on the roof, and I work on billing"

EPISODE: Final = {
    "episode_id": "EP_001",
    "turn_refs": ["TU_001", "TL_001"],
    "situation_context": {
        "location_context": "mobile_ssh",
        "agent_role": "Senior Dev",
        "mission_goal": "Refactor MSP",
    },
    "summary": {
        "action_taken": "Proposed File-per-Record architecture",
        "key_outcome": "User approved the change",
        "future_implication": "Redesign episodic.py",
    },
    "workflow_state": {
        "current_task": "Update episodic schema",
        "completed_items": ["Research ADR-005"],
        "pending_items": ["Update verify_episodic.py", "Commit changes"],
    },
}
SENSE: Final = {
    "sensory_id": "SMEM_001",
    "episode_id": "EP_001",
    "data_type": "visual_pattern",
    "qualia": {"color_hex": "#E6E6FA", "texture": "soft", "intensity": 0.8},
    "physio_snapshot": {"dopamine": 0.7},
}
"""The samples of seed 004, sections 7 and 8, as they stand there."""

COMMON: Final[dict[str, Any]] = {"soul": "minoan", "workspace": "T1", "audience": HERE, "channel": "D1", "at_ms": DAY}
BEES = Fact(
    **COMMON,
    text="keeps bees",
    trust=Trust.OWN,
    person="U1",
    claimed_by="U1",
    subject="U1",
    predicate="keeps",
    object="bees",
    valid_from_ms=DAY,
)
MADE: list[Record] = [
    Episode(**COMMON, text="They spoke of bees", trust=Trust.INFERRED, conversation=str(WHERE)),
    BEES,
    Sense(**COMMON, text="a hive", trust=Trust.DOCUMENT, data_type="image"),
    JournalEntry(**COMMON, text="I like her", trust=Trust.INFERRED),
]
ANSWER = Turn(Speaks.SOUL, "minoan", "Kothar", "1.0", "Bees, then!")
"""A memory of most kinds, as `remember` links them."""

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(words, values, max_size=3)
shares = st.floats(0, 1)
several = st.lists(words, max_size=3).map(tuple)
moments = st.integers(0, 4_000_000_000_000)
_common = {
    "soul": st.just("minoan"),
    "workspace": st.just("T1"),
    "audience": st.just(HERE),
    "channel": st.just("D1"),
    "conversation": st.sampled_from([None, str(WHERE)]),
    "text": words,
    "at_ms": moments,
    "significance": st.integers(1, 10),
    "person": st.sampled_from(["", "U1"]),
    "extra": objects.map(lambda found: {f"x-{name}": value for name, value in found.items()}),
}
_episode = {
    "state": st.sampled_from(["open", "closing", "closed", "distilled"]),
    "event_id": words,
    "session_id": words,
    "visit": st.integers(0, 9),
    "persona_id": words,
    "situation": st.builds(SituationContext, *[words] * 8),
    "summary": st.builds(StructuredSummary, words, words, words, words),
    "workflow": st.builds(WorkflowState, words, several, several),
    "state_snapshot": objects,
    "tags": several,
    "cues": several,
    "closed_ms": st.none() | moments,
    "trust": st.sampled_from(Trust),
}
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(Episode, **_common, **_episode),
    st.builds(Core, **_common, **_episode),
    st.builds(Sphere, **_common, **_episode),
    st.builds(
        Fact,
        **_common,
        subject=words,
        predicate=words,
        object=words,
        topic=st.sampled_from(Topic),
        trust=st.sampled_from(Trust),
        confidence=shares,
        claimed_by=st.sampled_from(["", "U1"]),
        valid_from_ms=moments,
        valid_until_ms=st.none() | moments,
        why_ended=words,
        used=st.integers(0, 9),
        used_ms=st.none() | moments,
    ),
    st.builds(
        Sense,
        **_common,
        data_type=st.sampled_from(["image", "audio", "visual_pattern", "text_visual", "document"]),
        trust=st.just(Trust.DOCUMENT),
        source=words,
        name=words,
        media_type=words,
        raw_data_ref=words,
        bytes=st.integers(0, 2**40),
        qualia=st.builds(Qualia, words, words, words, words, shares),
        features=objects,
        physio_snapshot=st.dictionaries(words, shares, max_size=2),
    ),
    st.builds(JournalEntry, **_common, trust=st.just(Trust.INFERRED), tone=words, tags=several),
)
turns = st.one_of(
    st.builds(
        Turn,
        st.just(Speaks.PERSON),
        st.just("U1"),
        words,
        words,
        words,
        thought=objects,
        emotion_signal=words,
        salience_anchor=several,
        intent=words,
        intent_confidence=shares,
    ),
    st.builds(
        Turn,
        st.just(Speaks.SOUL),
        st.just("minoan"),
        words,
        words,
        words,
        model=words,
        epistemic_mode=st.sampled_from(EpistemicMode),
        confidence=shares,
    ),
)


async def remember(transaction: Transaction, said: list[Turn], made: list[Record]) -> None:
    """Store turns and records, the records linked to what was stored before as their kinds allow."""
    await open_conversation(transaction, WHERE, Place.DM, HERE, DAY)
    first = Turn(Speaks.PERSON, "U1", "Ann", "1.0", SAID)
    seqs = await store_turns(transaction, [first, *said], conversation=WHERE, audience=HERE, trace_id="t", now=DAY)
    proof = turn_id(Speaks.PERSON, seqs[0])
    last: dict[str, str] = {}
    for record in made:
        stored = await put(transaction, record, DAY, _links_of(record, proof, last))
        last[stored.kind] = stored.id


def _links_of(record: Record, proof: str, last: Mapping[str, str]) -> list[Link]:
    """To the first turn, and to the last record of each kind that the seed links this one with."""
    known = {
        "fact": [(Relation.EPISODE_REFS, "episode"), (Relation.SUPERSEDES, "fact")],
        "sense": [(Relation.EPISODE_ID, "episode"), (Relation.CONCEPT_REFS, "fact")],
        "core": [(Relation.SOURCES, "episode")],
        "sphere": [(Relation.SOURCES, "core")],
        "journal": [(Relation.SOURCES, "episode")],
    }
    links = [Link("", relation, last[kind]) for relation, kind in known.get(record.kind, ()) if kind in last]
    if record.kind == "fact":
        links.append(Link("", Relation.EVIDENCE, proof, "I keep bees on the roof"))
    return links if record.kind != "episode" else [Link("", Relation.TURN_REFS, proof)]


async def summarize(transaction: Transaction, summary: str, up_to: int, version: int) -> None:
    """Give the conversation a summary of its older turns."""
    await transaction.insert(
        "working_memory",
        conversation=str(WHERE),
        version=version,
        audience=str(HERE),
        summary=summary,
        summarized_to=up_to,
        updated_ms=DAY,
    )


def write(folder: Path, **files: object) -> Path:
    """A folder with these files, as JSON; text stands there as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
