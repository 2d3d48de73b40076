"""Mental processes: states of the soul that handle a perception with steps and say where they end up (seed 000)."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from daemon.attention import Attention
from daemon.cognition import Mind
from daemon.motor import Motor
from daemon.perception import Perception
from daemon.soul import Soul
from daemon.working_memory import WorkingMemory

JSONObject = Mapping[str, object]
"""Values that JSON can hold, by name: what is kept of a process in memory.db."""

MOST_HOPS = 10
"""Processes that one perception may run through by `execute_now` (Open Souls 3.3)."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The spell of talk that a perception belongs to; a configurable silence ends it.

    `number` counts this person's visits here from one; `exchanges` counts the replies already given in this visit.
    `silence` is the seconds since anybody last spoke in the conversation, zero at its beginning. `met` says that the
    soul has met the person before, where this conversation may know of it.
    """

    number: int = 1
    exchanges: int = 0
    silence: float = 0.0
    met: bool = False

    @property
    def begins(self) -> bool:
        """Whether this perception is its first."""
        return self.exchanges == 0


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """All that a mental process may touch: `perception` is the newest of those already integrated into `memory`.

    `process` is the process that runs and `previous` the one before it; `invocation` counts how often it ran before
    since it was entered, `params` are what it was entered with and `kept` is its own memory: what its last run gave to
    `Stay.keep`. `attention` tells when somebody has said something meanwhile.
    """

    memory: WorkingMemory
    perception: Perception
    mind: Mind
    motor: Motor
    soul: Soul
    attention: Attention
    process: str = ""
    previous: str = ""
    invocation: int = 0
    params: JSONObject = field(default_factory=dict)
    kept: JSONObject = field(default_factory=dict)
    visit: Visit = Visit()


@dataclass(frozen=True, slots=True)
class Stay:
    """The process ends this cycle and goes on being the current one; `keep` replaces its memory, None leaves it."""

    memory: WorkingMemory
    keep: JSONObject | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """The conversation goes over to the process `to`, at once with the same perception if `execute_now` (Open Souls 3.3).

    `reason` is for whoever traces it later: one sentence; `decided_by` is `rule` or `model`. To the process itself it
    is the same as staying.
    """

    memory: WorkingMemory
    to: str
    reason: str
    params: JSONObject = field(default_factory=dict)
    execute_now: bool = False
    decided_by: str = "rule"


Outcome = Stay | Transition

MentalProcess = Callable[[ProcessContext], Awaitable[Outcome]]
