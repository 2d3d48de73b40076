"""Sessions of Claude Code that people run, as values: what a hook sent, and how its session changes."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, ConversationKey

CLOCK_STEP_MS: Final = 60_000
"""A client's clock that is off by so much more or less than before was set meanwhile."""

_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_BEGINS: Final = frozenset({"SessionStart", "UserPromptSubmit"})
_KNOWN: Final = frozenset({*_BEGINS, "Stop", "StopFailure", "Notification", "CwdChanged", "PostCompact"})


DOOR: Final = "session"
"""The channel of what sessions say to the soul; the thread is the session's id, or else that of its key."""

_AUTHOR: Final = f"{DOOR}."


class Visibility(StrEnum):
    """What people other than its owner see of a session: nothing, where it is and how it is, or its topic too."""

    HIDDEN = "hidden"
    PROJECT = "project"
    TOPIC = "topic"


class SessionState(StrEnum):
    """What a session does; `WAITS` is for an answer of its owner."""

    WORKING = "working"
    IDLE = "idle"
    WAITS = "waits"
    GONE = "gone"


# The state after a hook, and the reason that is noted where the client gives none; '' where there is no reason.
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
    """How what people ask comes to a session: its companion wakes it, it reads it as a turn ends, or not at all."""

    NOW = "now"
    TURN_END = "turn_end"
    NONE = "none"


class Lost(StrEnum):
    """Why a session counts as gone that did not say so: its process ended, or nothing came of it for too long."""

    PROCESS = "process"
    LEASE = "lease"


class NotTheirSession(DaemonError):
    """The session is another person's, or there is none."""


class NoSuchNote(DaemonError):
    """The session has no such note to answer."""


class NoteSettled(DaemonError):
    """The note takes no answer, or no more; nothing was stored."""


class NotBound(DaemonError):
    """No thread belongs to the session; nothing was said."""


class SaidTooMuch(DaemonError):
    """The sessions of a key said as much of themselves as they may for now; nothing was said."""


class KeyEnded(DaemonError):
    """The key was ended since the request came; nothing was stored."""


class TooManySessions(DaemonError):
    """A key has as many sessions that have not ended as it may have; nothing was stored."""


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """Whose request it is. `key` and `person`, a Slack id, are empty for the admin, `name` then too.

    `outsider` says that the person isn't known to be a full member of the workspace, `remember` that what sessions with
    this key ask to be kept is kept, and with a key also what is said in them, `direct` that they know the person's DM.
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
    """The conversation of a session; '' where only the key is known with which it came.

    It is named by its owner first: sessions choose their ids, and no one may come into another's talk by one.
    """
    where = session or (f"key-{owner.key}" if owner.key else "")
    return ConversationKey(soul, workspace, DOOR, f"{owner.person or 'admin'}:{where}")


def key_of(author: str) -> str | None:
    """The id of the key with which a session came that is this author, '' for the admin's token; None for others."""
    return author.removeprefix(_AUTHOR) if author.startswith(_AUTHOR) else None


@dataclass(frozen=True, slots=True)
class HookEvent:
    """What one hook of a session sent. Texts are empty where it didn't say; `root` and `branch` are then None.

    `sent_ms` is of the client's clock, and `lag_ms` how long the event lay on that machine before it was sent;
    `received_ms` is of ours. `process` is its `host/boot/namespace/pid/start`. `prompt` names the session's turn, which
    `goes_on` where a hook had it go on; `said` is what the session answered then to what it was handed. `words` are the
    prompt, the session's last words in a turn or the summary of its talk, by the hook that tells of it.
    A turn that begins with what its companion wrote names the `note`.
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


@dataclass(frozen=True, slots=True)
class Handed:
    """What people ask a session, as it reads it: `kind` is question or task, `sender` who asks."""

    id: str
    kind: str
    sender: str
    text: str


@dataclass(frozen=True, slots=True)
class Attended:
    """What a companion hears: its session's id, '' while none is known, and with what it is to wake that now."""

    session: str
    note: Handed | None = None


@dataclass(frozen=True, slots=True)
class SessionReads:
    """What a session is to read after one of its hooks; the text may be empty. `words`: what is said in it is kept."""

    context: str = ""
    note: Handed | None = None
    words: bool = False


@dataclass(frozen=True, slots=True)
class SessionWords:
    """Words of a session that are kept: in which conversation, and who may know them."""

    where: ConversationKey
    audience: Audience
    text: str


@dataclass(frozen=True, slots=True)
class CodeSession:
    """One session; times are ms UTC of our clock, except `sent_ms`, that of the newest event by the client's clock.

    `name` is what people call it: person and project, numbered among living ones. `started_ms` is its first start that
    is known. `key` is the id of the key with which it came, `person` whose it is; both empty for the admin's.
    `companion` is the daemon at which its companion waits, '' for none; it `wakes` the session if it can.
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
        """Whether this person may know that it is there."""
        return person == self.person or self.visibility is not Visibility.HIDDEN

    def gone(self, reason: str, at_ms: int) -> "CodeSession":
        """The session once it has ended."""
        return replace(self, state=SessionState.GONE, reason=reason, ended_ms=at_ms)


def after(found: CodeSession | None, event: HookEvent, fresh: CodeSession) -> CodeSession | None:
    """The session after an event; None where the event is of none that is known and begins none.

    `fresh` is the row of a session that is met for the first time. An event that happened before the newest one adds
    what was not known and changes nothing else; what ends a session in another process than its own is ignored.
    """
    if found is None:
        return _changed(replace(fresh, started_ms=event.happened_ms), event) if event.hook in _KNOWN else None
    if is_older(found, event):
        return _completed(found, event)
    if event.hook == "SessionEnd" and event.process and found.process and event.process != found.process:
        return found
    return _changed(found, event)


def is_older(found: CodeSession, event: HookEvent) -> bool:
    """Whether the event happened before the newest one of the session.

    The client's own clock says so, as long as it was not set in between; then ours does. A newest one that is still to
    come by our clock was heard while that was far ahead: nothing is older than it.
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
    """The state after an event that is no older than the last, and its reason."""
    unchanged = found.state, found.reason
    if not found.living:
        if event.hook not in _BEGINS and found.reason not in tuple(Lost):
            return unchanged  # what comes of a session after its end does not bring it back
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
    """A reason that is one of the client's own words, and no sentence."""
    return text if _WORD.fullmatch(text) else otherwise
