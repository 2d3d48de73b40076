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
from daemon.memory.records import JSONObject
from daemon.mind.attention import Attention
from daemon.mind.cognition import Mind
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
class Means:
    """What the soul may use to solve a problem by its own choice of actions, as its admin and its folder allow.

    `limits` is None where it may not. `take_in` adds to a memory what was said in the conversation meanwhile; the one
    reply answers that too. `usage` gives the tokens and the US dollars spent since the perception came in. `recollect`
    searches what the soul may remember here. Who may permit what a tool would change: `approvers`, or whoever is being
    answered where there are none; for `approval_seconds`. `room_of` is where one of the soul's contacts can be written
    to, by their platform id. `may_intend` tells whether there is room for one more thing to be perceived later beside
    those planned already, `intended` what is to be perceived in a conversation. `emit` tells the log what failed.
    """

    limits: Limits | None = None
    library: Library | None = None
    toolbox: Toolbox | None = None
    approvals: Approvals | None = None
    recollect: Callable[[str, int], Awaitable[tuple[Passage, ...]]] = _nothing
    take_in: Callable[[WorkingMemory], Awaitable[WorkingMemory]] = _unchanged
    usage: Callable[[], tuple[int, float]] = lambda: (0, 0.0)
    may_intend: Callable[[int], Awaitable[bool]] = _always
    intended: Callable[[ConversationKey], Awaitable[tuple[Intention, ...]]] = _none_intended
    room_of: Callable[[str], Awaitable[Room]] = _nowhere
    approvers: tuple[str, ...] = ()
    approval_seconds: float = 900.0
    emit: Emit = _untold


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
    visit: Visit = field(default_factory=Visit)
    means: Means = Means()


@dataclass(frozen=True, slots=True)
class Stay:
    """The process ends this cycle and goes on being the current one; `keep` replaces its memory, None leaves it."""

    memory: WorkingMemory
    keep: JSONObject | None = None


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
