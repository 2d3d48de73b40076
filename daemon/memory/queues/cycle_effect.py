"""One cycle's whole effect, as a value: what the commit makes lasting at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.core.ports import LLMCall
from daemon.memory.knowledge.state_history import PathStep
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cross_posts import Errand
from daemon.memory.queues.intentions import NewIntention
from daemon.memory.records import Claim, Heard, ProcessState, Spell, Turn


@dataclass(frozen=True, slots=True)
class CycleEffect:
    """Everything lasting that one cycle did: words heard and said, the reply's parts, states, jobs and model calls.

    `answered` are the rows that end here; `ignored` maps a row's id to the reason why it gets no reply. `path` is how
    the mental processes went. `approval` is the question under the last part, which waits for a click; `errand` what
    is said elsewhere, as somebody clicked.
    `silence_ms` is the silence that ends a visit; `most_intentions` how many may wait at once.
    """

    claim: Claim
    trace_id: str
    state: ProcessState
    spell: Spell
    turns: tuple[Turn, ...]
    parts: tuple[str, ...]
    reply_to: str
    recipient: str
    posted_after: str
    answered: tuple[Heard, ...]
    ignored: Mapping[str, str] = field(default_factory=dict)
    path: tuple[PathStep, ...] = ()
    intentions: tuple[NewIntention, ...] = ()
    cancelled: tuple[str, ...] = ()
    approval: NewApproval | None = None
    errand: Errand | None = None
    jobs: tuple[str, ...] = ()
    calls: tuple[LLMCall, ...] = ()
    silence_ms: int = 0
    most_intentions: int = 0
