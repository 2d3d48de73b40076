"""The means of a part of consolidation, within one slot's token budget, and the part that distils."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec import field
from msgspec.structs import replace

from daemon.core.errors import CapMet, DaemonError, MalformedReply, ModelRefused, ModelUnavailable, NoAccess
from daemon.core.last_line import FAULTS, in_short
from daemon.core.perception import Audience
from daemon.core.ports.services import Clock, Emit, LLMCall
from daemon.core.step import Step
from daemon.core.value import Value
from daemon.core.working_memory import WorkingMemory, estimate_tokens
from daemon.memory.consolidation.distilling import PART, DistillateRefused, Group, ToDistil, enough
from daemon.memory.consolidation.runs import Run
from daemon.memory.consolidation.slots import NightStores
from daemon.memory.knowledge.records.links import BrokenLink, HeardByMore
from daemon.memory.knowledge.records.store import NoSuchRecord
from daemon.mind.cognition import Mind
from daemon.mind.steps.distil import distil, with_visits
from daemon.soul import Soul
from daemon.soul_engine import begin

T = TypeVar("T")

_ITS_OWN = (NoSuchRecord, BrokenLink, HeardByMore)  # faults of the record that is worked on
_WITH_REPAIR = 2  # calls that one step may cost


@dataclass(slots=True)
class Outage:
    """The number of times in a row that no model could be reached in a slot. After three times none is asked again."""

    failures: int = 0


class BudgetSpent(DaemonError):
    """The rest of the token budget does not suffice for the next model call."""


class Night(Value):
    """The work for one audience of one soul. `paused` are people of whom nothing may be remembered now.

    `mind` collects its calls in `calls`. `budget` is the number of tokens that all audiences of the slot may use. They
    also share `outage`. `faults` are the reasons for unfinished work, by part.
    """

    soul: Soul
    run: Run
    stores: NightStores
    paused: frozenset[str]
    mind: Mind
    calls: list[LLMCall]
    budget: int
    clock: Clock
    emit: Emit
    trace_id: str
    outage: Outage
    faults: list[str] = field(default_factory=list)

    @property
    def audience(self) -> Audience:
        return self.run.audience

    async def think(self, memory: WorkingMemory, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Run a step for this audience and charge it to the budget.

        Raises BudgetSpent before a call that exceeds the budget or a cap, StoreError, and what `Mind.run` raises.
        After three calls in a row that reached no model it raises ModelUnavailable without a call.
        """
        if self.outage.failures >= FAULTS:
            raise ModelUnavailable("no model could be reached", hint="the next night goes on")
        step = replace(step, creativity=self.soul.creativity_of(step.name, step.creativity))
        prompt = self.mind.render(memory, step)
        asked = estimate_tokens(
            "\n".join([*(part.text for part in prompt.system), *(one.text for one in prompt.messages)])
        )
        left = self.budget - await self.stores.runs.spent(self.run.slot)
        if left < _WITH_REPAIR * (asked + step.max_output_tokens):
            raise BudgetSpent(
                f"{max(0, left)} of {self.budget} tokens are left", hint="the next night goes on, or raise the budget"
            )
        await self.stores.runs.begin(self.run)
        try:
            thought = await self.mind.run(memory, step)
        except CapMet as met:
            raise BudgetSpent(met.message, hint="the next night goes on, or raise the cap") from met
        except (ModelUnavailable, NoAccess):
            self.outage.failures += 1
            raise
        else:
            self.outage.failures = 0
            return thought
        finally:
            calls, self.calls[:] = tuple(self.calls), []
            await self.stores.runs.charge(self.run, calls)

    async def each(self, part: str, ids: Iterable[str], work: Callable[[str], Awaitable[object]]) -> None:
        """Do some work on one record after the other.

        An unexpected failure, or one of the record itself, is counted against the record and does not stop the rest.
        Finally the record is parked. Raises DaemonError alone.
        """
        wanted = tuple(ids)
        parked = await self.stores.items.parked(part, wanted) if wanted else frozenset()
        for one in wanted:
            if one in parked:
                continue
            try:
                await work(one)
            except Exception as error:
                if isinstance(error, DaemonError) and not isinstance(error, _ITS_OWN):
                    raise
                await self.stumble(part, (one,), in_short(error))

    async def stumble(self, part: str, ids: Sequence[str], reason: str) -> None:
        """Count a failure against its records, once a slot. After three slots they are parked."""
        self.faults.append(f"{part}: {reason}")
        for one in ids:
            dead = await self.stores.items.count_fault(part, one, reason, self.run.slot.at_ms)
            event = "consolidation.parked" if dead else "consolidation.stumbled"
            self.emit(event, part=part, memory=one, reason=reason)

    async def one_by_one(
        self,
        part: str,
        groups: Iterable[T],
        ids_of: Callable[[T], Sequence[str]],
        work: Callable[[T], Awaitable[object]],
    ) -> None:
        """Work on one group of records after the other. A failed model call about one does not stop the rest.

        An unusable answer counts against the records of its group. The work ends after three failures. Raises the last
        ModelUnavailable or NoAccess in the end, and any different error at once.
        """
        failures, down = 0, None
        for group in groups:
            try:
                await work(group)
            except (ModelUnavailable, NoAccess) as fault:
                down = fault
            except (MalformedReply, ModelRefused) as fault:
                await self.stumble(part, ids_of(group), fault.message)
            else:
                continue
            failures += 1
            if failures == FAULTS:
                break
        if down is not None:
            raise down


Part = Callable[[Night], Awaitable[None]]
"""A function that looks for work, and makes no call and no row without any. It may be killed anywhere and begun again.

Raises BudgetSpent, ModelError and StoreError.
"""

Parts = Mapping[str, Part]


async def distils(night: Night) -> None:
    """Distil all that waits for one audience. A group without a result is set aside for this night.

    The work ends after three unusable answers. Raises BudgetSpent, ModelError and StoreError.
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
    """Distil a group, and return whether it has a result. Raises ModelError and DistillateRefused."""
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
    await night.stores.distilling.refuse(night.run, group, reason)
    await night.stumble(PART, group.judged, reason)
    night.emit("memory.distillate_refused", audience=str(night.audience), reason=reason, trace=night.trace_id)
