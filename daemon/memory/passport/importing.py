"""The import of a passport in small steps: a second run finishes the memories marked as unfinished."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.sessions import key_of
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.learning import stands_in
from daemon.memory.knowledge.records.kinds import RecordKind, Trust
from daemon.memory.knowledge.records.links import (
    BrokenLink,
    HeardByMore,
    Link,
    Relation,
    link,
    origin_of,
    turn_id,
    turn_seq,
)
from daemon.memory.passport.entries import Owner, PassportEntry, entry_of, names_in
from daemon.memory.passport.exporting import content_of
from daemon.memory.passport.kinds import KINDS, PassportKind, kinds_of
from daemon.memory.passport.pictures import bring_pictures
from daemon.memory.passport.reading import Loaded, RefusedFile, named, read_file, read_passport, reason_of
from daemon.memory.passport.storing import INTENTION, Bounds, put_row, why_refused
from daemon.memory.people.tombstones import was_stored_before
from daemon.memory.records import JSONObject, Speaks

_AT_ONCE: Final = 100
"""The entries and links in one transaction, which must be short."""

PLAIN: Final = Bounds()
_FIELDS: Final = 5  # the most names of left-out fields in the result
_HIGHEST_SEQ: Final = 10**12  # the highest number of a turn that a passport may bring
_ORDER: Final = {one.name: 0 if one.is_turn else number for number, one in enumerate(KINDS)}
_ASKED: Final = "its person asked to be forgotten"
_THERE: Final = "it is here already and says something else"
_NOT_THERE: Final = "it rests on {}, which is not there"


class Imported(Value):
    """The counts of an import, and the refused files. `left_out` are unknown fields, `fields` some names of them."""

    stored: int
    unchanged: int
    refused: tuple[RefusedFile, ...]
    pictures: int = 0
    left_out: int = 0
    fields: tuple[str, ...] = ()


class Listed(Value):
    """A file that may be stored, as the list of an import keeps it.

    It rests on the files `rests` of the passport. `begun`: its row was stored when an import was interrupted.
    """

    file: str
    digest: bytes
    id: str
    order: tuple[int, bool, int, str]
    rests: tuple[str, ...]
    begun: bool
    made_of: ConversationKey | None


class Import:
    """An import under way: the ids that it has stored, and those still to come."""

    def __init__(self, database: Database, folder: Path, owner: Owner, now: int, bounds: Bounds) -> None:
        self.done: set[str] = set()
        self.lossy: set[str] = set()
        self._database = database
        self._folder = folder
        self._owner = owner
        self._now = now
        self._bounds = bounds
        self._kinds: Mapping[str, PassportKind] = {}
        self._names: dict[str, str] = {}  # ids here of turns with another id in passports
        self._unfinished: frozenset[str] = frozenset()
        self._coming: set[str] = set()
        self._waiting: defaultdict[str, list[Link]] = defaultdict(list)  # links, by the end that is to come
        self._refused: list[RefusedFile] = []
        self._unchanged = 0
        self._left_out = 0
        self._fields: dict[str, None] = {}

    async def run(self) -> tuple[Imported, Sequence[Listed]]:
        """Store what memory.db lacks. Return the counts, and the files that were to be stored. Raises StoreError."""
        await self._database.read(self._look)
        lines = _in_order(await self._survey())
        self._coming = {one.id for one in lines}
        for some in self._steps(lines):
            await self._database.write(partial(self._put, some=some))
        done = list(map(self._here, self.done))
        for start in range(0, len(done), _AT_ONCE):
            await self._database.write(partial(_finish, ids=done[start : start + _AT_ONCE]))
        pictures, strange = await bring_pictures(self._database, self._folder, self._bounds.room)
        refused, fields = (*self._refused, *strange), tuple(self._fields)
        return Imported(len(self.done), self._unchanged, refused, pictures, self._left_out, fields), lines

    def entry(self, line: Listed) -> PassportEntry | None:
        """Read a listed file again. None if it changed or is refused."""
        loaded = read_file(self._folder, line.file)
        if isinstance(loaded, Loaded) and loaded.digest != line.digest:
            loaded = RefusedFile(named(line.file), "it changed while it was read")
        return self._entry(loaded)

    async def is_kept(self, transaction: Transaction, entry: PassportEntry) -> bool:
        """Return True if memory.db has all that an entry says, except what changes by itself."""
        there = await content_of(transaction, entry.kind, self._where(entry))
        return there is not None and _covers(there, entry.said)

    async def _look(self, transaction: Transaction) -> None:
        self._kinds = await kinds_of(transaction)
        rows = await transaction.rows("SELECT p.id, t.seq, t.speaker FROM passport_turns p JOIN turns t USING (seq)")
        self._names = {row["id"]: turn_id(Speaks(row["speaker"]), row["seq"]) for row in rows}
        self._unfinished = frozenset(row["id"] for row in await transaction.rows("SELECT id FROM passport_unfinished"))

    async def _survey(self) -> dict[str, Listed]:
        """Return the files to be stored by their ids, after one pass over all files."""
        seen, lines, asked = set[str](), dict[str, Listed](), set[ConversationKey]()
        for entry in filter(None, map(self._entry, read_passport(self._folder))):
            standing: str | None = "its id stands in another file, too"
            if entry.id not in seen:
                standing = await self._database.read(partial(self._standing, entry=entry))
            seen.add(entry.id)
            if standing is None or (self._is_half(entry) and not standing):
                lines[entry.id] = _listed(entry, begun=standing is not None)
            elif standing:
                self._refused.append(entry.refuse(standing))
                asked |= {entry.conversation} if standing == _ASKED and entry.conversation else set()
            else:
                self._unchanged += 1
        gone = asked | {replace(one, thread="") for one in asked}
        for one in [one for one in lines.values() if one.made_of in gone and not one.begun]:
            del lines[one.id]
            self._refused.append(RefusedFile(named(one.file), _ASKED))
        return lines

    def _entry(self, loaded: Loaded | RefusedFile) -> PassportEntry | None:
        if isinstance(loaded, Loaded):
            try:
                return entry_of(loaded, self._kinds, self._owner, self._now)
            except ValueError as error:
                loaded = RefusedFile(named(loaded.file), reason_of(error))
        self._refused.append(loaded)
        return None

    def _steps(self, lines: Sequence[Listed]) -> Iterator[list[tuple[PassportEntry, bool]]]:
        """Yield the entries of each transaction, and whether their rows are stored already."""
        some, weight = list[tuple[PassportEntry, bool]](), 0
        for line in lines:
            if (entry := self.entry(line)) is None:
                self._coming.discard(line.id)
                continue
            some.append((entry, line.begun))
            weight += 1 + len(entry.proofs) + len(entry.refs)
            if weight > _AT_ONCE:
                yield some
                some, weight = [], 0
        if some:
            yield some

    def _here(self, name: str) -> str:
        """Return the id here of a memory of the passport, or '' for a turn that can't be here."""
        seq = turn_seq(name)
        if name in self._names or seq is None:
            return self._names.get(name, name)
        return name if name.endswith(f"_{seq}") and seq <= _HIGHEST_SEQ else ""

    def _where(self, entry: PassportEntry) -> Mapping[str, Any]:
        return {**entry.row, "seq": turn_seq(self._here(entry.id))} if entry.kind.is_turn else entry.row

    def _is_half(self, entry: PassportEntry) -> bool:
        return self._here(entry.id) in self._unfinished

    async def _standing(self, transaction: Transaction, entry: PassportEntry) -> str | None:
        """Return None for a new entry, '' for a stored equal one, else the reason for a refusal."""
        try:
            there = await content_of(transaction, entry.kind, self._where(entry))
        except (ValueError, TypeError):  # a row that is no memory
            return _THERE
        if there is not None:
            half, missing = self._is_half(entry), await self._missing(transaction, entry)
            said = {name: value for name, value in entry.said.items() if name not in missing}
            same = _covers(*(_fixed(entry.kind, one, half=half) for one in (there, said)))
            return "" if same else _THERE
        for person in entry.people:
            if await was_stored_before(transaction, entry.row["workspace"], person, entry.row[entry.kind.at]):
                return _ASKED
        over = await transaction.one(
            """
            SELECT :ended AS why FROM ended_intentions WHERE id = :plan
            UNION ALL SELECT :gone FROM ledger WHERE object = :id AND act LIKE 'erase %' LIMIT 1
            """,
            ended="it ended here",
            plan=entry.row["id"] if entry.kind.name == INTENTION else "",
            gone="it was forgotten here",
            id=entry.id,
        )
        return over["why"] if over else None

    async def _put(self, transaction: Transaction, some: Sequence[tuple[PassportEntry, bool]]) -> None:
        """Store entries, each with the links that are whole with it, or not at all."""
        for entry, begun in some:
            self._coming.discard(entry.id)
            await transaction.run("SAVEPOINT entry")
            try:
                missing = await self._missing(transaction, entry)
                if not begun:
                    await self._store(transaction, entry, missing)
                await self._tie(transaction, entry)
            except (ValueError, OverflowError, StoreError, sqlite3.IntegrityError, sqlite3.DataError) as error:
                await transaction.run("ROLLBACK TO entry")
                self._refused.append(entry.refuse(why_refused(entry.kind, error)))
            else:
                self.done.add(entry.id)
                if not begun and not entry.kind.record:
                    self._leave_out(entry, [*names_in(entry.unknown), *missing])
            await transaction.run("RELEASE entry")

    async def _store(self, transaction: Transaction, entry: PassportEntry, missing: JSONObject) -> None:
        seq = self._where(entry).get("seq")
        here = await put_row(transaction, entry, self._bounds, self._now, missing=missing, seq=seq)
        if here != entry.id and entry.kind.is_turn:
            await transaction.insert("passport_turns", seq=turn_seq(here), id=entry.id)
            self._names[entry.id] = here
        await transaction.insert("passport_unfinished", "ON CONFLICT DO NOTHING", id=here)

    def _leave_out(self, entry: PassportEntry, names: Sequence[str]) -> None:
        """Count the unknown fields that a stored entry loses."""
        self._left_out += len(names)
        self._fields |= dict.fromkeys(map(named, names[: _FIELDS - len(self._fields)]))
        if names:
            self.lossy.add(entry.id)

    async def _missing(self, transaction: Transaction, entry: PassportEntry) -> dict[str, object]:
        """Return the fields of an entry with ids that lead nowhere."""
        missing = dict[str, object]()
        for field, ref in entry.kind.refs.items():
            value: Any = entry.content.get(field) or []
            ids = value if ref.many else [value] if value else []
            if gone := [one for one in ids if not await self._knows(transaction, one)]:
                missing[field] = gone if ref.many else gone[0]
        return missing

    async def _knows(self, transaction: Transaction, name: str) -> bool:
        known = name in self._coming or name in self.done
        return known or await origin_of(transaction, self._here(name)) is not None

    async def _tie(self, transaction: Transaction, entry: PassportEntry) -> None:
        """Store the links of an entry, and those that waited for it. Raises ValueError for what it can't rest on.

        No link from a memory that was here before is stored: a passport changes none of them.
        """
        proved = [await self._prove(transaction, entry, one) for one in entry.proofs]
        if entry.kind.record is RecordKind.FACT and entry.row["trust"] in {Trust.OWN, Trust.CLAIM} and not any(proved):
            raise ValueError("no quotation proves it")
        for one in (*entry.refs, *self._waiting.pop(entry.id, ())):
            if late := next((end for end in (one.origin, one.target) if end in self._coming), ""):
                self._waiting[late].append(one)
            elif one.origin == entry.id or one.origin in self.done:
                await self._link(transaction, one)

    async def _prove(self, transaction: Transaction, entry: PassportEntry, proof: Link) -> bool:
        """Store a link to what an entry rests on. Return True for a quotation of the person who is said to say it."""
        seq, evidence = turn_seq(self._here(proof.target)), proof.relation is Relation.EVIDENCE
        turn = await transaction.one("SELECT body, author FROM turns WHERE seq = :seq", seq=seq)
        body, author = (turn["body"], turn["author"]) if turn else ("", "")
        if evidence and key_of(author) is not None:
            raise ValueError(f"{proof.target} was said in a session, which proves nothing")
        if not await self._link(transaction, proof):
            raise ValueError(_NOT_THERE.format(proof.target))
        if proof.quote and not stands_in(proof.quote, body):
            raise ValueError(f"its quotation does not stand in {proof.target}")
        claimant = entry.row.get("claimed_by") or entry.row.get("person") or author
        return evidence and bool(proof.quote) and claimant == author

    async def _link(self, transaction: Transaction, one: Link) -> bool:
        """Store a link. Return False if one of its ends is not there. Raises ValueError if it widens an audience."""
        here = replace(one, origin=self._here(one.origin), target=self._here(one.target))
        try:
            await link(transaction, [here], self._now)
        except BrokenLink:
            return False
        except HeardByMore:
            raise ValueError(f"{one.origin} would be heard by more people than {one.target}") from None
        return True


async def import_passport(
    database: Database, folder: Path, owner: Owner, clock: Clock, bounds: Bounds = PLAIN
) -> Imported:
    """Store a passport's memories that memory.db lacks, and change nothing else. Raises StoreError."""
    done, _ = await Import(database, folder, owner, clock.now_ms(), bounds).run()
    return done


async def workspace_of(transaction: Transaction, soul: str) -> str:
    """Return the workspace of the soul's newest message, or ''."""
    row = await transaction.one(
        "SELECT workspace FROM conversations WHERE soul = :soul ORDER BY last_ms DESC LIMIT 1", soul=soul
    )
    return row["workspace"] if row else ""


async def _finish(transaction: Transaction, ids: Sequence[str]) -> None:
    await transaction.run_for_each("DELETE FROM passport_unfinished WHERE id = :key", ids)


def _listed(entry: PassportEntry, *, begun: bool) -> Listed:
    kind, name, seq = entry.kind, entry.id, turn_seq(entry.id)
    number = None if seq is None or not name.endswith(f"_{seq}") else seq  # of a turn of a memory.db
    tail = f"{name.partition('_')[2].zfill(20)} {kind.prefix == 'TL'}"
    order = (_ORDER[kind.name], number is None, entry.row[kind.at] if number is None else number, tail)
    rests = tuple(one.target for one in entry.proofs)
    return Listed(entry.loaded.file, entry.loaded.digest, name, order, rests, begun, entry.made_of)


def _in_order(lines: Mapping[str, Listed]) -> list[Listed]:
    """Return the files so that each comes after those that it rests on, and those in a circle at the end."""
    sorter = TopologicalSorter({one.id: [id_ for id_ in one.rests if id_ in lines] for one in lines.values()})
    with suppress(CycleError):  # the others still come in their order
        sorter.prepare()
    left, ordered = dict(lines), list[Listed]()
    while ready := sorter.get_ready():
        ordered += sorted((left.pop(one) for one in ready), key=lambda one: one.order)
        sorter.done(*ready)
    return [*ordered, *sorted(left.values(), key=lambda one: one.order)]


def _fixed(kind: PassportKind, content: JSONObject, *, half: bool) -> JSONObject:
    """Return the content of a file without what changes by itself, and `half` without its links."""
    ours, moving = content["soul_daemon"], {*kind.moving, "place", *(["links"] if half else [])}
    assert isinstance(ours, Mapping)
    refs = kind.refs if half or not kind.record else {}
    kept = {name: value for name, value in content.items() if name not in refs}
    return {**kept, "soul_daemon": {name: value for name, value in ours.items() if name not in moving}}


def _covers(whole: object, part: object, *, ids: bool = False) -> bool:
    """Return True if `whole` contains `part`: fields at any depth, equal lists, and `ids` in any order."""
    if isinstance(part, Mapping) and isinstance(whole, Mapping):
        return all(
            name in whole and _covers(whole[name], value, ids=name.endswith("_refs")) for name, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list):
        same = len(part) == len(whole) and all(map(_covers, whole, part))
        return same or (ids and set(map(str, part)) <= set(map(str, whole)))
    numbers = type(part) in {int, float} and type(whole) in {int, float}
    return (numbers or type(part) is type(whole)) and part == whole
