"""Writes, reads and deletes records, each with its row in the word index and its line in the ledger."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from msgspec import to_builtins
from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey, Origin
from daemon.core.value import Value, from_plain
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.kinds import KINDS, Record, RecordKind
from daemon.memory.knowledge.records.ledger import forget_salts, note_write
from daemon.memory.knowledge.records.links import (
    DERIVING,
    Link,
    Relation,
    cross_link,
    link,
    links_from,
    new_id,
    origin_of,
    require_no_wider,
    unlink,
)
from daemon.memory.knowledge.word_index import WordIndex
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.records import as_json, json_value
from daemon.memory.stream.emptying import empty_thoughts_on

R = TypeVar("R", bound=Record)

RECORD_INDEX: Final = WordIndex("record")
"""The words of records. The journal is left out, because no search may show it."""

_UNSEARCHED: Final = (RecordKind.JOURNAL,)
_MADE_HERE: Final = ("id", "seq", "created_ms")
_USE: Final = ("used", "used_ms")
_COMMON: Final = tuple(name for name in Record.__struct_fields__ if name not in _MADE_HERE)


class UnreadableRecord(Value):
    """A record with a field that can't be read, perhaps written by another program. It can only be forgotten."""

    id: str
    seq: int
    kind: RecordKind


class NoSuchRecord(StoreError): ...


class _NoRowOfItsKind(StoreError): ...


async def put(transaction: Transaction, record: R, now: int, links: Sequence[Link] = ()) -> R:
    """Store a new record with its links, whose origin may be left empty. Raises BrokenLink, HeardByMore."""
    record = replace(record, id=await new_id(transaction, record.kind, record.at_ms), created_ms=now)
    row = await transaction.insert(
        "records",
        "RETURNING seq",
        id=record.id,
        kind=record.kind,
        created_ms=now,
        updated_ms=now,
        **_columns(record, _COMMON),
    )
    assert row is not None
    record = replace(record, seq=row["seq"])
    _, table = KINDS[record.kind]
    await transaction.insert(table, id=record.id, **_columns(record, _own_columns(record.kind)))
    await link(transaction, [replace(one, origin=one.origin or record.id) for one in links], now)
    await cross_link(transaction, [one.target for one in links if one.relation is Relation.EVIDENCE], now)
    await take_in(transaction, record, now)
    return record


async def take_in(transaction: Transaction, record: Record, now: int) -> None:
    """Index a record whose rows were just stored, and note it in the ledger."""
    await _index(transaction, record)
    await note_write(transaction, act=f"put {record.kind}", subject=record.id, content=content_of(record), now=now)


async def get(transaction: Transaction, record_id: str) -> Record | None:
    base = await transaction.one("SELECT * FROM records WHERE id = :id", id=record_id)
    return await _whole(transaction, base) if base else None


async def get_any(transaction: Transaction, record_id: str) -> Record | UnreadableRecord | None:
    """Return a record by its id, also an unreadable one."""
    base = await transaction.one("SELECT * FROM records WHERE id = :id", id=record_id)
    if base is None:
        return None
    try:
        return await _whole(transaction, base)
    except (ValueError, _NoRowOfItsKind):
        return UnreadableRecord(base["id"], base["seq"], RecordKind(base["kind"]))


async def select(transaction: Transaction, kind: type[R], where: str, then: str = "r.seq", **values: object) -> list[R]:
    """Return records of a class. `where` is a literal of this package over `r` (records) and `k` (its table).

    `then` is a literal, too: the order (default: oldest first), and a limit. Unreadable records are left out.
    """
    _, table = KINDS[kind.kind]
    rows = await transaction.rows(
        f"""
        SELECT r.*, k.* FROM records r JOIN {table} k ON k.id = r.id WHERE r.kind = :kind AND ({where}) ORDER BY {then}
        """,  # noqa: S608 - literals
        kind=kind.kind,
        **values,
    )
    return [found for row in rows if (found := _readable(kind, row)) is not None]


async def change(transaction: Transaction, record_id: str, now: int, reason: str = "", /, **changed: object) -> Record:
    """Change fields of a record. If its words or readers change, thoughts that rest on it lose their words.

    Raises NoSuchRecord, and HeardByMore if its audience would become wider than that of a source.
    """
    return await _change(transaction, record_id, now, reason, changed, aged=False)


async def change_with_age(
    transaction: Transaction, record_id: str, now: int, reason: str = "", /, **changed: object
) -> Record:
    """Change fields of a record whose sources only aged. Thoughts that rest on it keep their words."""
    return await _change(transaction, record_id, now, reason, changed, aged=True)


async def _change(
    transaction: Transaction, record_id: str, now: int, reason: str, changed: Mapping[str, object], *, aged: bool
) -> Record:
    before = await get(transaction, record_id)
    if before is None:
        raise NoSuchRecord(f"no record {record_id}", hint="nothing to do: it was forgotten meanwhile")
    after: Record = replace(before, **changed)
    _, table = KINDS[after.kind]
    await _update(transaction, "records", record_id, {**_columns(after, _COMMON), "updated_ms": now})
    if own := _own_columns(after.kind):
        await _update(transaction, table, record_id, _columns(after, own))
    if (before.audience, before.channel) != (after.audience, after.channel):
        for one in await links_from(transaction, record_id, *DERIVING):
            if (source := await origin_of(transaction, one.target)) is not None:
                require_no_wider(record_id, Origin(after.audience, after.channel), source)
    if (before.text, before.audience, before.channel) != (after.text, after.audience, after.channel):
        await RECORD_INDEX.remove(transaction, after.seq)
        await _index(transaction, after)
        if before.text and not aged:
            await empty_thoughts_on(transaction, [record_id])
    await note_write(
        transaction,
        act=f"change {after.kind}",
        subject=record_id,
        content=content_of(after),
        reason=reason,
        now=now,
    )
    return after


async def erase(transaction: Transaction, record: Record | UnreadableRecord, now: int, reason: str) -> None:
    """Delete one record with its links, index row and salts. `forget` also follows what was made from it."""
    await RECORD_INDEX.remove(transaction, record.seq)
    await unlink(transaction, record.id)
    await transaction.run("DELETE FROM records WHERE id = :id", id=record.id)
    await note_write(transaction, act=f"erase {record.kind}", subject=record.id, reason=reason, now=now)
    await forget_salts(transaction, record.id)


def record_of(row: sqlite3.Row | Mapping[str, Any]) -> Record:
    """Return the record of a joined row of both its tables. Raises ValueError if it can't be read."""
    return _read(KINDS[RecordKind(row["kind"])][0], row)


def content_of(record: Record) -> Mapping[str, object]:
    """Return all that a record says as JSON, for the ledger's digest. The use counts are left out."""
    said = [name for name in (*_COMMON, *_own_columns(record.kind)) if name not in _USE]
    return {"id": record.id, **_columns(record, said)}


async def _whole(transaction: Transaction, base: sqlite3.Row) -> Record:
    _, table = KINDS[RecordKind(base["kind"])]
    row = await transaction.one(
        f"SELECT r.*, k.* FROM records r JOIN {table} k ON k.id = r.id WHERE r.id = :id",  # noqa: S608 - a literal of KINDS
        id=base["id"],
    )
    if row is None:
        raise _NoRowOfItsKind(f"record {base['id']} has no row of its kind", hint="run `soul memory verify`")
    return record_of(row)


async def _index(transaction: Transaction, record: Record) -> None:
    if record.kind in _UNSEARCHED or not record.text:
        return
    where = ConversationKey(record.soul, record.workspace, record.channel)
    codes = codes_of_turn(where, str(record.audience))
    await RECORD_INDEX.put(transaction, [(record.seq, codes, record.text)])


async def _update(transaction: Transaction, table: str, record_id: str, columns: Mapping[str, object]) -> None:
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    await transaction.run(f"UPDATE {table} SET {changes} WHERE id = :id", id=record_id, **columns)  # noqa: S608 - literals


@cache
def _own_columns(kind: RecordKind) -> tuple[str, ...]:
    return tuple(name for name in KINDS[kind][0].__struct_fields__ if name not in Record.__struct_fields__)


def _columns(record: Record, names: Sequence[str]) -> dict[str, object]:
    codecs = _codecs(record.kind)
    return {name: codecs[name][0](getattr(record, name)) for name in names}


def _read(cls: type[R], row: sqlite3.Row | Mapping[str, Any]) -> R:
    return cls(**{name: decode(row[name]) for name, (_, decode) in _codecs(cls.kind).items()})


def _readable(cls: type[R], row: sqlite3.Row) -> R | None:
    try:
        return _read(cls, row)
    except ValueError:
        return None


_Codec = tuple[Callable[[Any], object], Callable[[Any], Any]]


@cache
def _codecs(kind: RecordKind) -> Mapping[str, _Codec]:
    cls = KINDS[kind][0]
    hints = get_type_hints(cls)
    return {name: _codec(hints[name]) for name in cls.__struct_fields__}


def _codec(hint: object) -> _Codec:
    if hint is Audience:
        return str, Audience.parse
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return str, hint
    kinds = set(get_args(hint)) - {NoneType} if isinstance(hint, UnionType) else {hint}
    if kinds <= {str, int, float} or get_origin(hint) is Literal:
        return _as_is, _as_is
    return lambda value: as_json(to_builtins(value)), lambda text: from_plain(hint, json_value(text))  # type: ignore[arg-type]  # the types of fields are known here only


def _as_is(value: object) -> object:
    return value
