"""Records and turns as files of a passport. Equal memories give equal bytes."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import Episode, Fact, JournalEntry, Record, Sense
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.passport.form_fields import OurLink
from daemon.memory.passport.forms import (
    FORMS,
    REFERENCES,
    AnyForm,
    FactForm,
    JournalForm,
    OurEpisode,
    OurFact,
    OurJournal,
    OurSense,
    OurSession,
    OurTurn,
    RecordForm,
    SenseForm,
    SessionForm,
    TurnForm,
    TurnLLMForm,
    TurnUserForm,
)
from daemon.memory.passport.names import FILE_KINDS, PassportKind, as_time, path_of
from daemon.memory.records import JSONObject, Speaks, Turn

_MOVING: Final[Mapping[str, tuple[str, ...]]] = {
    PassportKind.INTENTION: ("state", "reason", "fired", "due_ms", "settled_ms", "faults", "cue"),
    PassportKind.USER_MODEL: ("modelled_to",),
    PassportKind.SESSION: ("summarized_to",),
}

JSONValue = object

_OWN_WORDS: Final = ("created_at", "learned_at", "last_accessed", "source", "conversation", "episode_id")
"""The fields whose original value is kept if ours would differ: a moment, a room, a missing episode."""


def unknown_in(original: Mapping[str, object], known: Mapping[str, object]) -> dict[str, JSONValue]:
    """Return a file's content without known fields: further fields at any depth, and ids that lead nowhere."""
    rest: dict[str, JSONValue] = {}
    for name, value in original.items():
        if name not in known:
            rest[name] = value
        elif name in REFERENCES and isinstance(value, list):
            ours = known[name]
            assert isinstance(ours, list | tuple)
            if missing := [one for one in value if one not in ours]:
                rest[name] = missing
        elif isinstance(value, Mapping) and isinstance(ours := known[name], Mapping):
            if deeper := unknown_in(value, ours):
                rest[name] = deeper
        elif name in _OWN_WORDS and value != known[name]:
            rest[name] = value
    return rest


def names_in(unknown: Mapping[str, object], within: str = "") -> Iterator[str]:
    """Yield the dotted names of unknown fields, such as `soul_daemon.mood`."""
    for name, value in unknown.items():
        if isinstance(value, Mapping) and value:
            yield from names_in(value, f"{within}{name}.")
        else:
            yield f"{within}{name}"


def shared_with(original: Mapping[str, object], known: Mapping[str, object]) -> dict[str, JSONValue]:
    """Return the fields of a form that its file has too, at any depth."""
    kept: dict[str, JSONValue] = {}
    for name, value in original.items():
        if name in known:
            ours = known[name]
            if isinstance(value, Mapping) and isinstance(ours, Mapping):
                ours = shared_with(value, ours)
            kept[name] = ours
    return kept


def merged(known: Mapping[str, object], unknown: Mapping[str, object]) -> dict[str, JSONValue]:
    """Return the fields of a form with those unknown in its file."""
    whole = dict(known)
    for name, value in unknown.items():
        ours = known.get(name)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            whole[name] = merged(ours, value)
        elif name in REFERENCES and isinstance(ours, list | tuple) and isinstance(value, list):
            whole[name] = [*ours, *(one for one in value if one not in ours)]
        elif name not in known or name in _OWN_WORDS:
            whole[name] = value
    return whole


def without_links(content: Mapping[str, object]) -> dict[str, JSONValue]:
    """Return a file's content without the fields made of its links."""
    kept = {name: value for name, value in content.items() if name not in (*REFERENCES, "episode_id")}
    ours = content.get("soul_daemon")
    if isinstance(ours, Mapping):
        kept["soul_daemon"] = {name: value for name, value in ours.items() if name != "links"}
    return kept


def without_moving(content: Mapping[str, object]) -> dict[str, JSONValue]:
    """Return a file's content without the fields that change by themselves."""
    ours = content.get("soul_daemon")
    if not isinstance(ours, Mapping):
        return dict(content)
    moving = _MOVING.get(str(content.get("type")), ())
    return {**content, "soul_daemon": {name: value for name, value in ours.items() if name not in moving}}


def covers(whole: object, part: object) -> bool:
    """Return True if `whole` contains `part`: fields at any depth, equal lists, ids in any order."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            name in whole
            and (
                set(map(str, value)) <= set(map(str, whole[name]))
                if name in REFERENCES and isinstance(value, list) and isinstance(whole[name], list | tuple)
                else covers(whole[name], value)
            )
            for name, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list | tuple):
        return len(part) == len(whole) and all(map(covers, whole, part))
    return (type(part) is type(whole) and part == whole) or (
        isinstance(part, int | float)
        and isinstance(whole, int | float)
        and not isinstance(part, bool)
        and not isinstance(whole, bool)
        and part == whole
    )


_SEEDS: Final = (Relation.TURN_REFS, Relation.EPISODE_ID, Relation.EPISODE_REFS, Relation.CONCEPT_REFS)


@dataclass(frozen=True, slots=True)
class PassportFile:
    """A file of a passport: its path, the id of its memory, and its content."""

    path: str
    id: str
    content: JSONObject

    @property
    def bytes(self) -> bytes:
        return as_bytes(self.content)


@dataclass(frozen=True, slots=True)
class Ties:
    """The links of a record or turn in both directions, with the passport's ids."""

    outward: Sequence[Link] = ()
    inward: Sequence[Link] = ()

    def to(self, relation: Relation) -> tuple[str, ...]:
        """Return the targets of links from it with a relation."""
        return in_order(one.target for one in self.outward if one.relation is relation)

    def by(self, relation: Relation) -> tuple[str, ...]:
        """Return the origins of links to it with a relation."""
        return in_order(one.origin for one in self.inward if one.relation is relation)

    @property
    def ours(self) -> tuple[OurLink, ...]:
        kept = [one for one in self.outward if one.quote or one.relation not in _SEEDS]
        return tuple(
            OurLink(relation=one.relation, target=one.target, quote=one.quote)
            for one in sorted(kept, key=lambda one: (one.relation, _number(one.target)))
        )


def as_bytes(content: object) -> bytes:
    """Return JSON in UTF-8 with sorted keys, the same for equal values."""
    return (json.dumps(content, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()


def in_order(ids: Iterable[str]) -> tuple[str, ...]:
    """Return distinct ids in the order of their numbers."""
    return tuple(sorted(set(ids), key=_number))


def content_of(form: AnyForm) -> JSONObject:
    content: JSONObject = form.model_dump(mode="json", by_alias=True)
    return content


def file_of_record(record: Record, ties: Ties) -> PassportFile:
    kind = FILE_KINDS[record.kind]
    subject = record.subject if isinstance(record, Fact) else ""
    path = path_of(kind, record.id, record.at_ms, subject)
    return PassportFile(path, record.id, merged(content_of(_form(record, ties)), record.extra))


def file_of_turn(row: sqlite3.Row, name: str, episode_id: str) -> PassportFile:
    """Return the file of a turn under its id in passports. `row` also has its `place`."""
    turn = Turn.from_row(row)
    kind = PassportKind.TURN_LLM if turn.speaker is Speaks.SOUL else PassportKind.TURN_USER
    soul, workspace, channel, _ = row["conversation"].split("/")
    ours = OurTurn(
        soul=soul,
        workspace=workspace,
        audience=row["audience"],
        channel=channel,
        conversation=row["conversation"],
        place=row["place"],
        author="" if kind is PassportKind.TURN_USER else turn.author,
        name="" if kind is PassportKind.TURN_USER else turn.name,
        ts=turn.ts,
        kind=turn.kind,
        model=turn.model,
        trace_id=row["trace_id"],
        session=turn.speaker is Speaks.SESSION,
        thought=turn.thought,
        intent_confidence=turn.intent_confidence,
    )
    created = as_time(row["said_ms"])
    form: TurnForm
    if kind is PassportKind.TURN_USER:
        form = TurnUserForm(
            turn_id=name,
            episode_id=episode_id,
            username=turn.name,
            user_id=turn.author,
            text_excerpt=turn.body,
            emotion_signal=turn.emotion_signal,
            intent=turn.intent,
            salience_anchor=turn.salience_anchor,
            created_at=created,
            soul_daemon=ours,
        )
    else:
        form = TurnLLMForm(
            turn_id=name,
            episode_id=episode_id,
            text_excerpt=turn.body,
            epistemic_mode=turn.epistemic_mode.value,
            confidence=turn.confidence,
            created_at=created,
            soul_daemon=ours,
        )
    return PassportFile(path_of(kind, name, row["said_ms"]), name, content_of(form))


def session_id(conversation: str) -> str:
    return f"SESS_{hashlib.sha256(conversation.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def file_of_session(row: sqlite3.Row) -> PassportFile:
    """Return the file of a `working_memory` row with the columns of its conversation."""
    name = session_id(row["conversation"])
    form = SessionForm(
        type=PassportKind.SESSION,
        session_id=name,
        summary=row["summary"],
        created_at=as_time(row["updated_ms"]),
        soul_daemon=OurSession(
            soul=row["soul"],
            workspace=row["workspace"],
            audience=row["audience"],
            channel=row["channel"],
            conversation=row["conversation"],
            place=row["place"],
            summarized_to=row["summarized_to"],
            version=row["version"],
        ),
    )
    return PassportFile(path_of(PassportKind.SESSION, name, row["updated_ms"]), name, content_of(form))


def _form(record: Record, ties: Ties) -> RecordForm:
    match record:
        case Fact():
            return _fact(record, ties)
        case Sense():
            return _sense(record, ties)
        case JournalEntry():
            ours = OurJournal(**_common(record, ties), tone=record.tone, tags=record.tags)
            return JournalForm(
                type=PassportKind.JOURNAL, journal_id=record.id, created_at=as_time(record.at_ms), soul_daemon=ours
            )
        case Episode():
            return _episode(record, ties)
        case _:
            raise AssertionError(f"no form for {record.kind}")


def _episode(record: Episode, ties: Ties) -> RecordForm:
    kind = FILE_KINDS[record.kind]
    name = {PassportKind.CORE: "core_id", PassportKind.SPHERE: "sphere_id"}.get(kind, "episode_id")
    values: Mapping[str, object] = {
        "type": kind,
        name: record.id,
        "created_at": as_time(record.at_ms),
        "persona_id": record.persona_id,
        "user_id": record.person,
        "session_id": record.session_id,
        "event_id": record.event_id,
        "turn_refs": ties.to(Relation.TURN_REFS),
        "sensory_refs": ties.by(Relation.EPISODE_ID),
        "semantic_refs": ties.by(Relation.EPISODE_REFS),
        "situation_context": record.situation,
        "summary": record.summary,
        "workflow_state": record.workflow,
        "state_snapshot": record.state_snapshot,
        "tags": record.tags,
        "cues": record.cues,
        "soul_daemon": OurEpisode(
            **_common(record, ties), state=record.state, visit=record.visit, closed_ms=record.closed_ms
        ),
    }
    return FORMS[kind](**values)  # type: ignore[return-value,arg-type]  # the form of its kind, with the seed's names


def _fact(record: Fact, ties: Ties) -> FactForm:
    return FactForm(
        subject=record.subject,
        predicate=record.predicate,
        object=record.object,
        confidence=record.confidence,
        learned_at=as_time(record.at_ms),
        last_accessed=None if record.used_ms is None else as_time(record.used_ms),
        access_count=record.used,
        episode_refs=ties.to(Relation.EPISODE_REFS),
        soul_daemon=OurFact(
            **_common(record, ties),
            id=record.id,
            topic=record.topic,
            claimed_by=record.claimed_by,
            valid_from_ms=record.valid_from_ms,
            valid_until_ms=record.valid_until_ms,
            why_ended=record.why_ended,
        ),
    )


def _sense(record: Sense, ties: Ties) -> SenseForm:
    return SenseForm(
        sensory_id=record.id,
        episode_id=next(iter(ties.to(Relation.EPISODE_ID)), ""),
        data_type=record.data_type,
        raw_data_ref=record.raw_data_ref,
        qualia=record.qualia,
        extracted_features=record.features,
        concept_refs=ties.to(Relation.CONCEPT_REFS),
        physio_snapshot=record.physio_snapshot,
        created_at=as_time(record.at_ms),
        source=record.source,
        soul_daemon=OurSense(
            **_common(record, ties), name=record.name, media_type=record.media_type, bytes=record.bytes
        ),
    )


def _common(record: Record, ties: Ties) -> dict[str, Any]:
    return {
        "soul": record.soul,
        "workspace": record.workspace,
        "audience": str(record.audience),
        "channel": record.channel,
        "conversation": record.conversation,
        "text": record.text,
        "trust": record.trust,
        "significance": record.significance,
        "person": record.person,
        "links": ties.ours,
    }


def _number(name: str) -> tuple[str, int, str]:
    head, _, tail = name.rpartition("_")
    return (head, int(tail), "") if tail.isascii() and tail.isdigit() else (name, 0, "")
