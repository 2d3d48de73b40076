"""The tools that sessions get over MCP, as they are offered: names, what each is for, what it takes."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from daemon.channels.http.schemas import SOME_TEXT, Id
from daemon.core.bound_threads import LONGEST_SAID
from daemon.core.questions import LONGEST_ANSWER

LONGEST_ASKED: Final = 8_000
LONGEST_KEPT: Final = 4_000
_LONGEST_QUERY: Final = 1_000
_MOST_FOUND: Final = 20

_Session = Annotated[str, StringConstraints(min_length=1, max_length=80)]
_SESSION: Final = "Which of your own sessions this one is, by its name or id of the tool `sessions`; may be left out."
_KEY: Final = "The key: up to 64 of a-z, 0-9, dot, hyphen and underscore."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


class NoArguments(_Arguments):
    """Nothing."""


class RecallArguments(_Arguments):
    """What is looked for."""

    query: Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_QUERY, pattern=SOME_TEXT)] = Field(
        description="What to look for, in plain words."
    )
    limit: int = Field(8, ge=1, le=_MOST_FOUND, description="How many memories at most.")


class RememberArguments(_Arguments):
    """What is to be kept."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEPT, pattern=SOME_TEXT)] = Field(
        description="What to keep: up to 4,000 characters, complete in itself."
    )
    session: _Session | None = Field(None, description=_SESSION)


class AskArguments(_Arguments):
    """What is said to the soul."""

    message: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ASKED, pattern=SOME_TEXT)] = Field(
        description="What to say to the soul: up to 8,000 characters."
    )
    session: _Session | None = Field(None, description=_SESSION)
    id: Id | None = Field(None, description="Your own id for this message; the same id again brings the same reply.")


class ContextGetArguments(_Arguments):
    """Which context is read."""

    key: str = Field(max_length=200, description=_KEY)


class ContextSetArguments(_Arguments):
    """What is written, and from which version."""

    key: str = Field(max_length=200, description=_KEY)
    version: int = Field(ge=0, description="The version that you saw with context_get; 0 for a new key.")
    data: dict[str, JsonValue] = Field(description="All of the data: a JSON object of up to 16 KiB.")


class WorkingOnArguments(_Arguments):
    """Whose work is asked about."""

    who: Annotated[str, StringConstraints(min_length=1, max_length=80)] | None = Field(
        None, description="The name or Slack id of a person, or the name of a session. Left out: everybody."
    )


class NotesArguments(_Arguments):
    """Of which session."""

    session: _Session = Field(description="Which of your own sessions this one is: the name by which people know it.")


class AnswerArguments(_Arguments):
    """What is answered."""

    session: _Session = Field(description="Which of your own sessions this one is: the name by which people know it.")
    note: Annotated[str, StringConstraints(min_length=1, max_length=80)] = Field(description="The note's id.")
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ANSWER, pattern=SOME_TEXT)] = Field(
        description="The answer, as people will read it: up to 16,000 characters."
    )


class SayArguments(_Arguments):
    """What is said."""

    session: _Session = Field(description="Which of your own sessions this one is: the name by which people know it.")
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SAID, pattern=SOME_TEXT)] = Field(
        description="What to say, as people will read it: up to 4,000 characters."
    )
    id: Id | None = Field(None, description="Your own id for this; the same id again says nothing more.")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool gives back: a text, or why it did nothing (`refused`)."""

    text: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class SessionTool:
    """One tool: its name, what it is for, what it takes, and whether it changes nothing."""

    name: str
    description: str
    arguments: type[BaseModel]
    reads_only: bool = True

    @property
    def schema(self) -> dict[str, Any]:
        """What it takes, as JSON Schema."""
        return self.arguments.model_json_schema()


TOOLS: Final = (
    SessionTool(
        "recall",
        "Search what the soul remembers that the whole workspace may know: what was said in public channels, "
        "facts, visits. Nothing of direct messages or private channels is found. Costs no model call.",
        RecallArguments,
    ),
    SessionTool(
        "remember",
        "Have the soul keep a text for the owner of this session, who finds it in their direct messages with "
        "the soul. No one else does. Works where the key was made with --remember, a number of times an hour.",
        RememberArguments,
        reads_only=False,
    ),
    SessionTool(
        "ask_soul",
        "Talk with the soul and get its reply, which takes some seconds. It knows what the whole workspace may "
        "know and what was said in this session before. A key has a number of questions an hour.",
        AskArguments,
        reads_only=False,
    ),
    SessionTool("context_list", "List the shared contexts of the workspace.", NoArguments),
    SessionTool("context_get", "Read a shared context, with its version.", ContextGetArguments),
    SessionTool(
        "context_set",
        "Replace the data of a shared context, which all of the workspace can read, if it is still at the "
        "version that you saw.",
        ContextSetArguments,
        reads_only=False,
    ),
    SessionTool("sessions", "List your own sessions of Claude Code.", NoArguments),
    SessionTool(
        "working_on",
        "Say who works on what now: the person, project, branch and state of each living session that its owner shows.",
        WorkingOnArguments,
    ),
    SessionTool(
        "notes",
        "Read what people ask this session through the soul and it has not answered yet.",
        NotesArguments,
        reads_only=False,
    ),
    SessionTool(
        "answer",
        "Answer what people ask this session. The text goes word for word, once, to the thread in which it was asked.",
        AnswerArguments,
        reads_only=False,
    ),
    SessionTool(
        "say_in_thread",
        "Say something in the Slack thread that people have bound to this session, in this session's name, once. All "
        "who are there read it. Where no thread is bound, nothing is said. A key has a number of them an hour.",
        SayArguments,
        reads_only=False,
    ),
)
"""All of them."""
