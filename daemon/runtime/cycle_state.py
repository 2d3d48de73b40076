"""The state of one claimed conversation in a cycle: the messages to answer and the model calls made for them."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import NotDelivered
from daemon.core.fencing import Nonce
from daemon.core.initiative import PROMISED
from daemon.core.perception import Modality, Perception, Readers
from daemon.core.ports.channel import Channel, LinkedMessages
from daemon.core.ports.library import Passage
from daemon.core.ports.services import LLMCall, Speech, Task, TaskState
from daemon.core.questions import BoundThread
from daemon.core.sentences import Words
from daemon.core.spending import NO_TICKS, Charge
from daemon.core.tempo import REFLECTING
from daemon.core.text import KnownHosts
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.senses import SentFile
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.mind.allowing import IntentionsCameBack
from daemon.memory.mind.at_hand import NOTHING_AT_HAND, AtHand
from daemon.memory.mind.goal_changes import StaleShown
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.source_events import ReadingsPerceived
from daemon.memory.records import Claim, Dismissal, InboxMessage, Speaks, Turn, TurnKind
from daemon.memory.stream.keeping import CycleThoughts, NewThought
from daemon.mind.motor import Motor
from daemon.mind.pipelines import ProcessRun
from daemon.mind.process import Interrupt
from daemon.mind.recall import DEGRADED, MONOLOGUE
from daemon.mind.recall.looked_up import source_id
from daemon.mind.thought import CognitiveOutput, occasion_of
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.triage import before_one_alone
from daemon.shared.events import Doing
from daemon.soul import Soul
from daemon.soul_engine import integrate


class ReadersUnknown(NotDelivered):
    """The readers are unknown at the moment. The message waits as it does for the gate."""


@dataclass(slots=True)
class Cycle:
    """A claim with the messages that the gate let in, oldest first, and the dismissed ones, by row id.

    A running process may absorb new messages: then the claim and its messages grow. `unanswered` are the dismissed
    messages that became too old while the daemon was away. `calls` collects the model calls, to store their cost
    however the cycle ends. `hosts` are those that the reply may link to. `outsider_spoke`: a user who isn't a full
    member wrote here, now or ever. The readers then never count as members alone. `found` is what a search found for
    this reply, which may cite it. `show_status` changes the status shown to users, `does` what the soul is shown to
    do. `nonce` fences others' words in prompts. `paused` are people here of whom nothing may be remembered. `tells`:
    this reply is the first that says to its reader that they are remembered.

    `files` came with its messages, `earlier_files` earlier in the talk. `known_facts` are the ids of the facts about
    people in its prompt. `memory_read_at` is the newest change of words before memory was read for a whole thought.
    `saw` are the ids of all that its prompts hold from elsewhere. `at_hand` is what the soul holds there.
    `holds_earlier`: earlier words there had fewer readers, so the present readers get no thoughts about them.
    `used_tools` are the names of successful tools. `dates` are the times (ms, UTC) in the daemon's lines, by their
    text in the asker's zone. `cap_shown_day` is the day of a cap of which this cycle speaks. `linked` are the messages
    that its words link to. `speech` shows the reply while it grows. `soul` is as its files were when the cycle began.
    """

    services: CycleServices
    claim: Claim
    trace_id: str
    messages: tuple[InboxMessage, ...] = ()
    dismissed: Mapping[str, Dismissal] = field(default_factory=dict)
    unanswered: tuple[InboxMessage, ...] = ()
    interrupt: Interrupt = field(default_factory=Interrupt)
    calls: list[LLMCall] = field(default_factory=list)
    outsider_spoke: bool = False
    show_status: Callable[[str], None] = lambda _: None
    does: Callable[[Doing], None] = lambda _: None
    soul: Soul = field(init=False)
    hosts: KnownHosts = field(init=False)
    nonce: Nonce = field(init=False)
    found: tuple[Passage, ...] = ()
    paused: frozenset[str] = frozenset()
    tells: bool = False
    files: tuple[SentFile, ...] = ()
    earlier_files: tuple[SentFile, ...] = ()
    known_facts: tuple[str, ...] = ()
    memory_read_at: int | None = None
    holds_earlier: bool = False
    at_hand: AtHand = NOTHING_AT_HAND
    used_tools: set[str] = field(default_factory=set)
    saw: frozenset[str] = frozenset()
    dates: dict[str, int] = field(default_factory=dict)
    cap_shown_day: str = ""
    linked: tuple[LinkedMessages, ...] = ()
    speech: Speech | None = None
    _readers: Readers | None = None

    def __post_init__(self) -> None:
        self.soul = self.services.soul()
        self.hosts = KnownHosts(self.services.settings.link_hosts)
        self.nonce = self.claim.nonce

    @property
    def perceptions(self) -> tuple[Perception, ...]:
        return tuple(one.perception for one in self.messages)

    @property
    def newest(self) -> Perception:
        return self.messages[-1].perception

    @property
    def channel(self) -> Channel:
        return self.services.channels.of(self.claim.conversation)

    @property
    def charge(self) -> Charge:
        charge = Charge(self.trace_id, self.newest.author, self.claim.conversation.channel)
        if not self.is_tick:
            return charge
        budget = self.services.tick_budget(self.soul) or NO_TICKS
        return replace(charge, background=True, tick=budget.of_promise if self.newest.params.get(PROMISED) else budget)

    @property
    def is_tick(self) -> bool:
        return bool(self.messages) and self.newest.process == REFLECTING

    @property
    def speaks_first(self) -> bool:
        return bool(self.messages) and self.newest.asks_nothing and self.newest.modality is not Modality.EVENT

    @property
    def words(self) -> Words:
        return self.soul.words_in(self.messages[-1].perception.language if self.messages else "")

    @property
    def readers(self) -> Readers:
        return self._readers or Readers(self.claim.audience, members_only=False)

    @property
    def heard_by(self) -> Readers:
        rooms = {one.private_room for one in self.linked}
        rooms.discard("")
        return replace(self.readers, rooms=self.readers.rooms | rooms) if rooms else self.readers

    @property
    def for_session(self) -> BoundThread | None:
        bound = self.claim.bound
        return bound if bound is not None and bound.takes(self.newest) else None

    def says(self, text: str, kind: TurnKind = TurnKind.REPLY, *, passing: bool = False) -> Turn:
        """Return words of the soul to the newest message as a turn."""
        who = self.soul
        return Turn(Speaks.SOUL, who.name, who.display_name, self.newest.ts, text, kind=kind, passing=passing)

    def dismiss(self, reason: str, *, alone: bool = False) -> None:
        """Dismiss all messages that are to be answered."""
        dismissal = Dismissal(reason, alone=alone)
        self.dismissed = {**self.dismissed, **{one.id: dismissal for one in self.messages}}

    async def show(self, task: Task) -> None:
        """Show people a piece of work before the answer, where the reply streams."""
        if self.speech is not None:
            await self.speech.show(task)

    async def show_done(self, sentence: str, count: int) -> None:
        """Show only the number of findings, since the readers may not know all of them. Show nothing for 0."""
        if count:
            await self.show(Task(sentence, self.words.say(sentence, count=count), TaskState.COMPLETE))

    async def find_readers(self) -> None:
        """Ask for the readers here, and correct the audience of the claim. Raises LostLease.

        If more people may read now, as in a channel that was private, new words give the talk to them. Timers and
        unasked thoughts don't.
        """
        self._readers = await self._ask_readers()
        audience, before = self._readers.audience, self.claim.audience
        said = any(one.modality is Modality.WORDS for one in self.perceptions)
        if not (said or audience.within(before)):
            self.holds_earlier = True
        elif audience != before:
            self.claim = await self.services.store.conversations.correct_audience(self.claim, audience)

    async def require_same_readers(self) -> None:
        """Raise ReadersChanged when a new reader may not know what this cycle has gathered."""
        now = await self._ask_readers()
        if now.exclude_what(self.readers):
            raise ReadersChanged(
                f"others read in {self.claim.conversation} by now", hint="nothing to do: the reply is begun anew"
            )

    def require_known_readers(self) -> None:
        """Raise ReadersUnknown while the platform can't say who reads here."""
        if self.readers.unproven:
            raise ReadersUnknown("the platform can't say just now who reads there")

    async def _ask_readers(self) -> Readers:
        newest = (self.messages or self.claim.messages)[-1].perception
        found = await self.channel.readers(replace(newest, audience=self.claim.audience))
        return found.before_outsiders() if self.outsider_spoke else found

    def usage(self) -> tuple[int, float]:
        """Return the tokens and US dollars spent so far. An unknown price counts as the highest possible."""
        return sum(one.tokens_in + one.tokens_out for one in self.calls), sum(one.cost_usd or 0 for one in self.calls)

    async def absorb_new_messages(self, memory: WorkingMemory) -> WorkingMemory:
        """Add the new messages that pass the gate, and return the memory with them.

        An unasked thought gets none, since it answers no message and is cut by words. Raises LostLease, and
        ReadersChanged as `require_same_readers`.
        """
        if self.is_tick:
            return memory
        self.interrupt.clear()
        known = {one.id for one in self.claim.messages}
        self.claim = await self.services.store.conversations.absorb_new_messages(self.claim)
        try:
            unknown = [one for one in self.claim.messages if one.id not in known]
            fresh = await self.services.triage.sort(before_one_alone(unknown, self.claim.bound))
        except NotDelivered as error:  # the gate can't decide now; these messages get a cycle of their own
            self.services.emit("gate.waits", conversation=str(self.claim.conversation), reason=error.message)
            return memory
        self.messages += fresh.messages
        self.dismissed = {**self.dismissed, **fresh.dismissed}
        self.unanswered += fresh.unanswered
        self.hosts.learn(*(one.perception.content for one in fresh.messages))
        self.outsider_spoke = self.outsider_spoke or fresh.outsider_spoke
        await self.require_same_readers()
        for one in fresh.messages:
            memory = integrate(memory, one.perception)
        return memory


def new_trace() -> str:
    """Return a short id that ties a cycle's rows, log lines and apologies together."""
    return secrets.token_hex(6)


_RAN: Final = ("stay", "move", "return")  # acts by which a process that ran ends


def thoughts_of(cycle: Cycle, motor: Motor, run: ProcessRun, transcript: Transcript) -> CycleThoughts | None:
    """Return the thoughts of a cycle with all that they saw, None where it thought nothing."""
    thoughts = motor.thoughts
    if not thoughts or not thoughts[-1].spoke:  # it only looked something up, and another step spoke
        thoughts += _of_another_step(cycle, motor, run)
    if not thoughts:
        return None
    drawn_on = {source_id(one) for one in motor.drawn_on.values() if one.id or one.document}  # else from outside
    return CycleThoughts(
        thoughts,
        cycle.heard_by,
        saw_to=max((one.seq for one in transcript.turns), default=max(transcript.summarized_to, 0)),
        saw=cycle.saw.union(drawn_on, cycle.at_hand.thoughts),
        read_at=cycle.memory_read_at,
        passing=bool(cycle.paused) or cycle.holds_earlier,
    )


def stale_goals_shown(cycle: Cycle) -> tuple[StaleShown, ...]:
    stale = tuple(one.id for one in cycle.at_hand.goals if one.stale)
    answered = stale and (cycle.is_tick or cycle.newest.modality is Modality.WORDS)
    return (StaleShown(cycle.claim.conversation.soul, stale),) if answered else ()


def intentions_come_back(cycle: Cycle) -> tuple[IntentionsCameBack, ...]:
    ids = tuple(one.id for one in cycle.at_hand.intended)
    return (IntentionsCameBack(ids),) if ids and cycle.newest.modality is Modality.WORDS else ()


def readings_perceived(cycle: Cycle) -> tuple[ReadingsPerceived, ...]:
    sensed = cycle.at_hand.sensed
    return (ReadingsPerceived(sensed, cycle.trace_id),) if sensed.readings or sensed.dropped else ()


def _of_another_step(cycle: Cycle, motor: Motor, run: ProcessRun) -> tuple[NewThought, ...]:
    """Return a reply's private thought, a poem, or what the autonomous loop said, in the form of a whole thought."""
    monologue = motor.annotations.get(MONOLOGUE)
    inner = monologue.strip() if isinstance(monologue, str) else ""
    if not (inner or motor.said):
        return ()
    output = CognitiveOutput(inner_speech=inner, external_speech=motor.said or None)
    return (
        NewThought(
            occasion_of(cycle.newest),
            thinking_process(run),
            "",
            output.model_dump_json(exclude_defaults=True),
            degraded=motor.annotations.get(DEGRADED) is True,
            spoke=bool(motor.said),
            surprise=cycle.at_hand.expected.surprise,
        ),
    )


def thinking_process(run: ProcessRun) -> str:
    """Return the mental process that thought about a perception last, even if it handed back or moved on then."""
    ran = (one.origin for one in reversed(run.path) if one.act in _RAN)
    return next(ran, run.state.process)
