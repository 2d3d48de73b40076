"""Files of a passport as rows of memory.db: missing fields are filled in, and files that are no memory are refused."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Origin, Place
from daemon.core.value import Value
from daemon.memory.knowledge.records.kinds import RecordKind, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.passport.kinds import PEOPLE, PassportKind, read_time, shown_as
from daemon.memory.passport.reading import Loaded, RefusedFile, named
from daemon.memory.queues.intention_rows import SILENCE
from daemon.memory.records import JSONObject, Speaks

FOREIGN: Final = "passport"
"""The channel and the audience of a passport's memories without an audience: only the admin may see them."""

_OURS: Final = "soul_daemon"
_PRIVATE: Final = (Place.DM, Place.GROUP_DM, Place.PRIVATE_CHANNEL)


class Owner(Value):
    """The owner for memories that name none. By default only the admin may see them."""

    soul: str
    workspace: str
    origin: Origin = Origin(Audience(AudienceKind.OPERATOR, FOREIGN), FOREIGN)


class PassportEntry(Value):
    """A file that may be stored: its row by columns, and its links with the passport's ids.

    It rests on the targets of `proofs`. `content` has the moments of its fields as an export writes them, `unknown` are
    the fields that no column takes.
    """

    loaded: Loaded
    kind: PassportKind
    id: str
    row: Mapping[str, Any]
    proofs: tuple[Link, ...]
    refs: tuple[Link, ...]
    content: JSONObject
    unknown: JSONObject

    @property
    def origin(self) -> Origin:
        return Origin(Audience.parse(self.row["audience"]), self.row.get("channel", ""))

    @property
    def conversation(self) -> ConversationKey | None:
        key = self.row.get("conversation")
        return ConversationKey.parse(key) if key else None

    @property
    def people(self) -> frozenset[str]:
        return frozenset(self.row[one] for one in PEOPLE if self.row.get(one))

    @property
    def made_of(self) -> ConversationKey | None:
        """The conversation that the row is made of as a whole, or None. No thread means all of a room or DM."""
        row, audience = self.row, self.origin.audience
        if self.kind.told == "conversation":
            return self.conversation
        if self.kind.told == "channel" or (self.kind.told == "dm" and audience.kind is AudienceKind.DM):
            room = row["channel"] if self.kind.told == "channel" else audience.id
            return ConversationKey(row["soul"], row["workspace"], room)
        return None

    def refuse(self, reason: str) -> RefusedFile:
        return RefusedFile(named(self.loaded.file), reason)

    @property
    def said(self) -> JSONObject:
        """The content that is stored: other kinds than records lose their unknown fields and ids."""
        if self.kind.record:
            return self.content
        inner, ours = self.unknown.get(_OURS, {}), self.content[_OURS]
        assert isinstance(inner, dict)
        assert isinstance(ours, dict)
        kept = {name: value for name, value in self.content.items() if name not in {*self.unknown, *self.kind.refs}}
        return {**kept, _OURS: {name: value for name, value in ours.items() if name not in inner}}


def names_in(unknown: JSONObject, within: str = "") -> Iterator[str]:
    """Yield the dotted names of unknown fields, such as `soul_daemon.mood`."""
    for name, value in unknown.items():
        if isinstance(value, dict) and value:
            yield from names_in(value, f"{within}{name}.")
        else:
            yield f"{within}{name}"


def entry_of(loaded: Loaded, kinds: Mapping[str, PassportKind], owner: Owner, now: int) -> PassportEntry:
    """Return the entry of a file. Raises ValueError with the reason for its refusal."""
    content = dict(loaded.content)
    kind = kinds[_kind_of(content, kinds)]
    ours = content.setdefault(_OURS, {})
    if not isinstance(ours, dict):
        raise ValueError(f"it is no {kind.name}: {_OURS}: it should be an object")  # noqa: TRY004 - a file's fault
    if not ours.get("audience"):
        if not kind.defaults:
            raise ValueError("it does not say who may hear it")
        for name in ("conversation", "channel", "place"):
            ours.pop(name, None)
    row = _given(kind, content, ours)
    kind.require(row)
    _fill(kind, row, owner, now)
    name = _id_of(kind, content, ours, row, PurePosixPath(loaded.file).stem)
    if not kind.is_id(name):
        raise ValueError("its id is none of its kind")
    if kind.key == ("id",):
        row["id"] = name if kind.record else name.partition("_")[2]
    if not kind.is_turn and kind.named(row) != name:
        raise ValueError("its id is not that of what it is about")
    _require_sense(kind, row)
    proofs = tuple(_proofs(kind, ours, name)) if kind.record else ()
    refs = tuple(_refs(kind, content, name))
    return PassportEntry(loaded, kind, name, row, proofs, refs, content, _unknown(kind, content, ours))


def _kind_of(content: JSONObject, kinds: Collection[str]) -> str:
    """Return the name of a file's kind by its type, or by its fields as in the samples of seed 004."""
    if (told := content.get("type")) is not None:
        if not isinstance(told, str) or told not in kinds:
            raise ValueError("it has a type that no memory has")
        return told
    if "turn_id" in content:
        return "turn_llm" if content.get("speaker") == "llm" else "turn_user"
    for field, kind in (("sensory_id", "sensory_v1"), ("episode_id", "episodic_v3"), ("subject", "semantic")):
        if field in content:
            return kind
    raise ValueError("it is no memory: it has neither a type nor an id")


def _given(kind: PassportKind, content: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a file gives, and write its moments as an export does."""
    if kind.name == "intention":
        _take_old_cue(ours)
    row, shown = dict[str, Any](), {column: field for field, column in kind.fields.items()}
    for column in kind.columns:
        given, field = (content, shown[column]) if column in shown else (ours, column)
        value = given.get(field)
        if value is not None and given is content and column.endswith("_ms"):
            value = read_time(value)
            content[field] = shown_as(column, value)
        if column == kind.at and value is None:
            content.pop(field, None)
        if field in given:
            row[column] = value
        elif not kind.defaults:
            raise ValueError(f"it is no {kind.name}: {kind.shown(column)}: Field required")
    return row


def _take_old_cue(ours: dict[str, Any]) -> None:
    """Read what a plan waits for as files from before schema 17 say it. A wait for anything but silence is over."""
    late, cue = ours.pop("unless_answered", None) is True, ours.get("cue", "")
    if cue and not isinstance(cue, str) and ours.get("state") == "waiting":
        reason = "it waited for something that reminders no longer wait for"
        ours |= {"state": "cancelled", "reason": reason, "settled_ms": ours.get("due_ms")}
    if late or not isinstance(cue, str):
        ours["cue"] = SILENCE if late else ""


def _fill(kind: PassportKind, row: dict[str, Any], owner: Owner, now: int) -> None:
    """Add what a file leaves out. A memory without an audience gets that of the owner."""
    row.setdefault(kind.at, now)
    foreign = not row.get("audience")
    if foreign:
        row |= {"audience": str(owner.origin.audience), "channel": owner.origin.channel}
    row["soul"], row["workspace"] = row.get("soul") or owner.soul, row.get("workspace") or owner.workspace
    row.setdefault("channel", "")
    if kind.is_turn:
        where = ConversationKey(row["soul"], row["workspace"], row["channel"] or FOREIGN)
        row["conversation"] = row.get("conversation") or str(where)
        row.setdefault("speaker", Speaks.SOUL if kind.prefix == "TL" else Speaks.of(row.get("author", "")))
    if kind.record is RecordKind.FACT:
        row.setdefault("valid_from_ms", row[kind.at])
    if foreign:
        row |= _foreign(kind, row)
    for column, default in kind.defaults.items():
        row.setdefault(column, default)
    for name, one in kind.columns.items():
        if name not in row and not (one.nullable or one.has_default):
            raise ValueError(f"it is no {kind.name}: {kind.shown(name)}: Field required")


def _foreign(kind: PassportKind, row: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the columns of another program's memory that its file has no fields for."""
    if kind.prefix == "TL":
        return {one: row.get(one) or row["soul"] for one in ("author", "name")}
    if kind.record is RecordKind.FACT:
        return {"text": row.get("text") or " ".join(row.get(one, "") for one in ("subject", "predicate", "object"))}
    if kind.detail != "episodes":
        return {}
    parts = row.get("summary", {})
    said = (parts.get(one) for one in ("content", "action_taken", "key_outcome", "future_implication"))
    return {"text": row.get("text") or ". ".join(str(one) for one in said if one), "trust": Trust.INFERRED}


def _id_of(kind: PassportKind, content: JSONObject, ours: JSONObject, row: Mapping[str, Any], stem: str) -> str:
    """Return the id in a file. A fact may have it in the name of its file, or gets one made of its content."""
    if kind.id_name or "id" in ours:
        name = content.get(kind.id_name) if kind.id_name else ours["id"]
        return name if isinstance(name, str) else ""
    parts = "\x1f".join((row["subject"], row["predicate"], row["object"]))
    return stem if kind.is_id(stem) else f"{kind.prefix}_{hashlib.sha256(parts.encode()).hexdigest()[:8]}"


def _require_sense(kind: PassportKind, row: dict[str, Any]) -> None:
    """Raise ValueError if the columns contradict each other. Fill in the place of a conversation."""
    audience, workspace = Audience.parse(row["audience"]), row["workspace"]
    place = _place(kind, row) if row.get("conversation") else None
    if not audience.id:
        raise ValueError("it does not say who may hear it")
    if audience.kind is AudienceKind.WORKSPACE and audience.id != workspace:
        raise ValueError("it is for another workspace than its own")
    if audience.kind is AudienceKind.WORKSPACE and place in _PRIVATE:
        raise ValueError("it comes from a private place and says that everybody may hear it")
    if empty := next((one for one in (*kind.key, "conversation") if row.get(one) == ""), ""):
        raise ValueError(f"it does not say to which {empty} it belongs")
    if kind.is_turn and (row["speaker"] == Speaks.SOUL) != (kind.prefix == "TL"):
        raise ValueError(f"it is no {kind.name}: {_OURS}.speaker: it is another's")


def _place(kind: PassportKind, row: dict[str, Any]) -> Place | None:
    key = ConversationKey.parse(row["conversation"])
    if (key.soul, key.workspace) != (row["soul"], row["workspace"]):
        raise ValueError("its conversation is of another soul or workspace")
    if row["channel"] not in {"", key.channel}:
        raise ValueError("its conversation is in another channel")
    if kind.record and not row.get("place"):  # its conversation is not here, and the file can't say who reads there
        return None
    row["place"] = place = Place((row.get("place") or Place.TERMINAL) if kind.defaults else row["place"])
    return place


def _proofs(kind: PassportKind, ours: JSONObject, name: str) -> Iterator[Link]:
    links = ours.get("links", [])
    for one in links if isinstance(links, list) else [links]:
        match one:
            case {"relation": str(relation), "target": str(target), **more} if isinstance(more.get("quote", ""), str):
                yield Link(name, Relation(relation), target, str(more.get("quote", "")))
            case _:
                raise ValueError(f"it is no {kind.name}: {_OURS}.links: it should be links")


def _refs(kind: PassportKind, content: JSONObject, name: str) -> Iterator[Link]:
    for field, ref in kind.refs.items():
        value = content.get(field, [] if ref.many else "")
        ids = value if ref.many else [value]
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise ValueError(f"it is no {kind.name}: {field}: it should name other files")
        for one in filter(None, ids):
            yield Link(one, ref.relation, name) if ref.inward else Link(name, ref.relation, one)


def _unknown(kind: PassportKind, content: JSONObject, ours: JSONObject) -> JSONObject:
    known = {"type", kind.id_name, *kind.fields, *kind.refs}
    unknown = {
        name: value
        for name, value in content.items()
        if name not in known and name != _OURS and kind.says.get(name, ...) != value
    }
    shown = {"id" if not kind.id_name else "", "links" if kind.record else ""}
    shown |= set(kind.columns) - set(kind.fields.values())
    inner = {name: value for name, value in ours.items() if name not in shown}
    return {**unknown, **({_OURS: inner} if inner else {})}
