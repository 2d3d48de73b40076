"""Mental processes: states of the soul that handle a perception with steps and return the next state (seed 000)."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from msgspec import field
from msgspec.structs import replace

from daemon.core.concurrency import alongside
from daemon.core.errors import ChannelRefused
from daemon.core.expectations import Limits
from daemon.core.initiative import NEVER_QUIET, QuietHours, WhySilent
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.phrases import Phrase
from daemon.core.ports.channel import Room
from daemon.core.ports.library import Library, Passage, Toolbox
from daemon.core.ports.services import Emit
from daemon.core.sentences import Words
from daemon.core.sessions import CodeSession
from daemon.core.value import Value
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
    """A new message arrived during a thought. This is no failure and is not reported as one."""


class Interrupt:
    """The signal for one piece of work that a new message has arrived in its conversation."""

    def __init__(self) -> None:
        self._called = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def pending(self) -> bool:
        return self._called.is_set()

    def call(self) -> None:
        self._called.set()
        self.look()

    def look(self) -> None:
        """Make the watchers of the conversation read memory.db again, without interrupting a thought."""
        self._news.set()

    async def news(self) -> None:
        """Wait until the conversation may have changed since the last call."""
        await self._news.wait()
        self._news.clear()

    def clear(self) -> None:
        """Clear the signal after the messages so far are absorbed. Only newer ones count from now on."""
        self._called.clear()

    async def unless_called(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of `work`, which a new message cancels. Raises Interrupted then.

        An exception of `work` is raised unchanged.
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
    """The interrupts of all work that runs in this operating system process, by conversation."""

    def __init__(self) -> None:
        self._interrupts: defaultdict[str, list[Interrupt]] = defaultdict(list)

    @contextmanager
    def attend(self, conversation: str) -> Iterator[Interrupt]:
        """Provide an interrupt for a conversation, by its id, while the body runs."""
        interrupt = Interrupt()
        self._interrupts[conversation].append(interrupt)
        try:
            yield interrupt
        finally:
            self._interrupts[conversation].remove(interrupt)
            if not self._interrupts[conversation]:
                del self._interrupts[conversation]

    async def look(self, has_news: Callable[[str], Awaitable[bool]]) -> None:
        """Make the watchers of all conversations read memory.db again, and signal what `has_news` finds there.

        Raises what `has_news` raises.
        """
        for conversation, interrupts in tuple(self._interrupts.items()):
            for interrupt in interrupts:
                interrupt.look()
            if await has_news(conversation):
                self.call(conversation)

    def call(self, conversation: str) -> None:
        for interrupt in self._interrupts.get(conversation, ()):
            interrupt.call()


SPOKEN = frozenset(
    {"greeting", "curious", "engaged", "ready", "returning", "academic", "poetic", "problem_solving", "liaising"}
)
"""The processes in which the soul answers messages. Timeouts lead to the others."""

MOST_HOPS = 10
"""The most transitions by `execute_now` for one perception (as in Open Souls)."""


async def _without_channels(_person: str, name: str) -> Room:
    raise ChannelRefused(f"{name} can't be written to from here", code="not_there")


class Capabilities(Value):
    """The means of a soul to solve problems, as its admin and its folder allow.

    `may_intend` returns whether a user may have one more intention, on top of those planned in this cycle. `intended`
    lists those of a conversation, and a soul has at most `most_intentions`. `find_room` finds where to write to a
    contact, by platform id, and raises ChannelError. `approvers` may permit what a tool would change. Without
    approvers the user who is answered may, for `approval_seconds`. `own_memory` returns the facts that the author of a
    perception may see of themselves, and acts to store. `own_things` lists what waits for a person. `open_library` is
    the part of the library that all users may read. See `Channel.shared_room` for `shared_room`.
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
        """Return what may be used before these readers: tools and library are for members, except for its open part."""
        return self if readers.members_only else replace(self, library=self.open_library, toolbox=None)


class Intent(Value):
    """A wish that a person's words may express, apart from a reply. The list is open, see `daemon.processes.wishes`.

    The model writes `word` where `meaning`, a clause about the person, is true. The triggers and hints of the soul's
    `mode` are added to it. The wish leads to the process `to`, or `carry_out` carries it out and returns a sentence
    for the reply. It may be followed from `origins` alone, and a process only be entered as its table of entries
    allows. `reason` is written to the path. A wish that is carried out is offered only where it `has_ground`.
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


class CurrentCycle(Value):
    """The services of the running cycle for a mental process.

    `limits` are those of the autonomous loop, None where it may not run. `usage` returns the tokens and US dollars
    spent so far. `absorb_new_messages` adds new messages of the conversation to a memory, and one reply answers them
    too. `recollect` searches what the soul may remember before `readers`, who read the reply. `look_again` adds what
    is found for some queries to the memories that surfaced. `cite` allows links to the hosts that a source names.
    `emit` logs an event. `wishes` are those that may be followed at all. `paused`: the person who is answered wants
    nothing remembered. `require_shareable` raises ContextRefused for a change under one of the `shared_keys` that
    would be refused. `notes` sends notes to other souls, None where it may not.

    `at_work` are the sessions of Claude Code that all readers may know of. `put_to_session` types a question or task
    into one of them. It returns what is said of it and what is stored. It is None where no session may be asked.
    `thoughts` and `at_hand` are what a soul that thinks whole thoughts has in mind. `silence` returns the meaning of a
    thought without speech. `promises` is how many more things the soul may promise the person here, None for none. In
    `quiet` hours it says nothing unasked. `labels` say what the newest words and readings are about, by their text.
    `silent_for` is why an unasked thought may say nothing, empty where it may speak. `on_alert`: the last feeling
    calls for a brief reply.
    """

    limits: Limits | None
    usage: Callable[[], tuple[int, float]]
    absorb_new_messages: Callable[[WorkingMemory], Awaitable[WorkingMemory]]
    recollect: Callable[[str, int], Awaitable[tuple[Passage, ...]]]
    cite: Callable[[str], None]
    readers: Readers
    emit: Emit
    wishes: tuple[Intent, ...] = ()
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


class ProcessContext(Value):
    """Everything a mental process may use. `perception` is the newest of those already integrated into `memory`.

    `interrupt` signals a new message. `state` is the running process: its runs since it was entered, its params, and
    its process memory. `followed` are the wishes followed for this perception so far. `note` adds a step to the path:
    the act, its target, who decided it, and why. `own_state` is the soul's mood, topic and task before the message,
    None before the first.
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
    followed: list[Intent] = field(default_factory=list)
    note: Callable[[str, str, str, str], None] = lambda _act, _target, _decided_by, _reason: None
    own_state: SoulState | None = None

    @property
    def autonomous(self) -> bool:
        limits = self.cycle.limits
        return limits is not None and (
            not limits.reads_only or self.capabilities.can_look_up or self.cycle.notes is not None
        )


class Stay(Value):
    """The outcome that keeps the current process. `process_memory` replaces the process memory, and None keeps it."""

    memory: WorkingMemory
    process_memory: JSONObject | None = None


class Transition(Value):
    """The outcome that moves to the process `to`, which runs at once on the same perception if `execute_now`.

    `reason` is one sentence for `soul mind trace`. `decided_by` is `rule` or `model`. A transition of a process to
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
