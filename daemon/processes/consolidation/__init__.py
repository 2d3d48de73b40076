"""Consolidation of memories while no user speaks: each part is named by a present-tense sentence."""

from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from daemon.memory.consolidation.merging import PART, Line
from daemon.mind.matter import Pair, alike_pairs, same_pairs
from daemon.mind.steps.same_lines import same_lines, with_pairs
from daemon.processes.consolidation.night import Night, Parts, distils
from daemon.soul_engine import begin


async def merges_facts(night: Night) -> None:
    """Compare facts that are new since the last look with the other facts about their person.

    Raises BudgetSpent, ModelError and StoreError.
    """
    groups = await night.stores.merging.new_groups(night.audience)
    awake = [one for one in groups if night.paused.isdisjoint((one[0].person, one[0].claimed_by))]
    await night.one_by_one(PART, awake, _new_in, partial(_merge_group, night))


def _new_in(lines: Sequence[Line]) -> list[str]:
    return [line.id for line in lines if line.is_new]


async def _merge_group(night: Night, lines: Sequence[Line]) -> None:
    """Merge the facts about one person by one claimant."""
    same = same_pairs(lines)
    await _merge(night, same, lines, lossy=False)
    waits = set[str]()
    gone = {pair.goes.id for pair in same}
    left = [line for line in lines if line.id not in gone]
    if alike := alike_pairs(left):
        memory = with_pairs(begin(night.soul), [(pair.stays.text, pair.goes.text) for pair in alike])
        _, told = await night.think(memory, same_lines(len(alike)))
        waits = await _merge(night, [pair for place, pair in enumerate(alike) if place in told], left, lossy=True)
    seen = [one for one in _new_in(lines) if one not in waits]
    await night.stores.merging.note_seen(night.run, seen)


async def _merge(night: Night, pairs: Sequence[Pair], lines: Sequence[Line], *, lossy: bool) -> set[str]:
    """Merge pairs. Return the ids of new lines that have to wait, since too much would be lost at once."""
    by_gone = {pair.goes.id: pair for pair in pairs}
    waits = set[str]()
    merge = partial(
        night.stores.merging.merge, night.run, standing=len(lines), most_lost=night.soul.notes.most_lost, lossy=lossy
    )

    async def one(gone: str) -> None:
        stays, goes = by_gone[gone]
        if not await merge(stays, goes):
            waits.update((stays.id, goes.id))

    await night.each(PART, by_gone, one)
    return waits


PARTS: Final[Parts] = MappingProxyType({"merges_facts": merges_facts, "distils": distils})
"""The parts in the order of execution."""
