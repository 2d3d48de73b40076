"""Merges facts that say the same: the older one stays, and the newer one is linked as superseded by it."""

from collections.abc import Sequence
from typing import Final

from daemon.core.perception import Audience
from daemon.core.value import Value
from daemon.memory.consolidation.runs import Run, Runs, lost_in, may_lose, note_seen, unseen
from daemon.memory.consolidation.undo import Recorder
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.learning import model_key_of, new_version
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import get
from daemon.memory.records import read_row

PART: Final = "merges_facts"

_LOOKED_AT: Final = 200  # new facts of one audience in a night
_BESIDE: Final = 400  # newest facts of the same person to compare them with
_CLAIMANT: Final = "CASE r.trust WHEN 'claim' THEN f.claimed_by ELSE '' END"
_COLUMNS: Final = f"""
    r.id, r.seq, r.person, {_CLAIMANT} AS claimed_by, r.trust, f.subject, f.predicate, f.object, r.text, 0 AS is_new
    FROM records r JOIN facts f ON f.id = r.id
"""
_SURER: Final = 0.02  # added confidence of a fact that was said twice
_MOST_SURE: Final = 0.99


class Line(Value):
    """The compared fields of a fact. `claimed_by` is empty unless the fact is a claim."""

    id: str
    seq: int
    person: str
    claimed_by: str
    trust: Trust
    subject: str
    predicate: str
    object: str
    text: str
    is_new: bool


class Merging:
    """Reads facts of one audience that were not compared yet, and merges those that say the same."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def new_groups(self, audience: Audience) -> tuple[tuple[Line, ...], ...]:
        """Return the facts that hold now in groups by person and claimant, oldest first. Each group has a new fact."""
        new = frozenset(await self._runs.facts(audience, unseen(PART), _LOOKED_AT))

        async def unit(transaction: Transaction) -> tuple[tuple[Line, ...], ...]:
            lines = [found for one in new if (found := await _line(transaction, one, new))]
            groups: dict[tuple[str, str], dict[str, Line]] = {}
            for line in lines:
                key = (line.person, line.claimed_by)
                if key not in groups:
                    groups[key] = {one.id: one for one in await _of_same(transaction, line, audience, new)}
                groups[key][line.id] = line
            return tuple(tuple(sorted(one.values(), key=lambda line: line.seq)) for one in groups.values())

        return await self._runs.read(unit) if new else ()

    async def merge(self, run: Run, stays: Line, goes: Line, standing: int, most_lost: float, *, lossy: bool) -> bool:
        """End `goes` in favour of `stays`, if both are unchanged and still hold. Raises LostLease.

        `lossy`: the two differ in words, and count against the share `most_lost` of the `standing` lines.
        """

        async def unit(recorder: Recorder) -> bool:
            transaction = recorder.transaction
            first, second = await get(transaction, stays.id), await get(transaction, goes.id)
            if not (_is_still(first, stays) and _is_still(second, goes)):
                return False
            assert isinstance(first, Fact)
            assert isinstance(second, Fact)
            lost = await lost_in(transaction, recorder.run, goes.person)
            if lossy and not may_lose(lost, standing, most_lost):
                return False
            sure = min(_MOST_SURE, max(first.confidence, second.confidence) + _SURER)
            significance = max(first.significance, second.significance)
            await recorder.change(first.id, "confirmed", confidence=sure, significance=significance)
            await recorder.change(
                second.id, "superseded", lost=lossy, valid_until_ms=recorder.now, why_ended="superseded"
            )
            await recorder.link([Link(first.id, Relation.SUPERSEDES, second.id)])
            if second.person:
                await new_version(transaction, model_key_of(second), {"merged": [[second.id, first.id]]}, recorder.now)
            return True

        return await self._runs.write(run, PART, unit)

    async def note_seen(self, run: Run, ids: Sequence[str]) -> None:
        """Note that these facts are compared with all others. Raises LostLease."""

        async def unit(recorder: Recorder) -> None:
            await note_seen(recorder.transaction, PART, ids, recorder.now)

        await self._runs.write(run, PART, unit)


async def _line(transaction: Transaction, fact: str, new: frozenset[str]) -> Line | None:
    row = await transaction.one(f"SELECT {_COLUMNS} WHERE r.id = :id", id=fact)
    return _read(row, new) if row else None


async def _of_same(transaction: Transaction, line: Line, audience: Audience, new: frozenset[str]) -> list[Line]:
    rows = await transaction.rows(
        f"""
        SELECT {_COLUMNS} WHERE r.person = :person AND r.kind = 'fact'
          AND (r.soul, r.workspace) = (SELECT soul, workspace FROM records WHERE id = :id) AND r.audience = :audience
          AND f.valid_until_ms IS NULL AND {_CLAIMANT} = :claimed_by ORDER BY r.seq DESC LIMIT {_BESIDE}
        """,  # noqa: S608 - constants
        person=line.person,
        id=line.id,
        audience=str(audience),
        claimed_by=line.claimed_by,
    )
    return [_read(row, new) for row in rows]


def _read(row: sqlite3.Row, new: frozenset[str]) -> Line:
    return read_row(Line, row, trust=Trust, is_new=lambda _: row["id"] in new)


def _is_still(fact: object, line: Line) -> bool:
    return isinstance(fact, Fact) and fact.valid_until_ms is None and fact.text == line.text
