"""Mental subprocesses: what the soul does after it has spoken, given up when a newer turn begins (Open Souls 3.4)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports import Clock, Emit
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.soul_states import SoulStates
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModels
from daemon.mind.cognition import Mind, Step
from daemon.soul import Soul

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubprocessContext:
    """All that a subprocess may touch, handed in (seed 000): `audience` is who listens in `conversation`."""

    mind: Mind
    soul: Soul
    conversation: ConversationKey
    audience: Audience
    turns: Turns
    user_models: UserModels
    soul_states: SoulStates
    clock: Clock
    trace_id: str
    emit: Emit

    async def think(self, memory: WorkingMemory, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Run a step with the soul's own creativity, where it has one for it. Raises what `Mind.run` raises."""
        return await self.mind.run(
            memory, replace(step, creativity=self.soul.creativity_of(step.name, step.creativity))
        )


Subprocess = Callable[[SubprocessContext], Awaitable[None]]
"""May be cancelled at any moment and done again: whatever lasts is written at once, or not at all.

Raises ModelError and StoreError.
"""
