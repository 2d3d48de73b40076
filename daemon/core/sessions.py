"""Sessions of Claude Code as values: hook events, states, keys, and notes to sessions."""

import re
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, ConversationKey
from daemon.core.value import Value

CLOCK_STEP_MS: Final = 60_000
"""Milliseconds of change in a client's clock offset that mean that the clock was set."""

_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_BEGINS: Final = frozenset({"SessionStart", "UserPromptSubmit"})
_KNOWN: Final = frozenset({*_BEGINS, "Stop", "StopFailure", "Notification", "CwdChanged", "PostCompact"})


DOOR: Final = "session"
"""The channel of what sessions say to the soul. The thread is the session's id, or that of its key."""

_AUTHOR: Final = f"{DOOR}."


class Visibility(StrEnum):
    """The parts of a session that other people see: nothing, its project and state, or its topic too."""

    HIDDEN = "hidden"
    PROJECT = "project"
    TOPIC = "topic"


class SessionState(StrEnum):
    """The states of a session. `WAITS`: for an answer of its owner."""

    WORKING = "working"
    IDLE = "idle"
    WAITS = "waits"
    GONE = "gone"


# The state after a hook, and the reason noted where the client gives none; '': no reason.
_STATES: Final = {
    "SessionStart": (SessionState.IDLE, ""),
    "UserPromptSubmit": (SessionState.WORKING, ""),
    "Stop": (SessionState.IDLE, ""),
    "StopFailure": (SessionState.IDLE, "failed"),
    "SessionEnd": (SessionState.GONE, "other"),
}
_NOTIFIED: Final = {
    "permission_prompt": (SessionState.WAITS, "permission_prompt"),
    "worker_permission_prompt": (SessionState.WAITS, "permission_prompt"),
    "elicitation_dialog": (SessionState.WAITS, "elicitation_dialog"),
    "idle_prompt": (SessionState.IDLE, ""),
}


class Reach(StrEnum):
    """The ways by which a question reaches a session: its companion wakes it, it reads it as a turn ends, or none."""

    NOW = "now"
    TURN_END = "turn_end"
    NONE = "none"


class Lost(StrEnum):
    """The reasons for a session to count as gone: its process ended, or it was silent for too long."""

    PROCESS = "process"
    LEASE = "lease"


class NotTheirSession(DaemonError):
    """Raised when there is no such session of this person."""


class NoSuchNote(DaemonError):
    """Raised when the session has no such note to answer."""


class NoteSettled(DaemonError):
    """Raised when the note takes no answer, or no further one. Nothing was stored."""


class NotBound(DaemonError):
    """Raised when no thread belongs to the session. Nothing was said."""


class SaidTooMuch(DaemonError):
    """Raised when the sessions of a key posted their hourly number of messages about themselves. Nothing was said."""


class KeyEnded(DaemonError):
    """Raised when the key was ended since the request came. Nothing was stored."""


class TooManySessions(DaemonError):
    """Raised when a key has its maximum of unended sessions. Nothing was stored."""


class KeyOwner(Value):
    """The owner of a request. `key` and `person`, a Slack id, are empty for the admin, and `name` too.

    `outsider`: the person isn't known to be a full member of the workspace. `remember`: texts that sessions with this
    key ask to keep are kept, and with a key also what is said in them. `direct`: they know the person's DM.
    """

    key: str = ""
    person: str = ""
    name: str = ""
    outsider: bool = False
    visibility: Visibility = Visibility.PROJECT
    remember: bool = False
    direct: bool = False

    @property
    def author(self) -> str:
        return f"{_AUTHOR}{self.key}"

    @property
    def keeps_words(self) -> bool:
        return self.remember and bool(self.key)


THE_ADMIN: Final = KeyOwner(remember=True)


def talk_of(soul: str, workspace: str, owner: KeyOwner, session: str) -> ConversationKey:
    """Return the conversation of a session, or of the key for an unknown session.

    Its id begins with the owner: sessions choose their ids, and may not enter another owner's conversation.
    """
    where = session or (f"key-{owner.key}" if owner.key else "")
    return ConversationKey(soul, workspace, DOOR, f"{owner.person or 'admin'}:{where}")


def key_of(author: str) -> str | None:
    """Return the key id of a session author, '' for the admin's token. None for other authors."""
    return author.removeprefix(_AUTHOR) if author.startswith(_AUTHOR) else None


class HookEvent(Value):
    """The data of one hook of a session. Missing texts are empty; missing `root` and `branch` are None.

    `sent_ms` is by the client's clock, `lag_ms` the time that the event lay on that machine before it was sent.
    `received_ms` is by our clock. `process` is its `host/boot/namespace/pid/start`. `prompt` identifies the session's
    turn, which `goes_on` if a hook continued it. `said` is the session's answer to a note then. `words` are the prompt,
    the last words of a turn or the summary of the talk, depending on the hook. `note` is the note of the companion with
    which a turn began.
    """

    id: str
    session: str
    hook: str
    sent_ms: int
    lag_ms: int
    received_ms: int
    process: str = ""
    host: str = ""
    cwd: str = ""
    root: str | None = None
    branch: str | None = None
    source: str = ""
    model: str = ""
    permission_mode: str = ""
    attended: bool | None = None
    reason: str = ""
    notification: str = ""
    title: str = ""
    prompt: str = ""
    goes_on: bool = False
    said: str = ""
    words: str = ""
    note: str = ""

    @property
    def ends_turn(self) -> bool:
        return self.hook == "Stop" and bool(self.prompt)

    @property
    def offset_ms(self) -> int:
        return self.received_ms - self.lag_ms - self.sent_ms

    @property
    def happened_ms(self) -> int:
        return self.received_ms - self.lag_ms

    @property
    def at_once(self) -> bool:
        return self.lag_ms == 0


class Handed(Value):
    """A question or task as a session reads it: `kind` is one of them, `sender` the asker."""

    id: str
    kind: str
    sender: str
    text: str


class Attended(Value):
    """The reply to a companion: its session's id, '' if unknown, and the note with which to wake that session now."""

    session: str
    note: Handed | None = None


class SessionReads(Value):
    """The text that a session reads after a hook; it may be empty. `words`: what is said in the session is kept."""

    context: str = ""
    note: Handed | None = None
    words: bool = False


class SessionWords(Value):
    """Words of a session to keep, with their conversation and audience."""

    where: ConversationKey
    audience: Audience
    text: str


class CodeSession(Value):
    """A session; times are ms UTC of our clock, except `sent_ms`, that of the newest event by the client's clock.

    `name` is what people call it: person and project, numbered among living ones. `started_ms` is its first known
    start. `key` is the id of the key with which it came, `person` its owner; both empty for the admin's. `companion` is
    the daemon at which its companion waits, '' for none; `wakes`: the companion can wake the session.
    """

    id: str
    key: str
    person: str
    workspace: str
    visibility: Visibility
    name: str = ""
    person_name: str = ""
    project: str = ""
    cwd: str = ""
    root: str = ""
    branch: str = ""
    host: str = ""
    process: str = ""
    model: str = ""
    source: str = ""
    permission_mode: str = ""
    attended: bool | None = None
    state: SessionState = SessionState.IDLE
    reason: str = ""
    topic: str = ""
    started_ms: int = 0
    seen_ms: int = 0
    ended_ms: int | None = None
    sent_ms: int = 0
    offset_ms: int = 0
    companion: str = ""
    wakes: bool = False

    @property
    def living(self) -> bool:
        return self.state is not SessionState.GONE

    @property
    def reach(self) -> Reach:
        if not self.living:
            return Reach.NONE
        return Reach.NOW if self.companion and self.wakes else Reach.TURN_END

    @property
    def may_be_asked(self) -> bool:
        return self.living and self.visibility is not Visibility.HIDDEN and self.attended is not False

    @property
    def unwatched(self) -> bool:
        return self.permission_mode == "bypassPermissions"

    def shown_to(self, person: str) -> bool:
        return person == self.person or self.visibility is not Visibility.HIDDEN

    def gone(self, reason: str, at_ms: int) -> "CodeSession":
        return replace(self, state=SessionState.GONE, reason=reason, ended_ms=at_ms)


def after(found: CodeSession | None, event: HookEvent, fresh: CodeSession) -> CodeSession | None:
    """Return the session after an event. None if the event belongs to no known session and begins none.

    `fresh` is the row of a new session. An event older than the newest one only fills in what was unknown. The end of
    another process than the session's is ignored.
    """
    if found is None:
        return _changed(replace(fresh, started_ms=event.happened_ms), event) if event.hook in _KNOWN else None
    if is_older(found, event):
        return _completed(found, event)
    if event.hook == "SessionEnd" and event.process and found.process and event.process != found.process:
        return found
    return _changed(found, event)


def is_older(found: CodeSession, event: HookEvent) -> bool:
    """Return true if the event happened before the newest one of the session.

    The client's clock decides, unless it was set in between; then our clock does. If the newest event lies in the
    future by our clock, it was heard while that was far ahead: nothing is older than it.
    """
    if abs(event.offset_ms - found.offset_ms) < CLOCK_STEP_MS:
        return event.sent_ms < found.sent_ms
    newest_ms = found.sent_ms + found.offset_ms
    return event.sent_ms + event.offset_ms < newest_ms <= event.received_ms + CLOCK_STEP_MS


def _changed(found: CodeSession, event: HookEvent) -> CodeSession:
    state, reason = _state(found, event)
    root = found.root if event.root is None else event.root
    cwd = event.cwd or found.cwd
    return replace(
        found,
        state=state,
        reason=reason,
        ended_ms=(found.ended_ms or event.happened_ms) if state is SessionState.GONE else None,
        cwd=cwd,
        root=root,
        project=PurePosixPath(root or cwd).name[:80],
        branch=found.branch if event.branch is None else event.branch,
        host=event.host or found.host,
        process=event.process or found.process,
        model=event.model or found.model,
        source=event.source or found.source,
        permission_mode=event.permission_mode or found.permission_mode,
        attended=found.attended if event.attended is None else event.attended,
        topic=event.title or found.topic,
        started_ms=min(found.started_ms, event.happened_ms),
        seen_ms=max(min(found.seen_ms, event.received_ms), event.happened_ms),  # a clock may have been far ahead
        sent_ms=event.sent_ms,
        offset_ms=event.offset_ms,
    )


def _completed(found: CodeSession, event: HookEvent) -> CodeSession:
    return replace(
        found,
        model=found.model or event.model,
        source=found.source or event.source,
        permission_mode=found.permission_mode or event.permission_mode,
        attended=event.attended if found.attended is None else found.attended,
        topic=found.topic or event.title,
        started_ms=min(found.started_ms, event.happened_ms),
    )


def _state(found: CodeSession, event: HookEvent) -> tuple[SessionState, str]:
    """Return the state after an event that is no older than the last, with its reason."""
    unchanged = found.state, found.reason
    if not found.living:
        if event.hook not in _BEGINS and found.reason not in tuple(Lost):
            return unchanged  # what comes of a session after its end does not revive it
        unchanged = SessionState.IDLE, ""
    if event.hook == "SessionStart" and event.source == "compact":
        return unchanged
    if event.hook == "Notification":
        return _NOTIFIED.get(event.notification, unchanged)
    if event.hook not in _STATES:
        return unchanged
    state, otherwise = _STATES[event.hook]
    return state, _word(event.reason, otherwise) if otherwise else ""


def _word(text: str, otherwise: str) -> str:
    """Return the reason if it is one of the client's own words and no sentence."""
    return text if _WORD.fullmatch(text) else otherwise
