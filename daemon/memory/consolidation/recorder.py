"""Writes memories in the name of a run, and notes what is needed to undo it: never words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Record
from daemon.memory.knowledge.records.ledger import last_write
from daemon.memory.knowledge.records.links import Link, link
from daemon.memory.knowledge.records.store import change, get, put
from daemon.memory.records import as_json

R = TypeVar("R", bound=Record)

WORDLESS: Final = (
    *("significance", "trust", "confidence", "valid_from_ms", "valid_until_ms", "why_ended", "state", "closed_ms"),
)
"""Fields of records that a run may change and undo: none holds words, so that no copy outlives forgetting them."""


@dataclass(slots=True)
class Recorder:
    """Writes one unit of a run, in its transaction; the unit is undone as a whole or not at all.

    `part` is the name of the part of consolidation that writes, `now` the time in ms. `changed` are the ids of the
    records that were made or changed.
    """

    transaction: Transaction
    run: str
    part: str
    unit: int
    now: int
    changed: list[str] = field(default_factory=list)

    async def put(self, record: R, links: Sequence[Link] = ()) -> R:
        """Store a new record with its links; see `records.store.put`. Raises BrokenLink, HeardByMore."""
        kept = await put(self.transaction, record, self.now, links)
        await self._note("put", kept.id, {}, 0)
        self.changed.append(kept.id)
        return kept

    async def change(self, record_id: str, reason: str, /, *, lost: bool = False, **fields: object) -> Record:
        """Change fields without words of a record. `lost`: a line that a person could read is gone with it.

        Raises NoSuchRecord; ValueError for any other field.
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
        """Store links; see `records.links.link`. Raises BrokenLink, HeardByMore."""
        await link(self.transaction, links, self.now)
        for one in links:
            await self._note("link", one.origin, {"relation": str(one.relation), "target": one.target}, 0)

    async def quote(self, fact: str, turn: str, words: str) -> None:
        """Let a link to a source that nobody quoted say which of its words prove the fact."""
        await self.transaction.run(
            """
            UPDATE links SET quote = :words, linked_ms = :now
            WHERE origin = :fact AND relation = 'evidence' AND target = :turn AND quote = ''
            """,
            words=words,
            now=self.now,
            fact=fact,
            turn=turn,
        )
        await self._note("quote", fact, {"target": turn}, 0)

    async def whispers_gone(self, model: str, version_before: int, version: int) -> None:
        """Note that the guesses of a person's model, named by its key as JSON, are gone with its new version."""
        await self._note("whispers", model, {"version": version_before}, version_before, stamp=version)
        self.changed.append(model)

    async def _note(
        self,
        act: str,
        target: str,
        former: dict[str, object],
        stamp_before: int,
        *,
        stamp: int | None = None,
        lost: bool = False,
    ) -> None:
        after = await last_write(self.transaction, target) if stamp is None else stamp
        await self.transaction.insert(
            "consolidation_changes",
            run=self.run,
            unit=self.unit,
            part=self.part,
            act=act,
            object=target,
            former=as_json(former),
            stamp_before=stamp_before,
            stamp=after,
            lost=int(lost),
        )
