"""Turns the lines of notes about users, and their history, into facts: noted once, without a quotation.

Such a fact is shown and proves nothing. Its sources are the user's own turns in the range that its version names. A
version that can't be read costs its lines the sources, never the migration.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from sqlalchemy import Connection, Row, text

from daemon.core.perception import ConversationKey
from daemon.core.words import words_of
from daemon.memory.reader_codes import codes_of_turn, entries

_NUMBERS = count(secrets.randbits(32))  # eight random digits meet again among tens of thousands of lines
_MODEL = "soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience"
_SOURCES = """
    SELECT seq FROM turns WHERE conversation = :conversation AND seq BETWEEN :first AND :last
      AND speaker = 'person' AND author = :person ORDER BY seq
"""


@dataclass
class _Line:
    """A line of notes, from when to when it stood, and where it came from."""

    text: str
    from_ms: int
    id: str = field(default_factory=lambda: f"sem_{next(_NUMBERS) % 2**32:08x}")
    until_ms: int | None = None
    why: str = ""
    older: str = ""
    conversation: str | None = None
    sources: tuple[int, ...] = ()


def move_notes(connection: Connection) -> None:
    """Make a fact of every line, and let the history name the facts by their ids."""
    for model in connection.execute(text("SELECT * FROM user_models")).all():
        key = {name: getattr(model, name) for name in ("soul", "workspace", "person", "audience")}
        history = connection.execute(
            text(f"SELECT * FROM user_model_history WHERE {_MODEL} ORDER BY version"),  # noqa: S608 - a constant
            key,
        ).all()
        standing: dict[str, _Line] = {}
        made: list[_Line] = []
        for version in history:
            made += _follow(connection, version, standing)
        made += _as_it_stands(model, standing)
        for line in made:
            _store(connection, key, line)


def _follow(connection: Connection, version: Row[tuple[object, ...]], standing: dict[str, _Line]) -> list[_Line]:
    """Bring the standing lines to a version, and write the version anew with ids; gives the lines it made."""
    change = _object(version.change)
    lines = _lines(_json(version.notes))
    corrected = {new: old for old, new in _pairs(change.get("corrected"))}
    conversation, sources = _sources(connection, change, version.person)
    made: list[_Line] = []
    ended: dict[str, _Line] = {}
    for gone in [one for one in standing if one not in lines]:
        ended[gone] = line = standing.pop(gone)
        line.until_ms, line.why = version.made_ms, "superseded" if gone in corrected.values() else "retired"
    for new in dict.fromkeys(one for one in lines if one not in standing):
        older = ended.get(corrected.get(new, ""))
        line = _Line(new, version.made_ms, conversation=conversation, sources=sources)
        if older:  # its words may live on in the newer line
            line.older, line.sources = older.id, tuple(dict.fromkeys((*older.sources, *sources)))
        made.append(line)
        standing[new] = line
    ids = {one.text: one.id for one in (*ended.values(), *standing.values())}
    kept = ("conversation", "first", "last", "scrubbed", "unlearned")
    place: dict[str, object] = {name: found for name, found in change.items() if name in kept}
    anew: dict[str, object] = {
        **place,
        "added": [ids[one] for one in _lines(change.get("added")) if one in ids],
        "retired": [one.id for one in ended.values() if one.why == "retired"],
        "corrected": [[one.older, one.id] for one in made if one.older],
    }
    connection.execute(
        text(f"UPDATE user_model_history SET notes = :notes, change = :change WHERE {_MODEL} AND version = :version"),  # noqa: S608 - a constant
        {
            **{name: getattr(version, name) for name in ("soul", "workspace", "person", "audience", "version")},
            "notes": json.dumps([standing[one].id for one in dict.fromkeys(lines)]),
            "change": json.dumps(anew),
        },
    )
    return made


def _as_it_stands(model: Row[tuple[object, ...]], standing: dict[str, _Line]) -> list[_Line]:
    """What the model holds beside its history: lines of unknown origin, and lines that are gone without a version."""
    lines = _lines(_json(model.notes))
    for gone in [one for one in standing if one not in lines]:
        line = standing.pop(gone)
        line.until_ms, line.why = model.updated_ms, "retired"
    return [_Line(one, model.updated_ms) for one in dict.fromkeys(lines) if one not in standing]


def _sources(connection: Connection, change: Mapping[str, object], person: str) -> tuple[str | None, tuple[int, ...]]:
    """The conversation that a version was made from, and the user's turns there; nothing where it names none."""
    conversation, first, last = (change.get(name) for name in ("conversation", "first", "last"))
    if not (isinstance(conversation, str) and _is_number(first) and _is_number(last)):
        return None, ()
    conversation = _storable(conversation)
    if connection.execute(text("SELECT 1 FROM conversations WHERE id = :id"), {"id": conversation}).first() is None:
        return None, ()
    rows = connection.execute(
        text(_SOURCES), {"conversation": conversation, "first": first, "last": last, "person": person}
    )
    return conversation, tuple(row.seq for row in rows.all())


def _store(connection: Connection, key: Mapping[str, str], line: _Line) -> None:
    """A fact with its sources and its row in the index of words."""
    channel = ConversationKey.parse(line.conversation).channel if line.conversation else ""
    seq = connection.execute(
        text("""
            INSERT INTO records (id, kind, soul, workspace, audience, channel, conversation, person, trust,
                                 significance, text, at_ms, created_ms, updated_ms)
            VALUES (:id, 'fact', :soul, :workspace, :audience, :channel, :conversation, :person, 'noted',
                    5, :text, :at, :at, :at) RETURNING seq
        """),
        {
            **key,
            "id": line.id,
            "channel": channel,
            "conversation": line.conversation,
            "text": line.text,
            "at": line.from_ms,
        },
    ).scalar_one()
    connection.execute(
        text("""
            INSERT INTO facts (id, subject, predicate, object, topic, confidence, valid_from_ms, valid_until_ms,
                               why_ended)
            VALUES (:id, :person, 'noted', :text, 'other', 0.5, :at, :until, :why)
        """),
        {
            "id": line.id,
            "person": key["person"],
            "text": line.text,
            "at": line.from_ms,
            "until": line.until_ms,
            "why": line.why,
        },
    )
    connection.execute(text("INSERT INTO record_ids (series, last) VALUES (:id, 1)"), {"id": line.id})
    links = [("evidence", f"TU_{source}") for source in line.sources]
    for relation, target in (*links, *((("supersedes", line.older),) if line.older else ())):
        connection.execute(
            text("INSERT INTO links (origin, relation, target, linked_ms) VALUES (:id, :relation, :target, :at)"),
            {"id": line.id, "relation": relation, "target": target, "at": line.from_ms},
        )
    where = ConversationKey(key["soul"], key["workspace"], channel)
    codes = " ".join(codes_of_turn(where, key["audience"]))
    words = " ".join(dict.fromkeys(words_of(line.text)))
    connection.execute(
        text("INSERT INTO record_words (seq, readers, words) VALUES (:seq, :readers, :words)"),
        {"seq": seq, "readers": codes, "words": words},
    )
    connection.execute(
        text("INSERT INTO record_index (rowid, entries) VALUES (:seq, :entries)"),
        {"seq": seq, "entries": entries(codes, words)},
    )


def _object(value: object) -> dict[str, object]:
    read = _json(value)
    return read if isinstance(read, dict) else {}


def _lines(value: object) -> list[str]:
    return [_storable(one) for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _json(value: object) -> object:
    try:
        return json.loads(str(value))
    except (ValueError, RecursionError):
        return None


def _storable(text: str) -> str:
    """A text without halves of characters, which JSON can name and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def _is_number(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < 2**63


def _pairs(value: object) -> Iterator[tuple[str, str]]:
    for one in value if isinstance(value, Sequence) else ():
        if isinstance(one, Sequence) and len(one) == 2 and all(isinstance(end, str) for end in one):  # noqa: PLR2004 - a pair
            yield _storable(one[0]), _storable(one[1])
