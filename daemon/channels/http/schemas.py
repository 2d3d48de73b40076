"""What goes in and out of the HTTP door, as pydantic models: the one source of the checks and of the description."""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ID: Final = "[A-Za-z0-9_-]{1,64}"
_CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f"
_SOME_WORDS: Final = rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$"

Id = Annotated[str, StringConstraints(pattern=f"^{ID}$")]
Mode = Id
Message = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=_SOME_WORDS)]
Name = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f]$"
    ),
]
Voice = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_+.-]{0,63}$")]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatRequest(_Asked):
    """Something said to the soul."""

    message: Message = Field(description="The words: 1 to 20,000 characters, no control characters.")
    session: Id | None = Field(None, description="Which conversation it belongs to. Left out: a new one.")
    message_id: Id | None = Field(
        None,
        description="Your own id for this message. Send the same again and you get the same answer, never a second "
        "one. Left out: a new one.",
    )
    name: Name | None = Field(None, description="What the speaker is called; a courtesy, it gives no rights.")


class SubprocessRequest(_Asked):
    """A conversation to be thought over in the background."""

    session: Id = Field(description="The conversation.")


class SpeechRequest(_Asked):
    """Words to be read aloud."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=_SOME_WORDS)] = Field(
        description="The words: 1 to 4,000 characters, no control characters."
    )
    voice: Voice | None = Field(None, description="A voice of the speech endpoint or of espeak-ng.")


class ChatAnswer(_Told):
    """The answer to a message."""

    session: str
    message_id: str
    text: str = Field(description="The whole answer, as markdown.")
    parts: tuple[str, ...] = Field((), description="Its parts in order, where it was given in several.")


class ChatPending(_Told):
    """An answer that is being made."""

    session: str
    message_id: str


class Queued(_Told):
    """Background work that will be done."""

    queued: tuple[str, ...] = Field(description="The names of the jobs.")


class Alive(_Told):
    """The process runs and its loop breathes."""

    status: str


class ErrorDetail(_Told):
    """What went wrong and what to do about it."""

    code: str = Field(description="For programs; stays the same.")
    message: str = Field(description="What happened.")
    hint: str = Field(description="What to do; may be empty.")


class ErrorAnswer(_Told):
    """Every fault has this form."""

    error: ErrorDetail


class StreamStart(_Told):
    """The response begins. A second one says that it begins anew: forget the chunks so far."""

    session: str
    message_id: str


class StreamChunk(_Told):
    """More of the draft."""

    text: str


class StreamTask(_Told):
    """How far a piece of work is; the same id again replaces what was told before."""

    id: str
    title: str
    state: str = Field(description="pending, in_progress, complete or error.")
    details: str


class StreamDone(ChatAnswer):
    """The response is complete; its text is what counts, whatever the chunks said."""


class StreamError(_Told):
    """There is no answer, or none here: the hint says whether to ask again."""

    message: str
    hint: str
    reference: str = Field("", description="What the keeper of the soul finds it by.")


EVENTS: Final[dict[str, type[BaseModel]]] = {
    "soul:stream:start": StreamStart,
    "soul:stream:chunk": StreamChunk,
    "soul:stream:task": StreamTask,
    "soul:stream:done": StreamDone,
    "soul:stream:error": StreamError,
}
"""The events of a streamed answer, by name (seed 000, "Labyrinth Event Integration"; tasks are ours)."""

Event = StreamStart | StreamChunk | StreamTask | StreamDone | StreamError
