"""Has a model judge what a soul expected and no rule decided, where the soul's folder wants that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import CapMet, ModelError
from daemon.core.fencing import fresh_nonce
from daemon.core.last_line import in_short
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit, LLMCall
from daemon.core.spending import Charge, TickBudget
from daemon.core.tempo import AGAIN_MS
from daemon.memory.queues.judging import Judgements, ToJudge
from daemon.mind.recall import as_memory
from daemon.mind.steps.judge import judge, what_came_of
from daemon.runtime.consolidation import MakesMind
from daemon.runtime.cycle_state import new_trace
from daemon.soul import Soul

_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges for one soul, one expectation after the other, within its budget for unasked thoughts."""

    judgements: Judgements
    soul: Callable[[], Soul]
    tick_budget: Callable[[Soul], TickBudget | None]
    mind: MakesMind
    clock: Clock
    emit: Emit

    async def run(self) -> None:
        """Look each minute until cancelled. Raises StoreError."""
        while True:
            await self.clock.sleep(await self.look())

    async def look(self) -> float:
        """Judge all that waits; gives the seconds until the next look. Raises StoreError."""
        soul = self.soul()
        budget = self.tick_budget(soul) if soul.cycle.judge else None
        while budget is not None and (one := await self.judgements.take()) is not None:
            try:
                await self._judge(soul, budget, one)
            except CapMet as met:
                await self.judgements.put_back(one)
                self.emit("prediction.put_off", reason=met.message)
                return AGAIN_MS / 1000
        return _EVERY_S

    async def _judge(self, soul: Soul, budget: TickBudget, one: ToJudge) -> None:
        """Ask once; without words to judge by nobody is asked. Raises CapMet, StoreError."""
        calls, came = list[LLMCall](), None
        if one.turns:
            charge = Charge(new_trace(), one.person, one.conversation.channel, background=True, tick=budget)
            mind = await self.mind(soul, calls.append, charge, (one.audience, one.read_by), fresh_nonce())
            memory = what_came_of(soul.display_name, one.what, [as_memory(turn) for turn in one.turns])
            try:
                _, came = await mind.run(memory, judge())
            except ModelError as error:
                if isinstance(error, CapMet):
                    raise
                self.emit("prediction.not_judged", reason=in_short(error))
        await self.judgements.keep(one, came, calls)
