"""Distils what many visits come to: eight visits to a core, eight cores to a sphere, in one call each."""

from daemon.core.errors import MalformedReply, ModelRefused, NoAccess
from daemon.core.last_line import FAULTS
from daemon.memory.consolidation.distillate import DistillateRefused
from daemon.memory.consolidation.distilling import PART, Group, ToDistil, enough
from daemon.mind.steps.distil import distil, with_visits
from daemon.processes.consolidation.night import Night
from daemon.soul_engine import begin


async def distils(night: Night) -> None:
    """Distil all that waits for one audience; what comes to nothing is set aside for this night.

    After three answers that can't be used it goes no further. Raises BudgetSpent, ModelError and StoreError.
    """
    aside, refused = set[str](), 0
    next_group = night.stores.distilling.next
    while refused < FAULTS and (group := await next_group(night.audience, night.clock.now_ms(), night.paused, aside)):
        try:
            if not await _distilled(night, group):
                aside |= {*group.judged}
        except NoAccess:
            raise  # no fault of the group
        except (MalformedReply, ModelRefused, DistillateRefused) as fault:
            await _refuse(night, group, fault.message)
            aside |= {*group.judged}
            refused += 1


async def _distilled(night: Night, group: Group) -> bool:
    """Whether something came of them. Raises MalformedReply, ModelRefused, DistillateRefused for an unusable answer."""
    stores, sources = night.stores.distilling, list[ToDistil]()

    async def read(source: str) -> None:
        if (found := await stores.read(source)) is not None:
            sources.append(found)

    await night.each(PART, group.sources, read)
    if group.anew and len(sources) == len(group.sources) and not enough(sources):
        await stores.dissolve(night.run, group)
        return True
    if len(sources) < len(group.sources) or not enough(sources):
        return False
    memory = with_visits(begin(night.soul), [one.note for one in sources])
    _, made = await night.think(memory, distil(night.soul.display_name, len(sources)))
    kept = await stores.keep(night.run, group, sources, made)
    event = "memory.distilled" if kept else "memory.distillate_outrun"
    night.emit(event, memory=kept, sources=len(sources), trace=night.trace_id)
    return bool(kept)


async def _refuse(night: Night, group: Group, reason: str) -> None:
    """Note that what a model made of a group was not taken, and count it against the group."""
    await night.stores.distilling.refuse(night.run, group, reason)
    await night.stumble(PART, group.judged, reason)
    night.emit("memory.distillate_refused", audience=str(night.audience), reason=reason, trace=night.trace_id)
