"""Mental processes: states of the soul that handle a perception with steps and return the next state (seed 000)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from daemon.core.concurrency import alongside
from daemon.core.errors import ChannelRefused
from daemon.core.expectations import Limits
from daemon.core.notes import NEVER_QUIET, QuietHours, WhySilent
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.phrases import Phrase
from daemon.core.ports.channel import Room
from daemon.core.ports.library import Library, Passage, Toolbox
from daemon.core.ports.services import Emit
from daemon.core.sentences import Words
from daemon.core.sessions import CodeSession
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.soul_states import SoulState
from daemon.memory.mind.at_hand import NOTHING_AT_HAND, AtHand
from daemon.memory.queues.approvals import Approvals
from daemon.memory.queues.intention_rows import Intention
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.own_reminders import OwnThings
from daemon.memory.records import JSONObject, ProcessState
from daemon.memory.shared.contexts import Change
from daemon.memory.stream.reading import NO_THOUGHTS, LastThoughts
from daemon.mind.cognition import Mind
from daemon.mind.motor import Motor, Silence
from daemon.mind.recall.visit import Visit
from daemon.shared.events import Correspondence
from daemon.soul import Soul

T = TypeVar("T")


class Interrupted(Exception):
    """A new message arrived during a thought; this is no failure and is not reported as one."""


class Interrupt:
    """The signal for one piece of work that a new message has arrived in its conversation."""

    def __init__(self) -> None:
        self._called = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def pending(self) -> bool:
        return self._called.is_set()

    def call(self) -> None:
        """Signal a new message."""
        self._called.set()
        self.look()

    def look(self) -> None:
        """Have who watches the conversation in memory.db look again, without interrupting a thought."""
        self._news.set()

    async def news(self) -> None:
        """Wait until there may be something to look at since the last call."""
        await self._news.wait()
        self._news.clear()

    def clear(self) -> None:
        """The messages so far are absorbed; only newer ones count from now on."""
        self._called.clear()

    async def unless_called(self, work: Coroutine[object, object, T]) -> T:
        """The result of `work`, which a new message cancels. Raises Interrupted then.

        What `work` raises is raised unchanged.
        """
        if self.pending:
            work.close()
            raise Interrupted
        async with alongside(self._interrupt()):
            return await work

    async def _interrupt(self) -> None:
        await self._called.wait()
        raise Interrupted


class Interrupts:
    """Passes the signal on to the work that runs in a conversation of this operating system process."""

    def __init__(self) -> None:
        self._interrupts: defaultdict[str, list[Interrupt]] = defaultdict(list)

    @contextmanager
    def attend(self, conversation: str) -> Iterator[Interrupt]:
        """An interrupt for a conversation, by its id, while the body runs."""
        interrupt = Interrupt()
        self._interrupts[conversation].append(interrupt)
        try:
            yield interrupt
        finally:
            self._interrupts[conversation].remove(interrupt)
            if not self._interrupts[conversation]:
                del self._interrupts[conversation]

    async def look(self, has_news: Callable[[str], Awaitable[bool]]) -> None:
        """Have all who watch a conversation in memory.db look again, and signal what `has_news` finds there.

        Raises what `has_news` raises.
        """
        for conversation, interrupts in tuple(self._interrupts.items()):
            for interrupt in interrupts:
                interrupt.look()
            if await has_news(conversation):
                self.call(conversation)

    def call(self, conversation: str) -> None:
        """Signal a new message in a conversation."""
        for interrupt in self._interrupts.get(conversation, ()):
            interrupt.call()


SPOKEN = frozenset(
    {"greeting", "curious", "engaged", "ready", "returning", "academic", "poetic", "problem_solving", "liaising"}
)
"""Processes in which the soul answers messages; timeouts lead to the others."""

MOST_HOPS = 10
"""The most transitions by `execute_now` for one perception (as in Open Souls)."""


async def _without_channels(_person: str, name: str) -> Room:
    raise ChannelRefused(f"{name} can't be written to from here", code="not_there")


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a soul may use to solve problems, as its admin and its folder allow.

    `may_intend` says whether a user may have one intention more beside those planned in this cycle; `intended` lists
    those of a conversation. `find_room` finds where to write to a contact, by platform id, and raises ChannelError.
    `approvers` may permit what a tool would change; without approvers the user who is answered may, for
    `approval_seconds`. `admins` see how the soul is. `own_memory` gives what the author of a perception may see of what
    is known of them, and what is stored with it, `own_things` what waits for a person.
    `open_library` is the part of the library that everybody may read; `before` gives
    what may be used before a conversation's readers. `shared_room`
    finds a channel that a person and the soul are in, see `Channel.shared_room`; a soul has `most_intentions` at once.
    """

    library: Library | None
    toolbox: Toolbox | None
    approvals: Approvals
    may_intend: Callable[[str, int], Awaitable[bool]]
    intended: Callable[[ConversationKey], Awaitable[tuple[Intention, ...]]]
    find_room: Callable[[str], Awaitable[Room]]
    approvers: tuple[str, ...]
    admins: tuple[str, ...]
    approval_seconds: float
    own_memory: Callable[[Perception, Readers, Words], Awaitable[tuple[str, tuple[MemoryAct, ...]]]]
    own_things: OwnThings
    open_library: Library | None = None
    shared_room: Callable[[str, str], Awaitable[Room]] = _without_channels
    most_intentions: int = 0

    @property
    def can_look_up(self) -> bool:
        tools = self.toolbox.known if self.toolbox is not None else ()
        return bool(self.library and self.library.folders) or any(not tool.writes for tool in tools)

    def before(self, readers: Readers) -> "Capabilities":
        """What may be used before these readers: tools and library are for members, but for its open part."""
        return self if readers.members_only else replace(self, library=self.open_library, toolbox=None)


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person's words may call for besides a reply; the list of them is open, see `daemon.processes.wishes`.

    The model writes `word` where `meaning`, a clause about the person, is true; the triggers and hints of the soul's
    `mode` are added to it. The wish leads to the process `to`, or else is carried out by `carry_out`, which gives what
    came of it as a sentence of the daemon's own for the reply. It may be followed from `origins` alone, and a process
    be entered only as its table of entries allows. `reason` stands in the path. A wish that is carried out is offered
    only where it `has_ground`.
    """

    word: str
    meaning: str
    reason: str
    to: str = ""
    carry_out: "Callable[[ProcessContext], Awaitable[str]] | None" = None
    origins: frozenset[str] = SPOKEN
    mode: str = ""
    has_ground: "Callable[[ProcessContext], bool]" = lambda _: True


def _never_silent() -> Silence:
    return Silence.REFUSED


async def _nothing_refused(_key: str, _change: Change) -> None:
    return None


async def _nothing_more(memory: WorkingMemory, _queries: Sequence[str]) -> WorkingMemory:
    return memory


@dataclass(frozen=True, slots=True)
class CurrentCycle:
    """What a mental process may ask of the cycle it runs in.

    `limits` are those of the autonomous loop, None where it may not run. `usage` gives the tokens and US dollars spent
    so far. `absorb_new_messages` adds new messages of the conversation to a memory, so that one reply answers them too.
    `recollect` searches what the soul may remember before `readers`, who read the reply. `look_again` adds what is
    found for some queries to the memories that surfaced. `cite` allows links to the hosts that a source names. `emit`
    logs an event. `wishes` are those that may be followed at all. `paused`: the person who is answered wants nothing
    remembered. `shared_keys` are those of the contexts that the soul shares; `require_shareable` raises ContextRefused
    for a change of one that would be refused. `notes` is what it may do with notes to other souls, None where it
    may not. `at_work` are the sessions of Claude Code that all who read may know of. `put_to_session` takes a
    question or task for one of them as if it were typed: it gives what is said of it and, where it goes, what is to
    be stored; None where no session may be asked from here. `thoughts` are the last ones of a soul that thinks
    whole thoughts; `at_hand` is what the soul holds in force here beside them, and `silence` says what becomes of
    it when such a thought says nothing. `thinks_unasked`: the soul may think by itself as well. `promises` is how
    many things more it may promise the person here, None where it may promise nothing; in `quiet` hours it says
    nothing unasked. `labels` say what the newest words and readings are about, by their text.
    `silent_for` is why a thought of its own accord may say nothing, empty where it may. `on_alert`: what was felt last
    calls for a brief reply.
    """

    limits: Limits | None
    usage: Callable[[], tuple[int, float]]
    absorb_new_messages: Callable[[WorkingMemory], Awaitable[WorkingMemory]]
    recollect: Callable[[str, int], Awaitable[tuple[Passage, ...]]]
    cite: Callable[[str], None]
    readers: Readers
    emit: Emit
    wishes: tuple[Wish, ...] = ()
    paused: bool = False
    shared_keys: tuple[str, ...] = ()
    require_shareable: Callable[[str, Change], Awaitable[None]] = _nothing_refused
    notes: Correspondence | None = None
    at_work: tuple[CodeSession, ...] = ()
    put_to_session: Callable[[Phrase], Awaitable[tuple[str, MemoryAct | None]]] | None = None
    thoughts: LastThoughts = NO_THOUGHTS
    at_hand: AtHand = NOTHING_AT_HAND
    look_again: Callable[[WorkingMemory, Sequence[str]], Awaitable[WorkingMemory]] = _nothing_more
    silence: Callable[[], Silence] = _never_silent
    thinks_unasked: bool = False
    promises: int | None = None
    quiet: QuietHours = NEVER_QUIET
    labels: Mapping[str, str] = field(default_factory=dict)
    silent_for: WhySilent = "not_invited"
    on_alert: bool = False


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """Everything a mental process may use: `perception` is the newest of those already integrated into `memory`.

    `interrupt` says when a new message has arrived. `state` is the running process: how often it ran since it was
    entered, its params, and its process memory, which its last run gave to `Stay.process_memory`. `followed` are the
    wishes followed for this perception so far. `note` adds a step to the path: what was done, the process or step it
    leads to, who decided it, and why. `own_state` is the soul's mood, topic and task here before the message, None
    before the first.
    """

    memory: WorkingMemory
    perception: Perception
    mind: Mind
    motor: Motor
    soul: Soul
    interrupt: Interrupt
    visit: Visit
    capabilities: Capabilities
    cycle: CurrentCycle
    state: ProcessState = field(default_factory=ProcessState)
    followed: list[Wish] = field(default_factory=list)
    note: Callable[[str, str, str, str], None] = lambda _act, _target, _decided_by, _reason: None
    own_state: SoulState | None = None

    @property
    def autonomous(self) -> bool:
        limits = self.cycle.limits
        return limits is not None and (
            not limits.reads_only or self.capabilities.can_look_up or self.cycle.notes is not None
        )


@dataclass(frozen=True, slots=True)
class Stay:
    """The process stays the current one; `process_memory` replaces its own, None keeps it."""

    memory: WorkingMemory
    process_memory: JSONObject | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """The conversation moves to the process `to`, which runs at once on the same perception if `execute_now`.

    `reason` is one sentence for `soul mind trace`; `decided_by` is `rule` or `model`. A transition of a process to
    itself is the same as Stay.
    """

    memory: WorkingMemory
    to: str
    reason: str
    params: JSONObject = field(default_factory=dict)
    execute_now: bool = False
    decided_by: str = "rule"


Outcome = Stay | Transition

MentalProcess = Callable[[ProcessContext], Awaitable[Outcome]]
