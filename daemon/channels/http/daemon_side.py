"""The interface between the HTTP API and the rest of the daemon, connected once memory.db is open."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web
from aiohttp.web import StreamResponse

from daemon.channels.http.events import LARGEST_EVENT, EventsTaken, as_kept, not_theirs, signed_by
from daemon.channels.http.request import Refusal, body_of, read_raw
from daemon.channels.http.schemas import ReadingPerceived, SenseReading
from daemon.core.contexts import ContextState, JSONObject
from daemon.core.pairing import Begun, Paired
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.arrivals import Member
from daemon.core.ports.library import Passage, StoredReply
from daemon.core.ports.services import Clock
from daemon.core.sensing import (
    EventSource,
    HouseSense,
    NowhereToPerceive,
    OtherReading,
    ProgramSense,
    PushedReading,
    SourceEnded,
    TooManyReadings,
)
from daemon.core.sessions import Attended, Handed, HookEvent, KeyOwner, SessionReads

TOKEN: Final = "token"  # noqa: S105 - a name
"""The source of readings that come with the bearer token. No source has this id."""


PushReading = Callable[[PushedReading], Awaitable[tuple[str, ...]]]
"""A function that stores a reading once and returns the conversations that perceive it.

Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
"""


class SensePages:
    """The handler of readings. The bearer token's go to `soul` in `workspace`. `sources` may sign readings."""

    def __init__(self, soul: str, workspace: str, *, push: PushReading, sources: EventsTaken, clock: Clock) -> None:
        self._soul, self._workspace = soul, workspace
        self._push, self._sources = push, sources
        self._clock = clock

    async def take(self, request: web.Request) -> web.Response:
        """Take one reading, once. Raises Refusal and StoreError."""
        body = await read_raw(request, most=LARGEST_EVENT)
        signed = await signed_by(request, body, self._sources, self._clock) if "source" in request.query else None
        given = body_of(body, SenseReading)
        try:
            found = await self._push(self._reading(given, signed[0] if signed else None))
        except TooManyReadings as much:
            raise _refused(429, "too_many_readings", much, {"Retry-After": "60"}) from much
        except OtherReading as other:
            raise _refused(409, "other_words", other) from other
        except NowhereToPerceive as nowhere:
            raise _refused(404, "unknown_room", nowhere) from nowhere
        except SourceEnded as ended:
            raise not_theirs() from ended
        answer = ReadingPerceived(perceived_by=found)
        return web.json_response(body=answer.model_dump_json().encode(), status=202)

    def _reading(self, given: SenseReading, source: EventSource | None) -> PushedReading:
        """Return the reading to store. A source may report in its own room only. Raises Refusal."""
        if source is not None and given.room != source.room:
            hint = f"a source tells of its own room alone, which is {source.room}"
            raise Refusal(404, "unknown_room", "The source has another room.", hint)
        if not (words := as_kept(given.content)):
            raise Refusal(422, "invalid", "content: it says nothing.", "send what is to be perceived, as text")
        return PushedReading(
            source.soul if source else self._soul,
            source.workspace if source else self._workspace,
            source.id if source else TOKEN,
            given.id,
            _of_a_program(given.sense),
            words,
            given.room,
            given.thread,
            ends=source is not None,
        )


def _of_a_program(sense: str) -> ProgramSense:
    if sense in list(HouseSense):
        hint = "give your program's readings a name of their own, such as ci"
        raise Refusal(422, "invalid", f"sense: {sense} is a sense of the soul's own.", hint)
    return ProgramSense(sense)


def _refused(
    status: int,
    code: str,
    why: TooManyReadings | OtherReading | NowhereToPerceive,
    headers: dict[str, str] | None = None,
) -> Refusal:
    return Refusal(status, code, f"{why.message[:1].upper()}{why.message[1:]}.", why.hint, headers)


PaySpeech = Callable[[str, Callable[[], Awaitable[StreamResponse]]], Awaitable[StreamResponse]]
"""A function that pays for a text to be read aloud and returns the call's result.

Raises ModelUnavailable if a cap is met.
"""


class CompanionsSeen(Protocol):
    """The companions of sessions that wait here. Each call may raise StoreError."""

    async def wait(self, owner: KeyOwner, process: str, known: str, *, wakes: bool, seconds: float) -> Attended:
        """Return the owner's session in a process, and the notes with which its companion wakes it.

        Waits up to `seconds` for notes, or for another session than the companion knows.
        """

    async def left(self, owner: KeyOwner, process: str) -> None:
        """Record that the companion of the session in a process has left."""


class SessionsSeen(Protocol):
    """The sessions of Claude Code that users run. Each call may raise StoreError."""

    @property
    def companions(self) -> CompanionsSeen: ...

    async def owner(self, key: str) -> KeyOwner | None:
        """Return the owner of a key that may be used now, or None. Raises NotDelivered while that is unknown."""

    async def still(self, owner: KeyOwner) -> KeyOwner | None:
        """Return the current owner, or None if the key is revoked or its owner is refused. Raises NotDelivered."""

    async def hear(self, event: HookEvent, owner: KeyOwner) -> SessionReads:
        """Take an event, once, and return the text for its session.

        Raises NotTheirSession, KeyEnded and TooManySessions.
        """

    async def notes(self, owner: KeyOwner, session: str, seconds: float) -> Sequence[Handed]:
        """Return the unanswered questions to an owner's session, after a wait of up to `seconds` for new ones.

        Raises NotTheirSession.
        """

    async def answer(self, owner: KeyOwner, session: str, note: str, words: str) -> None:
        """Answer a question to an owner's session. Raises NotTheirSession, NoSuchNote and NoteSettled."""

    async def say_in_thread(self, owner: KeyOwner, session: str, words: str, call: str) -> None:
        """Post words in the thread of an owner's session, once for each id `call` of the caller; '' for no id.

        Raises NotTheirSession, NotBound, SaidTooMuch and NoteSettled.
        """

    async def list(self, owner: KeyOwner) -> Sequence[Mapping[str, object]]:
        """Return an owner's newest sessions as JSON, 500 at most. The admin's token owns all."""

    async def at_work(self, owner: KeyOwner, who: str) -> Sequence[Mapping[str, object]]:
        """Return the work of sessions visible to an owner, as JSON. `who` is a person or session, '' for all."""

    async def audience(self, owner: KeyOwner) -> Audience:
        """Return the audience of an owner's sessions. Raises ChannelError while that can't be found."""


class MachinesPairing(Protocol):
    """The pairing of machines that ask for keys. Each call may raise StoreError."""

    async def begin(self, machine: str, asker: str) -> Begun:
        """Return a code for a machine of this name. `asker` identifies the requester. Raises TooManyCodes."""

    async def fetch(self, code: str, secret: str, seconds: float) -> Paired | None:
        """Return the key once it is allowed, one time, or None without a decision within `seconds`.

        Raises NoSuchCode, PairingOver, and NotDelivered while Slack can't identify the person.
        """


class SessionMemory(Protocol):
    """The soul's memory as sessions may use it. Each call may raise StoreError."""

    async def recall(self, owner: KeyOwner, query: str, limit: int) -> Sequence[Passage]:
        """Return matching passages, best first: the workspace's, and the owner's DM if the owner chose so.

        Raises ChannelError while that DM can't be found.
        """

    async def keep(self, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience) -> bool:
        """Store a text for an audience. Returns False if its owner has paused remembering."""

    async def asked(self, owner: KeyOwner, since_ms: int) -> int:
        """Return how often the sessions of a key have asked the soul, or had a text stored, since then."""


class ContextWatched(Protocol):
    """A shared context that a program watches. All programs share the reads of memory.db."""

    async def next(self) -> ContextState | None:
        """Return the present state. From the second call on, waits for a possible change, at most two seconds.

        None if the context is for others. Raises StoreError.
        """


class SharedState(Protocol):
    """The shared contexts that the owner of a token or key may access. Each call may raise StoreError."""

    async def all(self, owner: KeyOwner) -> Sequence[ContextState]:
        """Return the contexts that were ever written or defined, by key."""

    async def get(self, owner: KeyOwner, key: str) -> ContextState | None:
        """Return one context, or None if it is for others. Raises ContextRefused for an invalid key."""

    async def write(self, owner: KeyOwner, key: str, data: JSONObject, seen: int | None) -> ContextState:
        """Write data made from version `seen`, None for any. Raises ContextConflict and ContextRefused."""

    async def members(self, owner: KeyOwner, key: str) -> Sequence[Member] | None:
        """Return the present members, or None if the context is for others. Raises ContextRefused."""

    async def renew(self, owner: KeyOwner, key: str, member: str, state: JSONObject) -> Member | None:
        """Extend the presence of a member by fifteen seconds. None if the context is for others.

        Raises ContextRefused, also for a name that is not the owner's, and MemberTaken if another process uses the
        name.
        """

    async def leave(self, owner: KeyOwner, key: str, member: str) -> None:
        """End the presence of a member. Raises ContextRefused, also for a name that is not the owner's."""

    def watch(self, key: str) -> AbstractContextManager[ContextWatched]:
        """Watch one context until the block ends. Raises ContextRefused for an invalid key."""


@dataclass(slots=True)
class DaemonSide:
    """The calls into the daemon, each of which may raise StoreError.

    `find_reply` takes a conversation and the message id that the program gave. `last_name` is the last name that the
    user of a conversation gave, or ''. `enqueue` queues the background jobs of a conversation and returns their names,
    or None for an unknown conversation. `unready` gives the reasons why the daemon can't work now, without names of
    users. `queues` counts waiting rows by queue. `sessions` are those of Claude Code, `contexts` the shared state.
    `has_neighbours` is True if another daemon on the same memory.db runs on this machine. `memory` is the part of the
    soul's memory for sessions. `pairing` serves machines that ask for keys, `events` and `push_reading` programs that
    report. `pay_speech` pays for texts read aloud, None if that is free.
    """

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
    events: EventsTaken
    push_reading: PushReading
    pay_speech: PaySpeech | None = None
