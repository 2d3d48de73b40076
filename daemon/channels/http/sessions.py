"""The routes for sessions of Claude Code: hooks report events, programs list sessions and answer notes."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from operator import not_
from typing import Annotated, Any, Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StringConstraints

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import (
    SOME_TEXT,
    Id,
    Refusal,
    RequestModel,
    ResponseModel,
    Scope,
    body_of,
    mended,
    no_entry,
)
from daemon.channels.http.routes import Headers, Parameter, route, wait_for
from daemon.channels.http.server import client_left
from daemon.core.concurrency import Bell
from daemon.core.questions import LONGEST_ANSWER
from daemon.core.sessions import Attended, Handed, HookEvent, KeyOwner
from daemon.core.text import visible_line
from daemon.core.value import Value

GRACE_S: Final = 3.0
"""Seconds within which a companion polls again; it reopens a lost connection within this time."""

_NONE_LEFT_S: Final = 3_600.0


class _Companion(Value):
    """The owner and process of a poll."""

    person: str
    key: str
    process: str


class CompanionPolls:
    """The open polls of each companion. It reports companions that no longer poll."""

    def __init__(self, side: DaemonSide) -> None:
        self._companions = side.sessions.companions
        self._clock = side.clock
        self._open = Counter[_Companion]()
        self._due: dict[_Companion, float] = {}
        self._bell = Bell()

    async def wait(
        self, request: web.Request, owner: KeyOwner, process: str, known: str, *, wakes: bool, seconds: float
    ) -> Attended:
        """Wait with a companion for a note that wakes its session. The wait ends if the companion leaves.

        Raises StoreError.
        """
        companion = _Companion(owner.person, owner.key, process)
        self._open[companion] += 1
        self._due.pop(companion, None)
        waits = self._companions.wait(owner, process, known, wakes=wakes, seconds=seconds)
        waiting = asyncio.ensure_future(waits)
        leaving = asyncio.ensure_future(client_left(request).wait())
        try:
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            waiting.cancel()
            self._open[companion] -= 1
            if self._open[companion] <= 0:
                del self._open[companion]
                self._due[companion] = self._clock.monotonic() + GRACE_S
                self._bell.ring()
        return await waiting if waiting.done() else Attended("")

    async def watch(self) -> None:
        """Report companions that no longer poll, until cancelled. Raises StoreError; the report is then repeated."""
        while True:
            now = self._clock.monotonic()
            for companion, due in list(self._due.items()):
                if due <= now:
                    owner = KeyOwner(companion.key, companion.person)
                    await self._companions.left(owner, companion.process)
                    if self._due.get(companion) == due:
                        del self._due[companion]
            next_ = min(self._due.values(), default=now + _NONE_LEFT_S)
            await self._bell.wait(self._clock, max(0.0, next_ - self._clock.monotonic()))


_LONGEST_LAG_MS: Final = 30 * 24 * 3_600_000
_LATEST_MS: Final = 4_102_444_800_000  # the year 2100
_PATH: Final = 4_096
_SHORT: Final = 200
_MOST_WORDS: Final = 2 * LONGEST_ANSWER
_WORDS: Final = {"UserPromptSubmit": "prompt", "Stop": "last_assistant_message", "PostCompact": "compact_summary"}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Time = Annotated[int, Field(ge=0, le=_LATEST_MS), BeforeValidator(_whole)]
Path = Annotated[str, StringConstraints(max_length=_PATH)]
Answer = Annotated[str, StringConstraints(max_length=LONGEST_ANSWER)]
Short = Annotated[str, StringConstraints(max_length=400)]


class HookInput(BaseModel):
    """The input of a hook, as the client gave it. Besides the session's id only text fields count."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, defer_build=True)

    session_id: Id = Field(description="The session.")

    def text(self, name: str, most: int = _SHORT) -> str:
        """Return a text field, on one line and cut, or an empty string for other types."""
        value = (self.model_extra or {}).get(name)
        return visible_line(value)[:most] if isinstance(value, str) else ""

    @property
    def words(self) -> str:
        value = (self.model_extra or {}).get(_WORDS.get(self.text("hook_event_name"), ""))
        return value[:_MOST_WORDS] if isinstance(value, str) else ""

    def says(self, name: str) -> bool:
        return (self.model_extra or {}).get(name) is True


class SessionEvent(BaseModel):
    """The report of one hook of a Claude Code session. Unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True, defer_build=True)

    id: Id = Field(description="Your own id for this event; the same id counts once.")
    sent_ms: Time = Field(description="When the hook ran, in ms since 1970 by the client's clock.")
    now_ms: Time | None = Field(
        None, description="The client's clock now, where the event was kept before it was sent; left out: `sent_ms`."
    )
    hook: HookInput = Field(description="The hook's input as the client gave it.")
    process: Short = Field("", description="The session's process as host/boot/namespace/pid/start.")
    host: Short = Field("", description="The machine's name.")
    root: Path | None = Field(None, description="Where the git repository begins; empty for none.")
    branch: Short | None = Field(None, description="The git branch; empty for none.")
    attended: bool | None = Field(None, description="Whether a person sits before it.")
    said: Answer | None = Field(
        None, description="At the end of a turn: what the session answered to the note that it was handed in it."
    )
    note: Short = Field("", description="At the start of a turn: the note with which its companion began it.")

    def event(self, received_ms: int) -> HookEvent:
        """Return the event, received now by our clock."""
        text = self.hook.text
        lag = min(max(0, (self.now_ms or self.sent_ms) - self.sent_ms), _LONGEST_LAG_MS)
        return HookEvent(
            id=self.id,
            session=self.hook.session_id,
            hook=text("hook_event_name"),
            sent_ms=self.sent_ms,
            lag_ms=lag,
            received_ms=received_ms,
            process=visible_line(self.process),
            host=visible_line(self.host),
            cwd=text("cwd", _PATH),
            root=None if self.root is None else visible_line(self.root),
            branch=None if self.branch is None else visible_line(self.branch),
            source=text("source"),
            model=text("model"),
            permission_mode=text("permission_mode"),
            attended=self.attended,
            reason=text("reason") or text("error"),
            notification=text("notification_type"),
            title=text("session_title"),
            prompt=text("prompt_id"),
            goes_on=self.hook.says("stop_hook_active"),
            said=self.said or "",
            words=self.hook.words,
            note=visible_line(self.note),
        )


class NoteAnswer(ResponseModel):
    """A question or task for a session."""

    id: str
    kind: str = Field(description="question or task.")
    sender: str = Field(description="The name of the person who asks.")
    text: str = Field(
        description="What the session is to read, whole: from whom it is, the rules, the words in a fence."
    )


class NoteList(RootModel[list[NoteAnswer]]):
    """The unanswered questions and tasks of a session, oldest first."""


class NoteReply(RequestModel):
    """The answer of a session."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ANSWER, pattern=SOME_TEXT)] = Field(
        description="The answer: 1 to 16,000 characters, no control characters."
    )


class EventAnswer(ResponseModel):
    """The text for the session to read."""

    context: str = Field(description="Text for the session; empty for none. Less than 9,000 characters.")
    note: NoteAnswer | None = Field(None, description="What people ask it, at the end of a turn; handed out once.")
    remember: bool = Field(
        False,
        description="There where the key remembers: prompts, last words of turns and summaries are kept if they come.",
        exclude_if=not_,
    )


class SessionAnswer(ResponseModel):
    """One session; times are ms since 1970, UTC. What isn't known is null."""

    id: str
    name: str = Field(description="What people call it: person and project, numbered.")
    person: str | None = Field(description="The Slack id of its owner; null for the admin's.")
    project: str
    branch: str | None
    cwd: str
    host: str | None
    pid: int | None
    model: str | None
    source: str | None = Field(description="Of its newest start: startup, resume, clear, compact or fork.")
    permission_mode: str | None
    attended: bool | None = Field(description="Whether a person sits before it.")
    state: str = Field(description="working, idle, waits or gone.")
    reach: str = Field(description="How a note reaches it: now, turn_end or none.")
    topic: str | None
    bound: str | None = Field(description="The conversation that is bound to it.")
    waiting: int = Field(description="How many notes wait for it.")
    started_ms: int
    seen_ms: int
    ended_ms: int | None
    reason: str | None = Field(description="Why it is in this state.")


class SessionList(RootModel[list[SessionAnswer]]):
    """The sessions that the key may see, living ones first."""


_LONGEST_PROCESS: Final = 400
T = TypeVar("T")


def _process(request: web.Request) -> str:
    """Return the process of the session whose companion asks, or '' for another client. Raises Refusal."""
    given = request.query.getall("process", [])
    if not given:
        return ""
    if len(given) != 1 or not 0 < len(given[0]) <= _LONGEST_PROCESS or not given[0].isprintable():
        hint = "give it as the hooks do, as host/boot/namespace/pid/start"
        raise Refusal(422, "invalid", "That is no process.", hint)
    return given[0]


_Session = Annotated[str, Parameter("path", "The session.", name="id")]


class SessionPages:
    """The handlers of sessions. All may raise Refusal, NotTheirSession and StoreError."""

    def __init__(self, side: DaemonSide) -> None:
        self.polls = CompanionPolls(side)
        self._sessions = side.sessions
        self._clock = side.clock
        self._polls = set[asyncio.Task[Any]]()

    def close(self) -> None:
        for poll in self._polls:
            poll.cancel()

    @route(
        "POST",
        "/api/sessions/events",
        {200: "It is taken."},
        {
            404: "The session is another person's.",
            409: "The key has 200 sessions that have not ended. Of those that ended the oldest are deleted.",
        },
        scope=Scope.KEYED,
        body=SessionEvent,
    )
    async def session_event(self, owner: KeyOwner, body: bytes) -> EventAnswer:
        """Report what happens in a session of Claude Code.

        What one hook got, sent by its script. Each id counts once, and what is older than the newest event of its
        session changes nothing. The answer to a start, and to a prompt, may hold a text for the session. Takes the key
        of a person's sessions, too.
        """
        event = body_of(mended(body), SessionEvent).event(self._clock.now_ms())
        heard = await self._sessions.hear(event, owner)
        note = NoteAnswer.model_validate(heard.note) if heard.note else None
        return EventAnswer(context=heard.context, note=note, remember=heard.words)

    @route("GET", "/api/sessions", {200: "The sessions, living ones first."}, scope=Scope.KEYED)
    async def sessions(self, owner: KeyOwner) -> SessionList:
        """List the sessions of Claude Code.

        With a key those of its person, with the token all. 500 at most: those that have not ended, then those that
        were seen last. Of one key 200 are kept.
        """
        return SessionList.model_validate(await self._sessions.list(owner))

    @route(
        "GET",
        "/api/sessions/{id}/notes",
        {200: "The notes."},
        {404: "The session came with another key.", 422: "That can't be waited for."},
        scope=Scope.KEYED,
    )
    async def session_notes(  # noqa: PLR0917 - as a request holds them
        self,
        request: web.Request,
        owner: KeyOwner,
        headers: Headers,
        session: _Session,
        seconds: Annotated[float, wait_for("a new one")],
        process: Annotated[
            str,
            Parameter(
                "query", "Of a companion: the session's process, as its hooks name it.", ".{1,400}", read=_process
            ),
        ],
        wakes: Annotated[
            tuple[str, ...], Parameter("query", "Of a companion: whether it can wake the session.", "yes|no")
        ],
    ) -> NoteList:
        """Fetch what people ask a session.

        What waits for an answer, oldest first; it counts as read. With the key with which the session came. The
        session's companion names the `process`, too: then the header Soul-Session holds the id of the session that
        runs there now, at once where that is another, and the list the one note with which the companion is to wake
        it, which counts as read once a turn begins with it. The session is gone once its companion stops asking.
        """
        found: Sequence[Handed]
        if process:
            waiting = self.polls.wait(request, owner, process, session, wakes=wakes[:1] == ("yes",), seconds=seconds)
            heard = await self._until_stop(asyncio.ensure_future(waiting)) or Attended("")
            headers["Soul-Session"], found = heard.session, (heard.note,) if heard.note else ()
        else:
            notes = self._sessions.notes(owner, session, seconds)
            found = await self._until_stop(asyncio.ensure_future(notes)) or ()
        if await self._sessions.still(owner) is None:
            raise no_entry("ask the admin for another key")
        return NoteList.model_validate(found)

    async def _until_stop(self, poll: asyncio.Task[T]) -> T | None:
        """Return a poll's result, or None if the daemon stops or the client left. Raises KeyEnded."""
        self._polls.add(poll)
        try:
            await asyncio.wait((poll,))
        finally:
            poll.cancel()
            self._polls.discard(poll)
        return None if poll.cancelled() else poll.result()

    @route(
        "POST",
        "/api/sessions/{id}/notes/{note}/answer",
        {204: "It is taken."},
        {404: "There is no such note to a session of this key.", 409: "It is settled already."},
        scope=Scope.KEYED,
    )
    async def answer_note(
        self, owner: KeyOwner, session: _Session, note: Annotated[str, Parameter("path", "The note.")], reply: NoteReply
    ) -> None:
        """Answer what people ask a session.

        The answer goes word for word where it was asked, once.
        """
        await self._sessions.answer(owner, session, note, reply.text)
