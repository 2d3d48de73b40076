"""The interface between the HTTP API and the rest of the daemon, connected once memory.db is open.

`daemon.shared` implements the protocols and says what each call does and raises.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from aiohttp.web import StreamResponse

from daemon.core.config import Settings
from daemon.core.contexts import ContextState, JSONObject
from daemon.core.pairing import Begun, Paired
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.arrivals import Member
from daemon.core.ports.library import Passage, StoredReply
from daemon.core.ports.services import Clock, Emit
from daemon.core.sensing import EventSource, PushedReading
from daemon.core.sessions import Attended, Handed, HookEvent, KeyOwner, SessionReads

PaySpeech = Callable[[str, Callable[[], Awaitable[StreamResponse]]], Awaitable[StreamResponse]]
"""A function that pays for a text to be read aloud and returns the call's result.

Raises ModelUnavailable if a cap is met.
"""


class CompanionsSeen(Protocol):
    async def wait(self, owner: KeyOwner, process: str, known: str, *, wakes: bool, seconds: float) -> Attended: ...
    async def left(self, owner: KeyOwner, process: str) -> None: ...


class SessionsSeen(Protocol):
    @property
    def companions(self) -> CompanionsSeen: ...
    async def owner(self, key: str) -> KeyOwner | None: ...
    async def still(self, owner: KeyOwner) -> KeyOwner | None: ...
    async def hear(self, event: HookEvent, owner: KeyOwner) -> SessionReads: ...
    async def notes(self, owner: KeyOwner, session: str, seconds: float) -> Sequence[Handed]: ...
    async def answer(self, owner: KeyOwner, session: str, note: str, words: str) -> None: ...
    async def say_in_thread(self, owner: KeyOwner, session: str, words: str, call: str) -> None: ...
    async def list(self, owner: KeyOwner) -> Sequence[Mapping[str, object]]: ...
    async def at_work(self, owner: KeyOwner, who: str) -> Sequence[Mapping[str, object]]: ...
    async def audience(self, owner: KeyOwner) -> Audience: ...


class MachinesPairing(Protocol):
    async def begin(self, machine: str, asker: str) -> Begun: ...
    async def fetch(self, code: str, secret: str, seconds: float) -> Paired | None: ...


class SessionMemory(Protocol):
    async def recall(self, owner: KeyOwner, query: str, limit: int) -> Sequence[Passage]: ...
    async def keep(self, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience) -> bool: ...
    async def asked(self, owner: KeyOwner, since_ms: int) -> int: ...


class ContextWatched(Protocol):
    async def next(self) -> ContextState | None: ...


class SharedState(Protocol):
    async def all(self, owner: KeyOwner) -> Sequence[ContextState]: ...
    async def get(self, owner: KeyOwner, key: str) -> ContextState | None: ...
    async def write(self, owner: KeyOwner, key: str, data: JSONObject, seen: int | None) -> ContextState: ...
    async def members(self, owner: KeyOwner, key: str) -> Sequence[Member] | None: ...
    async def renew(self, owner: KeyOwner, key: str, member: str, state: JSONObject) -> Member | None: ...
    async def leave(self, owner: KeyOwner, key: str, member: str) -> None: ...
    def watch(self, key: str) -> AbstractContextManager[ContextWatched]: ...


class EventSources(Protocol):
    async def source(self, name: str) -> EventSource | None: ...
    async def secret(self, source: EventSource) -> str: ...
    async def take(self, source: EventSource, id_: str, words: str) -> bool: ...


@dataclass(slots=True)
class DaemonSide:
    """The parts of the daemon that the HTTP API works with. Each call may raise StoreError.

    Programs talk with `soul` in `workspace`. `personality` is its markdown by mode, empty for the soul itself, or None
    for an unknown mode. `find_reply` takes a conversation and the message id that the program gave. `last_name` is the
    last name that the user of a conversation gave, or ''. `enqueue` queues the background jobs of a conversation and
    returns their names, or None for an unknown conversation. `unready` gives the reasons why the daemon can't work now,
    without names of users. `queues` counts waiting rows by queue. `has_neighbours` is True if another daemon on the
    same memory.db runs on this machine. `pay_speech` pays for texts read aloud, None if that is free.
    """

    settings: Settings
    clock: Clock
    emit: Emit
    soul: str
    workspace: str
    personality: Callable[[str], str | None]
    find_reply: Callable[[ConversationKey, str], Awaitable[StoredReply | None]]
    last_name: Callable[[ConversationKey], Awaitable[str]]
    enqueue: Callable[[ConversationKey], Awaitable[tuple[str, ...] | None]]
    unready: Callable[[], Awaitable[tuple[str, ...]]]
    queues: Callable[[], Awaitable[Mapping[str, int]]]
    sessions: SessionsSeen
    contexts: SharedState
    has_neighbours: Callable[[], Awaitable[bool]]
    memory: SessionMemory
    pairing: MachinesPairing
    events: EventSources
    push_reading: Callable[[PushedReading], Awaitable[tuple[str, ...]]]
    pay_speech: PaySpeech | None = None
