"""Undoes runs of consolidation, and records each change of a run in order to be able to undo it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, TypeVar

from daemon.core.errors import StoreError
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.learning import model_key_of, new_version
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Fact, Record
from daemon.memory.knowledge.records.ledger import last_write
from daemon.memory.knowledge.records.links import Link, link
from daemon.memory.knowledge.records.store import change, get, put
from daemon.memory.records import as_json

_WHY = "a night's work was undone"
_STAMPED = ("put", "change")  # acts that write to a record


class Kept(Value):
    """A memory that stays as the run left it, at least in part, and the reason."""

    id: str
    why: str


class Undone(Value):
    """The result of an undo: the ids of the memories that are restored, and those that are kept."""

    run: str
    restored: tuple[str, ...]
    kept: tuple[Kept, ...]


async def undo(transaction: Transaction, run: str, now: int) -> Undone:
    """Undo a run, newest change first. Raises StoreError if there is no such run, or it can't be undone.

    No former words are kept for this. Fields without words get their former value. Records that the run made are
    forgotten along their links.
    """
    row = await transaction.one("SELECT * FROM consolidations WHERE id = :run", run=run)
    if row is None:
        raise StoreError(f"there is no run {run}", hint="see `soul memory runs`")
    if row["state"] in {"running", "undone"}:
        said = "is under way" if row["state"] == "running" else "was undone already"
        raise StoreError(f"run {run} {said}", hint="see `soul memory runs`")
    changes = await transaction.rows("SELECT * FROM consolidation_changes WHERE run = :run ORDER BY seq DESC", run=run)
    work = _Undoing(transaction, now)
    for _, unit in groupby(changes, key=lambda one: one["unit"]):
        await work.unit(list(unit))
    await work.outdate_models()
    await transaction.run("UPDATE consolidations SET state = 'undone' WHERE id = :run", run=run)
    kept = tuple(Kept(one, why) for one, why in work.kept.items())
    return Undone(run, tuple(one for one in dict.fromkeys(work.restored) if one not in work.kept), kept)


class _Undoing:
    """Undoes units. `_stamps` holds the last write before the undone changes, by record."""

    def __init__(self, transaction: Transaction, now: int) -> None:
        self._transaction = transaction
        self._now = now
        self._stamps: dict[str, int] = {}
        self._models: dict[str, dict[str, str]] = {}
        self.restored: list[str] = []
        self.kept: dict[str, str] = {}

    async def unit(self, changes: Sequence[sqlite3.Row]) -> None:
        """Undo the changes of a unit, newest first, unless one of its records was changed or forgotten since."""
        stamps = dict(self._stamps)
        hindrances = [found for one in changes if (found := await self._hindrance(one, stamps))]
        for one in changes:
            if hindrances:
                self.kept.setdefault(one["object"], hindrances[0])
            else:
                await self._undo(one)

    async def _hindrance(self, one: sqlite3.Row, stamps: dict[str, int]) -> str:
        if await get(self._transaction, one["object"]) is None:
            return "it was forgotten since"
        if one["act"] not in _STAMPED:
            return ""
        stamp = stamps.get(one["object"], await last_write(self._transaction, one["object"]))
        stamps[one["object"]] = one["stamp_before"]
        return "" if stamp == one["stamp"] else "it was changed since"

    async def _undo(self, one: sqlite3.Row) -> None:
        former = json.loads(one["former"])
        target = one["object"]
        if one["act"] == "put":
            await forget(self._transaction, [target], self._now, _WHY)
        elif one["act"] == "change":
            await self._change_back(target, former)
        else:
            await self._transaction.run(
                "DELETE FROM links WHERE origin = :origin AND relation = :relation AND target = :target",
                origin=target,
                **former,
            )
        if one["act"] in _STAMPED:
            self._stamps[target] = one["stamp_before"]
        if one["act"] != "link":
            self.restored.append(target)

    async def _change_back(self, record_id: str, former: Mapping[str, object]) -> None:
        record = await change(self._transaction, record_id, self._now, _WHY, **former)
        if isinstance(record, Fact) and record.person:
            key = model_key_of(record)
            self._models[as_json(key)] = key

    async def outdate_models(self) -> None:
        """Give each changed user model a new version, which makes a revision under way fail."""
        for key in self._models.values():
            await new_version(self._transaction, key, {"undone": True}, self._now)


R = TypeVar("R", bound=Record)

WORDLESS: Final = ("significance", "confidence", "valid_until_ms", "why_ended", "state")
"""The fields of records that a run may change and undo. None holds words, because a copy would outlive forgetting."""


@dataclass(slots=True)
class Recorder:
    """Writes one unit of a run in its transaction. A unit is undone as a whole or not at all.

    `part` is the name of the part of consolidation, `now` the time in ms. `changed` holds the ids of the records that
    were made or changed.
    """

    transaction: Transaction
    run: str
    part: str
    unit: int
    now: int
    changed: list[str] = field(default_factory=list)

    async def put(self, record: R, links: Sequence[Link] = ()) -> R:
        """Store a new record with its links, as `records.store.put` does. Raises BrokenLink, HeardByMore."""
        kept = await put(self.transaction, record, self.now, links)
        await self._note("put", kept.id, {}, 0)
        self.changed.append(kept.id)
        return kept

    async def change(self, record_id: str, reason: str, /, *, lost: bool = False, **fields: object) -> Record:
        """Change fields of a record that hold no words. `lost`: a line that a user could read is gone.

        Raises NoSuchRecord, and ValueError for any other field.
        """
        if others := set(fields) - set(WORDLESS):
            raise ValueError(f"{', '.join(sorted(others))} can't be undone without a copy of words")
        before = await get(self.transaction, record_id)
        stamp = await last_write(self.transaction, record_id)
        after = await change(self.transaction, record_id, self.now, reason, **fields)
        former = {name: getattr(before, name) for name in fields}
        await self._note("change", record_id, former, stamp, lost=lost)
        self.changed.append(record_id)
        return after

    async def link(self, links: Sequence[Link]) -> None:
        """Store links, as `records.links.link` does. Raises BrokenLink, HeardByMore."""
        await link(self.transaction, links, self.now)
        for one in links:
            await self._note("link", one.origin, {"relation": str(one.relation), "target": one.target}, 0)

    async def _note(
        self, act: str, target: str, former: dict[str, object], stamp_before: int, *, lost: bool = False
    ) -> None:
        await self.transaction.insert(
            "consolidation_changes",
            run=self.run,
            unit=self.unit,
            part=self.part,
            act=act,
            object=target,
            former=as_json(former),
            stamp_before=stamp_before,
            stamp=await last_write(self.transaction, target),
            lost=int(lost),
        )
