"""Mental processes: states of the soul that handle a perception with steps and say where they end up (seed 000)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from daemon.cognition import Mind
from daemon.motor import Motor
from daemon.perception import Perception
from daemon.soul import Soul
from daemon.working_memory import WorkingMemory


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """All that a mental process may touch: `perception` is the newest of those already integrated into `memory`."""

    memory: WorkingMemory
    perception: Perception
    mind: Mind
    motor: Motor
    soul: Soul


@dataclass(frozen=True, slots=True)
class Stay:
    """The process ends this cycle and goes on being the current one."""

    memory: WorkingMemory


MentalProcess = Callable[[ProcessContext], Awaitable[Stay]]
