"""The whole effect of one cycle as a value, which the commit stores in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.core.fencing import NO_NONCE, Nonce
from daemon.core.ports import LLMCall
from daemon.memory.knowledge.state_history import PathStep
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.cross_posts import CrossPost
from daemon.memory.queues.intentions import NewIntention
from daemon.memory.records import Claim, Dismissal, InboxMessage, ProcessState, Turn, VisitState


@dataclass(frozen=True, slots=True)
class AwayNote:
    """One line that tells a user, once, that messages are not answered because they became too old."""

    text: str
    reply_to: str
    recipient: str
    newer_than_ts: str


@dataclass(frozen=True, slots=True)
class CycleEffect:
    """Everything that one cycle stores: turns, the parts of the reply, states, jobs and model calls.

    `answered` rows are settled; `dismissed` maps a row's id to why it gets no reply. `path` is the path through the
    mental processes. `approval` is the question under the last part, which waits for a click; `cross_post` is posted
    in another conversation, as a user approved; `away` is posted after the parts. `visit_timeout_ms` is the silence
    that ends a visit; `most_intentions` caps the intentions that wait at once. `outsider_spoke`: a user who isn't a
    full member wrote in the conversation. `nonce` fences the conversation's prompts. `zones` are the time zones of
    those who wrote, by platform id.
    """

    claim: Claim
    trace_id: str
    state: ProcessState
    visit_state: VisitState
    turns: tuple[Turn, ...]
    parts: tuple[str, ...]
    reply_to: str
    recipient: str
    newer_than_ts: str
    answered: tuple[InboxMessage, ...]
    dismissed: Mapping[str, Dismissal] = field(default_factory=dict)
    path: tuple[PathStep, ...] = ()
    intentions: tuple[NewIntention, ...] = ()
    cancelled: tuple[str, ...] = ()
    approval: NewApproval | None = None
    cross_post: CrossPost | None = None
    away: AwayNote | None = None
    jobs: tuple[str, ...] = ()
    calls: tuple[LLMCall, ...] = ()
    visit_timeout_ms: int = 0
    most_intentions: int = 0
    outsider_spoke: bool = False
    nonce: Nonce = NO_NONCE
    zones: Mapping[str, str] = field(default_factory=dict)
