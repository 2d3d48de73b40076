"""The requests and responses of the routes for sessions, and how a hook's fields are read."""

from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StringConstraints

from daemon.channels.http.schemas import SOME_TEXT, Id
from daemon.core.questions import LONGEST_ANSWER
from daemon.core.sessions import Handed, HookEvent
from daemon.core.text import visible_line

_LONGEST_LAG_MS: Final = 30 * 24 * 3_600_000
_LATEST_MS: Final = 4_102_444_800_000  # the year 2100
_PATH: Final = 4_096
_SHORT: Final = 200
_MOST_WORDS: Final = 2 * LONGEST_ANSWER
_WORDS: Final = {"UserPromptSubmit": "prompt", "Stop": "last_assistant_message", "PostCompact": "compact_summary"}


def _whole(value: object) -> object:
    """5.0 is a whole number of JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Time = Annotated[int, Field(ge=0, le=_LATEST_MS), BeforeValidator(_whole)]
Path = Annotated[str, StringConstraints(max_length=_PATH)]
Answer = Annotated[str, StringConstraints(max_length=LONGEST_ANSWER)]
Short = Annotated[str, StringConstraints(max_length=400)]


class HookInput(BaseModel):
    """What a hook got, as the client gave it; beside the session's id only fields that are texts count."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, defer_build=True)

    session_id: Id = Field(description="The session.")

    def text(self, name: str, most: int = _SHORT) -> str:
        """A field that is a text, on one line and cut; what is none counts as absent."""
        value = (self.model_extra or {}).get(name)
        return visible_line(value)[:most] if isinstance(value, str) else ""

    @property
    def words(self) -> str:
        """What was said in the session, as this hook tells it; as it stands, and cut."""
        value = (self.model_extra or {}).get(_WORDS.get(self.text("hook_event_name"), ""))
        return value[:_MOST_WORDS] if isinstance(value, str) else ""

    def says(self, name: str) -> bool:
        """Whether a field is true."""
        return (self.model_extra or {}).get(name) is True


class SessionEvent(BaseModel):
    """What one hook of a session of Claude Code sends. Fields that this version doesn't know are ignored."""

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
        """The event, received now by our clock."""
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


class NoteAnswer(BaseModel):
    """What people ask a session."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: str
    kind: str = Field(description="question or task.")
    sender: str = Field(description="The name of the person who asks.")
    text: str = Field(
        description="What the session is to read, whole: from whom it is, the rules, the words in a fence."
    )

    @classmethod
    def of(cls, note: Handed) -> "NoteAnswer":
        """A note as it is answered."""
        return cls(id=note.id, kind=note.kind, sender=note.sender, text=note.text)


class NoteList(RootModel[list[NoteAnswer]]):
    """What people ask a session and it has not answered, oldest first."""


class NoteReply(BaseModel):
    """What a session answers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ANSWER, pattern=SOME_TEXT)] = Field(
        description="The answer: 1 to 16,000 characters, no control characters."
    )


class EventAnswer(BaseModel):
    """What the session is to read."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    context: str = Field(description="Text for the session; empty for none. Less than 9,000 characters.")
    note: NoteAnswer | None = Field(None, description="What people ask it, at the end of a turn; handed out once.")
    remember: bool = Field(
        False,
        description="There where the key remembers: prompts, last words of turns and summaries are kept if they come.",
    )


class SessionAnswer(BaseModel):
    """One session; times are ms since 1970, UTC. What isn't known is null."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

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
