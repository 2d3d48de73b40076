"""The kinds of files in a passport, each declared once: ids, paths and fields follow from the declarations."""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple

from msgspec import field
from msgspec.structs import replace

from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.knowledge.records.links import Relation
from daemon.memory.mirror_folders import FOLDER
from daemon.memory.queues.intention_rows import FOR_PEOPLE

SUFFIX: Final = ".json"
PEOPLE: Final = ("author", "person", "subject", "claimed_by", "behalf")
"""The columns that hold the platform id of a person."""

_ORIGIN: Final = ("soul", "workspace", "channel", "place")  # of the conversation, for tables without these columns
_LATEST_MS: Final = 253_402_300_799_999  # the last moment of the year 9999
_MOST: Final = 2**53
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_REST: Final = r"(?:_[A-Za-z0-9]{1,16}){1,3}"
_TYPES: Final[Mapping[str, type]] = {"TEXT": str, "INTEGER": int, "REAL": float, "'{}'": dict, "'[]'": list}
_SAID: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number within bounds",
    float: "a number from 0 to 1",
    dict: "an object",
    list: "a list of texts",
}


class Column(NamedTuple):
    """A column of memory.db. JSON in a column is an object or a list in a file."""

    name: str
    table: str
    type: type
    nullable: bool = True
    has_default: bool = True

    def require(self, value: object) -> None:
        """Raise ValueError if a value has another type than the column, or is out of bounds."""
        sound = isinstance(value, self.type)
        if value is None:
            sound = self.nullable
        elif self.type in {int, float}:
            lowest = -_MOST if self.name == "summarized_to" else 0  # below 0: it covers no turn yet
            highest = 1 if self.type is float else _LATEST_MS if self.name.endswith("_ms") else _MOST
            sound = type(value) in {int, self.type} and lowest <= value <= highest  # type: ignore[operator]  # numbers
        elif isinstance(value, list):
            sound = sound and all(isinstance(one, str) for one in value)
        if not sound:
            raise ValueError(f"it should be {_SAID[self.type]}")


class Ref(NamedTuple):
    """The links behind a field with ids of other files, from this one or with `inward` to it."""

    relation: Relation
    inward: bool = False
    many: bool = True


Row = sqlite3.Row | Mapping[str, Any]
"""The columns of a row, stored or as a file has them."""


class PassportKind(Value):
    """A kind of file: the rows `only` of a table, joined with those of the same id in the table `detail`.

    `fields` gives columns the names of seed 004. A moment is an ISO time there, and the first field is that of the
    file. The other columns go under `soul_daemon` by their own names, except those that stay `here`. `refs` are fields
    made of links, `says` are fields with one value. `key` finds a row. A kind with `defaults` may lack fields, as files
    of other programs do. `moving` columns change by themselves. `up_to` is the newest turn that a row covers. `told`: a
    row is made of a whole conversation, room or DM.
    """

    name: str
    prefix: str
    folder: str
    table: str
    fields: Mapping[str, str]
    key: tuple[str, ...] = ("id",)
    id_field: str | None = None  # by default the name and `_id`; '' is `soul_daemon.id`
    only: str = "TRUE"
    detail: str = ""
    record: RecordKind | None = None
    split_by: str = ""
    here: Collection[str] = ()
    says: Mapping[str, str] = field(default_factory=dict)
    refs: Mapping[str, Ref] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    json: Mapping[str, type] = field(default_factory=dict)
    moving: Collection[str] = ()
    up_to: str = ""
    told: Literal["", "conversation", "channel", "dm"] = ""
    columns: Mapping[str, Column] = field(default_factory=dict)

    @property
    def is_turn(self) -> bool:
        return self.table == "turns"

    @property
    def id_name(self) -> str:
        return f"{self.name}_id" if self.id_field is None else self.id_field

    @property
    def at(self) -> str:
        return next(iter(self.fields.values()))

    @property
    def select(self) -> str:
        detail = f" LEFT JOIN {self.detail} d ON d.id = b.id" if self.detail else ""
        shown = ", (SELECT p.id FROM passport_turns p WHERE p.seq = b.seq) AS shown" if self.is_turn else ""
        only = f"kind = '{self.record}'" if self.record else self.only
        room = [f", c.{one.name}" for one in self.columns.values() if one.table == "conversations"]
        joined = " LEFT JOIN conversations c ON c.id = b.conversation" if room else ""
        return f"""
            SELECT b.rowid AS row_number, b.*{", d.*" * bool(detail)}{"".join(room)}{shown}
            FROM {self.table} b{detail}{joined} WHERE {only}
        """  # noqa: S608 - literals of this module and columns of the schema

    def shown(self, column: str) -> str:
        """Return the name of a column in files."""
        return next((name for name, one in self.fields.items() if one == column), f"soul_daemon.{column}")

    def require(self, values: Mapping[str, object]) -> None:
        """Raise ValueError with the reason if the values of columns are those of no such file."""
        for name, column in self.columns.items():
            try:
                if name in values:
                    column.require(values[name])
            except ValueError as error:
                raise ValueError(f"it is no {self.name}: {self.shown(name)}: {error}") from None

    def named(self, row: Row) -> str:
        """Return the id of a row's file. One without an id gets one made of its key."""
        if self.is_turn:
            return row["shown"] or f"{self.prefix}_{row['seq']}"
        if self.key == ("id",):
            return str(row["id"]) if self.record else f"{self.prefix}_{row['id']}"
        parts = json.dumps([row[one] for one in self.key if one != "version"])
        made = _digest(row["conversation"] if self.prefix == "SESS" else parts)[:16]
        return f"{self.prefix}_{made}" + (f"_{row['version']}" if "version" in self.key else "")

    def is_id(self, name: str) -> bool:
        """Return True for an id of the kind: its prefix and up to three short parts."""
        return re.fullmatch(self.prefix + _REST, name, re.ASCII) is not None

    def path(self, name: str, row: Row) -> str:
        """Return the path of a file within the passport. Raises ValueError for an invalid id."""
        if not self.is_id(name):
            raise ValueError("its id is none of its kind")
        folder = dt.datetime.fromtimestamp(row[self.at] / 1000, dt.UTC).strftime(self.folder)
        if self.split_by:
            folder += f"/{_digest(row[self.split_by])[:2]}"
        return f"{FOLDER}/{folder}/{name}{SUFFIX}"


async def kinds_of(transaction: Transaction) -> Mapping[str, PassportKind]:
    """Return the kinds by their names, with the columns that their files have."""
    return {one.name: replace(one, columns=await _columns(transaction, one)) for one in KINDS}


async def _columns(transaction: Transaction, kind: PassportKind) -> Mapping[str, Column]:
    found: dict[str, Column] = {}
    for table in filter(None, (kind.table, kind.detail)):
        for row in await transaction.rows(f"PRAGMA table_info({table})"):
            name, default = row["name"], row["dflt_value"]
            of = kind.json.get(name) or _TYPES.get(default) or _TYPES[row["type"]]
            column = Column(name, table, of, nullable=not row["notnull"], has_default=default is not None)
            if name not in kind.here:
                found.setdefault(name, column)
    if "conversation" in found:
        for name in _ORIGIN:
            found.setdefault(name, Column(name, "conversations", str))
    return found


def shown_as(column: str, value: object) -> object:
    """Return the value of a column as a field of the seed: a moment is an ISO time in UTC, with milliseconds."""
    if not (column.endswith("_ms") and isinstance(value, int)):
        return value
    moment = dt.datetime.fromtimestamp(value // 1000, dt.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{value % 1000:03d}Z"


def read_time(text: object) -> int:
    """Return the moment of a text in ms. Without a zone the text is UTC. Raises ValueError."""
    if not isinstance(text, str) or not _DAY.match(text):
        raise ValueError("it names no moment")
    moment = dt.datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    at_ms = (moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)
    if not 0 <= at_ms <= _LATEST_MS:
        raise ValueError("it names a moment too long ago or too far ahead")
    return at_ms


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _fields(text: str) -> Mapping[str, str]:
    """Return the columns of fields by their names in the seed, from `name=column` or the one name of both."""
    pairs = (one.partition("=") for one in text.split())
    return {name: column or name for name, _, column in pairs}


_MODEL: Final = ("soul", "workspace", "person", "audience")

_TURN: Final = PassportKind(
    "turn_user",
    "TU",
    "turns/user/%Y/%m",
    "turns",
    _fields("created_at=said_ms text_excerpt=body user_id=author username=name emotion_signal intent salience_anchor"),
    key=("seq",),
    id_field="turn_id",
    only="speaker <> 'soul' AND passing = 0",
    here=("seq", "passing"),
    says={"speaker": "user"},
    refs={"episode_id": Ref(Relation.TURN_REFS, inward=True, many=False)},
    defaults=dict.fromkeys(("author", "name", "ts", "body", "trace_id"), ""),
)
_JOURNAL: Final = PassportKind(
    "journal",
    "JN",
    "journal/%Y/%m",
    "records",
    _fields("created_at=at_ms"),
    detail="journal",
    record=RecordKind.JOURNAL,
    here=("seq", "id", "kind", "created_ms", "updated_ms", "extra"),
    defaults={"trust": "noted", "significance": 5, "text": ""},
)
_EPISODE: Final = replace(
    _JOURNAL,
    name="episodic_v3",
    prefix="EP",
    folder="episodes/%Y/%m",
    fields=_fields(
        "created_at=at_ms user_id=person persona_id session_id event_id situation_context=situation summary "
        "workflow_state=workflow state_snapshot tags cues"
    ),
    id_field="episode_id",
    detail="episodes",
    record=RecordKind.EPISODE,
    refs={
        "turn_refs": Ref(Relation.TURN_REFS),
        "sensory_refs": Ref(Relation.EPISODE_ID, inward=True),
        "semantic_refs": Ref(Relation.EPISODE_REFS, inward=True),
    },
    defaults={**_JOURNAL.defaults, "state": "closed"},
)

KINDS: Final = (
    _TURN,
    replace(
        _TURN,
        name="turn_llm",
        prefix="TL",
        folder="turns/llm/%Y/%m",
        fields=_fields("created_at=said_ms text_excerpt=body epistemic_mode confidence"),
        only="speaker = 'soul' AND passing = 0",
        says={"speaker": "llm"},
    ),
    _EPISODE,
    replace(
        _JOURNAL,
        name="semantic",
        prefix="sem",
        folder="semantic",
        fields=_fields("learned_at=at_ms last_accessed=used_ms access_count=used subject predicate object confidence"),
        id_field="",
        detail="facts",
        record=RecordKind.FACT,
        split_by="subject",
        says={"source": "conversation"},
        refs={"episode_refs": Ref(Relation.EPISODE_REFS)},
        defaults={**_JOURNAL.defaults, "topic": "other", "confidence": 0.8},
    ),
    replace(
        _JOURNAL,
        name="sensory_v1",
        prefix="SMEM",
        folder="turns/sensory/%Y/%m",
        fields=_fields(
            "created_at=at_ms data_type raw_data_ref qualia extracted_features=features physio_snapshot source"
        ),
        id_field="sensory_id",
        detail="senses",
        record=RecordKind.SENSE,
        refs={"episode_id": Ref(Relation.EPISODE_ID, many=False), "concept_refs": Ref(Relation.CONCEPT_REFS)},
    ),
    _JOURNAL,
    replace(_EPISODE, name="core", prefix="core", folder="core", id_field="core_id", record=RecordKind.CORE),
    replace(_EPISODE, name="sphere", prefix="sphere", folder="sphere", id_field="sphere_id", record=RecordKind.SPHERE),
    PassportKind(
        "session_memory",
        "SESS",
        "session",
        "working_memory",
        _fields("created_at=updated_ms summary"),
        key=("conversation",),
        id_field="session_id",
        moving=("summarized_to",),
        up_to="summarized_to",
        told="conversation",
    ),
    PassportKind(
        "intention",
        "IN",
        "intentions/%Y/%m",
        "intentions",
        _fields("created_at=created_ms"),
        only=FOR_PEOPLE,
        here=("id",),
        moving=_fields("state reason fired due_ms settled_ms faults number zone fired_day paused"),
        told="dm",
    ),
    PassportKind(
        "user_model",
        "UM",
        "people",
        "user_models",
        _fields("created_at=updated_ms user_id=person username=name"),
        key=_MODEL,
        moving=("modelled_to",),
        up_to="modelled_to",
    ),
    PassportKind(
        "user_model_version",
        "UV",
        "people/versions",
        "user_model_history",
        _fields("created_at=made_ms user_id=person"),
        key=(*_MODEL, "version"),
        json={"notes": list, "change": dict},
    ),
    PassportKind(
        "soul_state",
        "MOOD",
        "state",
        "soul_state",
        _fields("created_at=updated_ms"),
        key=("soul", "workspace", "audience"),
        here=_fields("valence arousal dominance moved_ms felt_quality felt_by"),  # these rest on thoughts
        told="dm",
    ),
    PassportKind(
        "conversation_topic",
        "TOPIC",
        "state/topics",
        "conversation_topics",
        _fields("created_at=updated_ms"),
        key=("conversation",),
        told="conversation",
    ),
    PassportKind(
        "standing_question",
        "ASK",
        "state/questions",
        "standing_questions",
        _fields("created_at=since_ms"),
        key=("soul", "workspace", "channel"),
        told="channel",
    ),
)
"""All kinds, in the order in which an import stores them: a version needs its model."""
