"""The whole effect of one cycle as a value, which the commit stores in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.core.fencing import NO_NONCE, Nonce
from daemon.core.notes import QuietHours
from daemon.core.ports.library import Nod, Passage, ReplyFile
from daemon.core.ports.services import LLMCall
from daemon.memory.knowledge.soul_states import PathStep
from daemon.memory.knowledge.visits import NO_NOTE, VisitNote
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.handoffs import CrossPost, Handoff
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.memory_acts import Asker, MemoryAct
from daemon.memory.records import Claim, Dismissal, InboxMessage, ProcessState, Turn, VisitState
from daemon.memory.stream.keeping import CycleThoughts


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
    in another conversation, as a user approved; `away` is posted after the parts. `lulls` says for how long of silence
    (ms) a job waits, by its kind. `visit_timeout_ms` is the silence that ends a visit, `visit_note` what is known of
    this one; `most_intentions` caps the intentions that wait at once. `outsider_spoke`: a user who isn't a full member
    wrote in the conversation; `members_only`: all who read the reply are known to be. `nonce` fences the conversation's
    prompts. `zones` are the time zones of those who wrote, by platform id. `rooms` are the private rooms whose words
    the reply may rest on: the recipient has to be in each. `acts` are what `asker` decided of what is known of them.
    `surfaced` is what surfaced from memory to the reply, with its marks, `known_facts` are the ids of the facts about
    people that stood in its prompt. `dates` are times in its parts, each as it reads there with its moment (ms, UTC),
    so that others read it on their own clocks. `handoff`: another soul gets the thread, with all of this. `stops`: it
    ends a reply that a person stopped, so that its draft is kept as it stands; the questions `lapses` lapse with it.
    `cap_shown_day` is the day of a cap of which the conversation reads now, if it does. `files` are sent behind the
    parts. `unasked`: no one waits for the parts, which are dropped without a word where they can't be posted.
    `answers` are offered to the recipient under the last part. `thoughts` go into the stream of thought of the
    conversation. `silent`: the soul chose to say nothing, so that no draft may stay; with a `nod`, that is the answer.
    `given` are the ids of the expectations whose outcome its thought was given, `used_tools` the tools that were used
    with success. `quiet` are the hours in which the parts may not be said, since nobody asked for them; None where
    somebody waits for them.
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
    nod: Nod | None = None
    given: tuple[str, ...] = ()
    used_tools: frozenset[str] = frozenset()
    quiet: QuietHours | None = None
