"""Stores what a passport brings: in small steps, each with the links to what is there by then.

What is stored counts as unfinished until all links are; so a second run finishes an import that was cut off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from daemon.core.ports.clock import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.links import Link, link
from daemon.memory.passport.beside_forms import BesideForm
from daemon.memory.passport.beside_putting import Bounds, put_beside
from daemon.memory.passport.entries import Owner, PassportEntry
from daemon.memory.passport.forms import OurRecord
from daemon.memory.passport.listing import Listed, Listing, in_batches
from daemon.memory.passport.pictures import bring_pictures
from daemon.memory.passport.planning import Plan, plan
from daemon.memory.passport.reading import RefusedFile, named
from daemon.memory.passport.storing import put_entry

_AT_ONCE: Final = 100
"""Entries and links in one transaction, which has to be short."""

_FIELDS: Final = 5
"""How many names of fields are told."""

PLAIN: Final = Bounds()


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: memories stored, those that were here already, files that were refused, and new pictures.

    `left_out` counts the fields that are unknown here and kept nowhere; `fields` are the names of some.
    """

    stored: int
    unchanged: int
    refused: tuple[RefusedFile, ...]
    pictures: int = 0
    left_out: int = 0
    fields: tuple[str, ...] = ()


async def import_passport(
    database: Database, folder: Path, owner: Owner, clock: Clock, bounds: Bounds = PLAIN
) -> Imported:
    """Store what a passport brings and memory.db lacks; nothing that is here is changed. Raises StoreError."""
    done, _ = await bring(database, folder, owner, clock, bounds)
    return done


async def bring(database: Database, folder: Path, owner: Owner, clock: Clock, bounds: Bounds) -> tuple[Imported, Plan]:
    """The same, with what was decided about each file."""
    now = clock.now_ms()
    work = _Work(await plan(database, folder, Listing(folder, owner, now)))
    for listed, fresh in ((work.decided.resumed, False), (work.decided.entries, True)):
        for some in work.steps(listed):
            links = work.links_now(some)
            unit = partial(_put, entries=some if fresh else (), links=links, work=work, bounds=bounds, now=now)
            named, late = await database.write(unit)
            work.names |= named
            work.refused += [one.refuse(reason) for one, reason in late]
            work.done -= {one.id for one, _ in late}
            if fresh:
                work.leave_out(some)
    for ids in in_batches(work.done, _AT_ONCE):
        await database.write(partial(_finish, ids=[work.names.get(one, one) for one in ids]))
    pictures, strange = await bring_pictures(database, folder, bounds.room)
    refused = (*work.decided.refused, *work.refused, *strange)
    left_out, fields = work.left_out, tuple(work.fields)
    return Imported(len(work.done), work.decided.unchanged, refused, pictures, left_out, fields), work.decided


class _Work:
    """What is stored so far, by ids of the passport, and the links that wait for their other end."""

    def __init__(self, decided: Plan) -> None:
        self.decided = decided
        self.names = dict(decided.names)
        self.done: set[str] = set()
        self.refused: list[RefusedFile] = []
        self.left_out = 0
        self.fields: dict[str, None] = {}
        self._gone: set[str] = set()
        self._waiting: dict[str, list[Link]] = {}

    def steps(self, listed: Sequence[Listed]) -> Iterator[list[PassportEntry]]:
        """The entries that are looked at in one transaction each."""
        some, weight = list[PassportEntry](), 0
        for one in listed:
            entry = self.decided.listing.again(one)
            if isinstance(entry, PassportEntry) and (missing := self._missing(entry)):
                entry = entry.refuse(f"it rests on {missing}, which is not there")
            if isinstance(entry, RefusedFile):
                self._gone.add(one.id)
                self.refused.append(entry)
                continue
            some.append(self.decided.loose(entry))
            weight += 1 + len(entry.links)
            if weight > _AT_ONCE:
                yield some
                some, weight = [], 0
        if some:
            yield some

    def links_now(self, some: Sequence[PassportEntry]) -> list[Link]:
        """The links of which both ends are there once these entries are, each once, those with quotations first."""
        self.done |= {one.id for one in some}
        found = dict[Link, None]()
        for one in some:
            for two in (*one.links, *self._waiting.pop(one.id, ())):
                ends = (two.origin, two.target)
                later = [end for end in ends if end in self.decided.kept and end not in self.done]
                if later:
                    self._waiting.setdefault(later[0], []).append(two)
                elif all(map(self.decided.knows, ends)):
                    found[two] = None
        return sorted(found, key=lambda link: not link.quote)

    def leave_out(self, some: Sequence[PassportEntry]) -> None:
        """Count the fields without which those of the entries that are stored were brought."""
        for one in some:
            names = one.within(self.decided.knows).left_out if one.id in self.done else ()
            self.left_out += len(names)
            self.fields |= dict.fromkeys(map(named, names[: _FIELDS - len(self.fields)]))

    def _missing(self, entry: PassportEntry) -> str:
        """What an entry rests on and is gone since it was decided."""
        ours = entry.form.soul_daemon
        targets = (one.target for one in ours.links) if isinstance(ours, OurRecord) else ()
        return next((one for one in targets if one in self._gone), "")


async def _put(
    transaction: Transaction,
    *,
    entries: Sequence[PassportEntry],
    links: Sequence[Link],
    work: _Work,
    bounds: Bounds,
    now: int,
) -> tuple[dict[str, str], list[tuple[PassportEntry, str]]]:
    """Store entries and links; gives the ids here of turns that got another one than in the passport, and refusals."""
    named, refused = dict[str, str](), list[tuple[PassportEntry, str]]()
    for entry in entries:
        kept = entry.within(work.decided.knows)
        if isinstance(kept.form, BesideForm):
            if reason := await put_beside(transaction, kept, kept.form, bounds, now):
                refused.append((entry, reason))
        elif (name := await put_entry(transaction, kept, now, as_is=bounds.as_is)) != entry.id:
            named[entry.id] = name

    def here(name: str) -> str:
        return named.get(name) or work.names.get(name, name)

    unfinished = "INSERT INTO passport_unfinished (id) VALUES (:key) ON CONFLICT DO NOTHING"
    await transaction.run_for_each(unfinished, [here(one.id) for one in entries])
    tied = [replace(one, origin=here(one.origin), target=here(one.target)) for one in links]
    await link(transaction, tied, now)
    return named, refused


async def _finish(transaction: Transaction, ids: Sequence[str]) -> None:
    await transaction.run_for_each("DELETE FROM passport_unfinished WHERE id = :key", ids)
