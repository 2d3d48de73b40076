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

WORDLESS: Final = ("significance", "confidence", "valid_until_ms", "why_ended", "state")
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
