"""Mental processes: states of the soul that handle a perception with steps and say where they end up (seed 000)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from daemon.core.errors import ChannelRefused
from daemon.core.limits import Limits
from daemon.core.perception import ConversationKey, Perception
from daemon.core.ports import Emit, Library, Passage, Room, Toolbox
from daemon.core.working_memory import WorkingMemory
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.intentions import Intention
from daemon.memory.records import JSONObject, ProcessState
from daemon.mind.cognition import Mind
from daemon.mind.interrupts import Interrupt
from daemon.mind.motor import Motor
from daemon.mind.recall.visit import Visit
from daemon.soul import Soul

MOST_HOPS = 10
"""Processes that one perception may run through by `execute_now` (Open Souls 3.3)."""


async def _nothing(query: str, limit: int) -> tuple[Passage, ...]:
    return ()


async def _none_intended(conversation: ConversationKey) -> tuple[Intention, ...]:
    return ()


async def _always(planned: int) -> bool:
    return True


async def _nowhere(contact: str) -> Room:
    raise ChannelRefused(f"{contact} can't be written to from here", code="unreachable")


def _untold(event: str, /, **fields: object) -> None:
    """Nobody listens."""


async def _unchanged(memory: WorkingMemory) -> WorkingMemory:
    return memory


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the soul may use to solve a problem by its own choice of actions, as its admin and its folder allow.

    `limits` is None where the autonomous loop may not run. `absorb_new_messages` adds new messages of the conversation
    to a memory, so that one reply answers them too. `usage` gives the tokens and US dollars spent on this cycle.
    `recollect` searches what the soul may remember here. `approvers` may permit what a tool would change; without them
    the user who is answered may, for `approval_seconds`. `find_room` finds where to write to a contact, by platform id.
    `may_intend` tells whether one more intention fits beside those planned, `intended` lists those of a conversation.
    `emit` logs an event.
    """

    limits: Limits | None = None
    library: Library | None = None
    toolbox: Toolbox | None = None
    approvals: Approvals | None = None
    recollect: Callable[[str, int], Awaitable[tuple[Passage, ...]]] = _nothing
    absorb_new_messages: Callable[[WorkingMemory], Awaitable[WorkingMemory]] = _unchanged
    usage: Callable[[], tuple[int, float]] = lambda: (0, 0.0)
    may_intend: Callable[[int], Awaitable[bool]] = _always
    intended: Callable[[ConversationKey], Awaitable[tuple[Intention, ...]]] = _none_intended
    find_room: Callable[[str], Awaitable[Room]] = _nowhere
    approvers: tuple[str, ...] = ()
    approval_seconds: float = 900.0
    emit: Emit = _untold


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """All that a mental process may touch: `perception` is the newest of those already integrated into `memory`.

    `state` is the process that runs: how often it ran before since it was entered, what it was entered with, and its
    process memory, which its last run gave to `Stay.process_memory`. `interrupt` tells when a new message has arrived.
    """

    memory: WorkingMemory
    perception: Perception
    mind: Mind
    motor: Motor
    soul: Soul
    interrupt: Interrupt
    state: ProcessState = field(default_factory=ProcessState)
    visit: Visit = field(default_factory=Visit)
    capabilities: Capabilities = Capabilities()


@dataclass(frozen=True, slots=True)
class Stay:
    """The process ends this cycle and stays the current one; `process_memory` replaces its own, None keeps it."""

    memory: WorkingMemory
    process_memory: JSONObject | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """The conversation goes over to `to`, at once with the same perception if `execute_now` (Open Souls 3.3).

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
