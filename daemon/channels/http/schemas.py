"""The requests, responses and stream events of the HTTP API as pydantic models: they check bodies and describe them."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ID: Final = "[A-Za-z0-9_-]{1,64}"
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_SOME_TEXT: Final = rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$"

Id = Annotated[str, StringConstraints(pattern=f"^{ID}$")]
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=_SOME_TEXT)]
Name = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f]$"
    ),
]
Voice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_+.-]{0,63}$")]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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


class SubprocessRequest(_Request):
    """A conversation whose background jobs are to run."""

    session: Id = Field(description="The conversation.")


class SpeechRequest(_Request):
    """A text to read aloud."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=_SOME_TEXT)] = Field(
        description="The text: 1 to 4,000 characters, no control characters."
    )
    voice: Voice | None = Field(None, description="A voice of the speech endpoint or of espeak-ng.")


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


class Alive(_Response):
    """The state of the daemon."""

    status: str = Field(description="alive or ready.")


class ErrorDetail(_Response):
    """What went wrong and what to do about it."""

    code: str = Field(description="For programs; stays the same.")
    message: str = Field(description="What happened.")
    hint: str = Field(description="What to do; may be empty.")


class ErrorAnswer(_Response):
    """Every error has this form."""

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

    message: str
    hint: str
    reference: str = Field("", description="An id by which the admin finds the message.")


EVENTS: Final[dict[str, type[BaseModel]]] = {
    "soul:stream:start": StreamStart,
    "soul:stream:chunk": StreamChunk,
    "soul:stream:task": StreamTask,
    "soul:stream:done": StreamDone,
    "soul:stream:error": StreamError,
}
"""The events of a streamed reply, by name (seed 000, "Labyrinth Event Integration"; tasks are an addition)."""

Event = StreamStart | StreamChunk | StreamTask | StreamDone | StreamError
