"""The requests, responses and stream events of the HTTP API, as pydantic models for validation and description."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel, StringConstraints

from daemon.core.sensing import CHANNEL, NAME, PERSON, READING_ID, THREAD

ID: Final = "[A-Za-z0-9_-]{1,64}"
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
SOME_TEXT: Final = rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$"

Id = Annotated[str, StringConstraints(pattern=f"^{ID}$")]
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=SOME_TEXT)]
Name = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f]$"
    ),
]
Voice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_+.-]{0,63}$")]


class _Request(BaseModel):  # built at its first use: neither the start nor a message in Slack needs it
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ChatRequest(_Request):
    """A message to the soul."""

    message: Message = Field(description="The text: 1 to 20,000 characters, no control characters.")
    session: Id | None = Field(None, description="The conversation it belongs to. Left out: a new one.")
    message_id: Id | None = Field(
        None,
        description="Your own id for this message. Send the same id again and you get the same reply, never a second "
        "one. Left out: a new one.",
    )
    name: Name | None = Field(None, description="The user's name, for the soul to address them; it gives no rights.")


class SenseReading(_Request):
    """A reading for the soul's senses."""

    sense: Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")] = Field(
        description="Who or what reports, such as `ci`: up to 32 of a-z, 0-9, hyphen and underscore."
    )
    content: Annotated[str, StringConstraints(pattern=rf"[^\s{_CONTROLS}]")] = Field(
        description="What it reports, as text; 4,000 characters of it are kept."
    )
    room: Annotated[str, StringConstraints(pattern=rf"^({CHANNEL}|{PERSON})$")] = Field(
        description="The id of a channel, or of a person for their direct messages; a source names its own channel."
    )
    thread: Annotated[str, StringConstraints(pattern=rf"^(|{THREAD})$")] = Field(
        "", description="The ts of a thread's first message. Left out: see above."
    )
    id: Annotated[str, StringConstraints(pattern=rf"^{READING_ID}$")] = Field(
        description="Your own id for this reading, one for each."
    )


class SubprocessRequest(_Request):
    """A conversation whose background jobs are to run."""

    session: Id = Field(description="The conversation.")


class SpeechRequest(_Request):
    """A text to read aloud."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=SOME_TEXT)] = Field(
        description="The text: 1 to 4,000 characters, no control characters."
    )
    voice: Voice | None = Field(None, description="A voice of the speech endpoint or of espeak-ng.")


class ContextData(RootModel[dict[str, JsonValue]]):
    """The data of a shared context: a JSON object of up to 16 KiB that fits the schema of its key."""

    model_config = ConfigDict(strict=True, frozen=True)


class McpMessage(BaseModel):
    """One message of MCP: JSON-RPC 2.0, as the protocol defines it (modelcontextprotocol.io)."""

    model_config = ConfigDict(extra="allow")

    jsonrpc: str = Field(description="2.0.")
    method: str | None = Field(None, description="What is asked, for instance `tools/call`.")
    id: int | str | None = Field(None, description="The number of the question; a notification has none.")
    params: dict[str, JsonValue] | None = Field(None, description="What the method takes.")


class ChatAnswer(_Response):
    """The reply to a message."""

    session: str
    message_id: str
    text: str = Field(description="The whole reply, as markdown.")
    parts: tuple[str, ...] = Field((), description="Its parts in order, where there are several.")


class ChatPending(_Response):
    """A reply that is being made."""

    session: str
    message_id: str


class Queued(_Response):
    """Background jobs that are queued."""

    queued: tuple[str, ...] = Field(description="The names of the jobs.")


class ReadingPerceived(_Response):
    """A reading was stored, or it was before."""

    perceived_by: tuple[str, ...] = Field(description="The conversations in which it is perceived, by their ids.")


class EventTaken(_Response):
    """The outcome of an event."""

    state: str = Field(description="taken, or known: it came before, and is not perceived again.")


class Alive(_Response):
    """The state of the daemon."""

    status: str = Field(description="alive or ready.")


class ContextAnswer(_Response):
    """A shared context as it is now."""

    key: str
    version: int = Field(description="Counts the changes of its data; 0 before the first.")
    data: dict[str, JsonValue]
    audience: str = Field(description="Who may read it.")
    writers: tuple[str, ...] = Field(description="The souls that may write it; none: all. The admin always may.")
    author: str = Field(description="Who wrote this version: a soul's name or operator; empty before the first.")
    updated_ms: int = Field(description="When, in ms since 1970, UTC; 0 before the first change.")


class ContextList(RootModel[list[ContextAnswer]]):
    """All contexts, by key."""


class MemberState(RootModel[dict[str, JsonValue]]):
    """The state that a member shows: a JSON object of up to 4 KiB."""

    model_config = ConfigDict(strict=True, frozen=True)


class MemberAnswer(_Response):
    """The members that are present at a shared context."""

    member: str
    process: str = Field(description="The process that it goes with; `http`: its lease.")
    state: dict[str, JsonValue]
    seen_ms: int = Field(description="When it last said so, in ms since 1970, UTC.")


class MemberList(RootModel[list[MemberAnswer]]):
    """All who are present, by name."""


class ErrorDetail(_Response):
    """The error and its remedy."""

    code: str = Field(description="For programs; stays the same.")
    message: str = Field(description="What happened.")
    hint: str = Field(description="What to do; may be empty.")


class ErrorAnswer(_Response):
    """Every error has this form."""

    error: ErrorDetail


class ContextConflictAnswer(ContextAnswer):
    """A shared context that was changed meanwhile, as it is now, and the error."""

    error: ErrorDetail


class StreamStart(_Response):
    """The reply begins. A second start means that it begins again: drop the chunks so far."""

    session: str
    message_id: str


class StreamChunk(_Response):
    """More of the draft."""

    text: str


class StreamTask(_Response):
    """The state of one task of a longer piece of work; the same id again replaces the earlier state."""

    id: str
    title: str
    state: str = Field(description="pending, in_progress, complete or error.")
    details: str


class StreamDone(ChatAnswer):
    """The reply is complete; its text replaces the chunks."""


class StreamError(_Response):
    """There is no reply, or not in this stream: the hint says whether to ask again."""

    code: str = Field(
        description="Why: `apology` (the message is the soul's own words), `answered`, `stale`, `ignored`, "
        "`withdrawn`, `failed` or `stopping`."
    )
    message: str
    hint: str
    reference: str = Field("", description="An id by which the admin finds the message.")


class StreamContext(_Response):
    """A shared context as it is now; of several changes at once the newest."""

    key: str
    version: int
    data: dict[str, JsonValue]
    author: str
    at_ms: int


EVENTS: Final[dict[str, type[BaseModel]]] = {
    "soul:stream:start": StreamStart,
    "soul:stream:chunk": StreamChunk,
    "soul:stream:task": StreamTask,
    "soul:stream:done": StreamDone,
    "soul:stream:error": StreamError,
}
"""The events of a streamed reply, by name (seed 000, "Labyrinth Event Integration"; tasks are an addition)."""


CONTEXT_EVENTS: Final[dict[str, type[BaseModel]]] = {"soul:context:changed": StreamContext}
"""The events of a watched shared context, by name."""

Event = StreamStart | StreamChunk | StreamTask | StreamDone | StreamError
