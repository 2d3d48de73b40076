"""Mental subprocesses: what the soul learns after a reply, cancelled when a newer turn begins (Open Souls)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.learning import Learning
from daemon.memory.knowledge.process_memories import ProcessMemories
from daemon.memory.knowledge.senses import Senses, SentFile
from daemon.memory.knowledge.soul_states import SoulStates
from daemon.memory.knowledge.turns import Turns
from daemon.memory.knowledge.user_models import UserModels
from daemon.mind.cognition import Mind
from daemon.soul import Soul

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SubprocessContext:
    """Everything a subprocess may use (seed 000): `audience` is who can read `conversation`.

    `read_files` fetches and reads the files that wait for it, and gives all with what was found.
    """

    mind: Mind
    soul: Soul
    conversation: ConversationKey
    audience: Audience
    turns: Turns
    user_models: UserModels
    learning: Learning
    soul_states: SoulStates
    process_memories: ProcessMemories
    senses: Senses
    read_files: Callable[[ConversationKey, Sequence[SentFile]], Awaitable[list[SentFile]]]
    episodes: Episodes
    clock: Clock
    trace_id: str
    emit: Emit

    async def think(self, memory: WorkingMemory, step: Step[T]) -> tuple[WorkingMemory, T]:
        """Run a step with the soul's own creativity, where it has one for it. Raises what `Mind.run` raises."""
        return await self.mind.run(
            memory, replace(step, creativity=self.soul.creativity_of(step.name, step.creativity))
        )


Subprocess = Callable[[SubprocessContext], Awaitable[None]]
"""May be cancelled at any moment and run again: it writes its result in one transaction or not at all.

Raises ModelError and StoreError.
"""
