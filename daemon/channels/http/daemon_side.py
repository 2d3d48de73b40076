"""What the HTTP API needs of the rest of the daemon, handed over once memory.db is open."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web
from aiohttp.web import StreamResponse

from daemon.channels.http.events import LARGEST_EVENT, EventsTaken, as_kept, not_theirs, signed_by
from daemon.channels.http.request import Refusal, body_of, read_raw
from daemon.channels.http.schemas import ReadingPerceived, SenseReading
from daemon.core.pairing import Begun, Paired
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.arrivals import Member
from daemon.core.ports.library import Passage, StoredReply
from daemon.core.ports.services import Clock
from daemon.core.sensing import (
    ContextState,
    EventSource,
    HouseSense,
    JSONObject,
    NowhereToPerceive,
    OtherReading,
    ProgramSense,
    PushedReading,
    SourceEnded,
    TooManyReadings,
)
from daemon.core.sessions import Attended, Handed, HookEvent, KeyOwner, SessionReads

TOKEN: Final = "token"  # noqa: S105 - a name
"""Stands for the bearer token as the source of a reading; no source has it as its id."""


PushReading = Callable[[PushedReading], Awaitable[tuple[str, ...]]]
"""Stores a reading once; gives the conversations in which it is perceived.

Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
"""


class SensePages:
    """The handler of readings; with the bearer token they are for `soul` in `workspace`. `sources` may sign some."""

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
        """What is to be stored; a source tells of its own room alone. Raises Refusal."""
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
"""Pays for a text that a call reads aloud, and gives what that gives. Raises ModelUnavailable where a cap is met."""


class CompanionsSeen(Protocol):
    """The companions of sessions that wait here. Each call may raise StoreError."""

    async def wait(self, owner: KeyOwner, process: str, known: str, *, wakes: bool, seconds: float) -> Attended:
        """The owner's session in a process, and with what its companion is to wake it.

        Waits so long for that, or for another session than the companion knows of.
        """

    async def left(self, owner: KeyOwner, process: str) -> None:
        """The companion of the session in a process has come no more."""


class SessionsSeen(Protocol):
    """The sessions of Claude Code that people run. Each call may raise StoreError."""

    @property
    def companions(self) -> CompanionsSeen:
        """Their companions."""

    async def owner(self, key: str) -> KeyOwner | None:
        """Whose key this is, if it may be used now. Raises NotDelivered while that can't be said."""

    async def still(self, owner: KeyOwner) -> KeyOwner | None:
        """The owner as of now; None once the key is revoked or the gate refuses them. Raises NotDelivered."""

    async def hear(self, event: HookEvent, owner: KeyOwner) -> SessionReads:
        """Take an event, once; gives what its session is to read.

        Raises NotTheirSession, KeyEnded and TooManySessions.
        """

    async def notes(self, owner: KeyOwner, session: str, seconds: float) -> Sequence[Handed]:
        """What people ask an owner's session and it hasn't answered; waits so long for something new.

        Raises NotTheirSession.
        """

    async def answer(self, owner: KeyOwner, session: str, note: str, words: str) -> None:
        """Answer what an owner's session was asked. Raises NotTheirSession, NoSuchNote and NoteSettled."""

    async def say_in_thread(self, owner: KeyOwner, session: str, words: str, call: str) -> None:
        """Have something said in the thread of an owner's session, once for each id `call` of its own; '' for none.

        Raises NotTheirSession, NotBound, SaidTooMuch and NoteSettled.
        """

    async def list(self, owner: KeyOwner) -> Sequence[Mapping[str, object]]:
        """The newest sessions that are an owner's, of the admin's token all, as JSON, 500 at most."""

    async def at_work(self, owner: KeyOwner, who: str) -> Sequence[Mapping[str, object]]:
        """What living sessions work on that an owner may know of, as JSON; `who` is a person or session, '' for all."""

    async def audience(self, owner: KeyOwner) -> Audience:
        """For whom it is kept what an owner's sessions say. Raises ChannelError while that can't be found."""


class MachinesPairing(Protocol):
    """Machines that ask for keys. Each call may raise StoreError."""

    async def begin(self, machine: str, asker: str) -> Begun:
        """A code for a machine that calls itself so; `asker` is who asks for it. Raises TooManyCodes."""

    async def fetch(self, code: str, secret: str, seconds: float) -> Paired | None:
        """The key once it is allowed, one time; None where nobody has decided within so many seconds.

        Raises NoSuchCode, PairingOver, and NotDelivered while Slack can't say who the person is.
        """


class SessionMemory(Protocol):
    """The soul's memory as sessions know it. Each call may raise StoreError."""

    async def recall(self, owner: KeyOwner, query: str, limit: int) -> Sequence[Passage]:
        """What fits, of what the whole workspace may know, best first; and of the owner's DM, where they chose so.

        Raises ChannelError while that DM can't be found.
        """

    async def keep(self, owner: KeyOwner, where: ConversationKey, text: str, audience: Audience) -> bool:
        """Keep a text for an audience; False where its owner has remembering paused."""

    async def asked(self, owner: KeyOwner, since_ms: int) -> int:
        """How often the sessions of a key have asked the soul, or had it keep a text, since then."""


class ContextWatched(Protocol):
    """A shared context that a program watches; all programs share the looks at memory.db."""

    async def next(self) -> ContextState | None:
        """What is there now; from the second time on, after something may have changed, or two seconds.

        None where it is for others. Raises StoreError.
        """


class SharedState(Protocol):
    """The shared contexts that the owner of a token or key may know. Each call may raise StoreError."""

    async def all(self, owner: KeyOwner) -> Sequence[ContextState]:
        """Those that were ever written or defined, by key."""

    async def get(self, owner: KeyOwner, key: str) -> ContextState | None:
        """One as it is; None where it is for others. Raises ContextRefused for what is no key."""

    async def write(self, owner: KeyOwner, key: str, data: JSONObject, seen: int | None) -> ContextState:
        """Write data made from version `seen`, None for any. Raises ContextConflict and ContextRefused."""

    async def members(self, owner: KeyOwner, key: str) -> Sequence[Member] | None:
        """Who is present there; None where it is for others. Raises ContextRefused for what is no key."""

    async def renew(self, owner: KeyOwner, key: str, member: str, state: JSONObject) -> Member | None:
        """Be present as a member, for fifteen seconds; None where it is for others.

        Raises ContextRefused, also for a name that is not the owner's, and MemberTaken where a process has it.
        """

    async def leave(self, owner: KeyOwner, key: str, member: str) -> None:
        """Be present no more. Raises ContextRefused for what is no key, and no name of the owner's."""

    def watch(self, key: str) -> AbstractContextManager[ContextWatched]:
        """Watch one until the block ends. Raises ContextRefused for what is no key."""


@dataclass(slots=True)
class DaemonSide:
    """Calls into the daemon, each of which may raise StoreError.

    `find_reply` takes a conversation and the message id that the program gave. `last_name` is the name the user of a
    conversation gave last, or ''. `enqueue` queues the background jobs of a conversation and gives their names, or None
    for an unknown conversation. `unready` gives the reasons why the daemon can't work now, without names of users.
    `queues` counts waiting rows by queue. `sessions` are those of Claude Code, `contexts` what souls and people share.
    `has_neighbours` says whether another daemon on the same memory.db runs on this machine. `memory` is what sessions
    may know of the soul's memory, `pairing` is for machines that ask for keys, `events` is for programs that report,
    `push_reading` for what they tell the soul's senses. `pay_speech` pays for texts read aloud, None where that costs
    nothing.
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
