"""The whole effect of one cycle as a value, which the commit stores in one transaction."""

from collections.abc import Mapping

from msgspec import field

from daemon.core.fencing import NO_NONCE, Nonce
from daemon.core.initiative import QuietHours
from daemon.core.ports.library import Passage, ReactionReply, ReplyFile
from daemon.core.ports.services import LLMCall
from daemon.core.value import Value
from daemon.memory.knowledge.soul_states import PathStep
from daemon.memory.knowledge.visits import NO_NOTE, VisitNote
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.handoffs import CrossPost, Handoff
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.memory_acts import Asker, MemoryAct
from daemon.memory.records import Claim, Dismissal, InboxMessage, ProcessState, Turn, VisitState
from daemon.memory.stream.keeping import CycleThoughts


class AwayNote(Value):
    """A line that informs a user, once, that messages became too old to be answered."""

    text: str
    reply_to: str
    recipient: str
    newer_than_ts: str


class CycleEffect(Value):
    """The whole effect of a cycle: turns, the parts of the reply, states, jobs and model calls.

    `answered` rows are settled. `dismissed` maps a row's id to why it gets no reply. `path` is the path through the
    mental processes. `approval` is the question under the last part. `cross_post` goes to another conversation, as a
    user approved. `away` is posted after the parts. `lulls` holds the silence (ms) that a job waits for, by its kind.
    `visit_timeout_ms` is the silence that ends a visit, `visit_note` what is known of this one. `most_intentions` caps
    the intentions that wait at once. `outsider_spoke`: a user who isn't a full member wrote here. `members_only`: all
    readers are known to be full members. `nonce` fences the conversation's prompts. `zones` are the authors' time
    zones, by platform id. `rooms` are private rooms that the reply may rest on: the recipient has to be in each. `acts`
    are what `asker` decided about their memory. `surfaced` came from memory, with its marks. `known_facts` are the ids
    of the facts about people in the prompt. `dates` are times in the parts, each with its moment (ms, UTC): readers see
    them on their own clocks. `handoff` gives the thread to another soul. `stops`: a user stopped the reply, and its
    draft is kept as it is. The questions `lapses` lapse with it. `cap_shown_day` is the day of a cap that the
    conversation reads of now. `files` follow the parts. `unasked`: no user waits for the parts, which are dropped
    silently if they can't be posted. `answers` are offered to the recipient under the last part. `thoughts` go into the
    conversation's stream of thought. `silent`: the soul chose to say nothing, and no draft stays. With a `nod`, that is
    the answer. `given` are the ids of the expectations whose outcome the thought got. `used_tools` are the tools that
    succeeded. `quiet` are the hours in which unasked parts may not be posted, None if a user waits for them.
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
    lulls: Mapping[str, int] = field(default_factory=dict)
    calls: tuple[LLMCall, ...] = ()
    visit_timeout_ms: int = 0
    visit_note: VisitNote = NO_NOTE
    most_intentions: int = 0
    outsider_spoke: bool = False
    members_only: bool = False
    nonce: Nonce = NO_NONCE
    zones: Mapping[str, str] = field(default_factory=dict)
    rooms: frozenset[str] = frozenset()
    acts: tuple[MemoryAct, ...] = ()
    asker: Asker | None = None
    handoff: Handoff | None = None
    dates: Mapping[str, int] = field(default_factory=dict)
    surfaced: tuple[tuple[str, Passage], ...] = ()
    known_facts: tuple[str, ...] = ()
    stops: bool = False
    lapses: tuple[str, ...] = ()
    cap_shown_day: str = ""
    files: tuple[ReplyFile, ...] = ()
    unasked: bool = False
    answers: tuple[str, ...] = ()
    thoughts: CycleThoughts | None = None
    silent: bool = False
    nod: ReactionReply | None = None
    given: tuple[str, ...] = ()
    used_tools: frozenset[str] = frozenset()
    quiet: QuietHours | None = None
