"""A cognitive step as a value: what a model is asked, how its answer is read and what of it is remembered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from daemon.core.ports.models import Effort, ModelRole
from daemon.core.working_memory import Memory, WorkingMemory

T = TypeVar("T")


class StreamFilter(Protocol):
    """Lets through only what users may see of an answer while it streams; `TaggedOutput` is one."""

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer; return the text that is certainly visible now."""

    def finish(self) -> str:
        """End the answer; return the rest of the visible text."""


class AnswerForm(Enum):
    """The form in which a step asks for its answer, which decides what the Mind leaves of it; JSON is one by itself."""

    SPEECH = "speech"
    """Words that may be said aloud: reasoning and elements are taken out."""

    ELEMENTS = "elements"
    """The elements of the fixed pipeline: reasoning is taken out, and only the reply is shown."""

    THOUGHT = "thought"
    """Private words, which can't be `visible`: reasoning is taken out."""

    COGNITION = "cognition"
    """One whole thought in JSON (seed 002): only its speech is shown, and its `calls_for` leads."""


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """A cognitive step as a value; nothing happens until a Mind runs it (seed 000).

    `command` tells the model what to do. A `standing` command is the same each turn and joins the stable, cached part
    of the prompt; any other command closes the last user message. `cue` is one closing line for either. `read` turns
    the whole answer into a value or raises MalformedReply, whose hint says how to answer correctly. `remember` gives
    the memories that the value leaves in working memory. `form` says what the answer is; `read` gets it without all
    that the form leaves out. `visible` makes the last filter of what is shown while it streams; without one nothing is
    shown. `creativity` is the sampling temperature, None for the provider's default; `effort` is how long the
    model should think, which is another matter: a poem is bold and quick. `placeholder` is the placeholder
    model's answer, which claims nothing; every step with a `json_schema` has one. `read_cut` reads an answer
    that was cut off at `max_output_tokens`; without it such an answer is malformed. `repair` makes the step that
    follows a malformed answer, by default the step itself. `own_turns` writes an earlier reply of the soul, given with
    the metadata of its memory, in the form asked for. `lead` takes the text of the element that an answer in elements
    begins with, or the words of the field that a whole thought begins with, as soon as they are closed and before a
    word is shown: a value ends the call there, None lets it go on.
    `opening` takes the attributes of the reply's opening tag before a word is shown: where it gives what is wrong with
    them, the call ends and the step is asked once more with that said. It doesn't judge the second answer.
    With `unasked` no message is answered: the newest one counts as an earlier one, and is shown as long.
    A gate has `last_turns`: it is shown so many of the newest turns, and no personality. A step that `sees` is shown
    the pictures at hand; one that `needs_eyes` is not answered by a model without them.

    Raises ValueError for a visible step whose answer is private or JSON.
    """

    name: str
    command: str | Callable[[WorkingMemory], str]
    read: Callable[[str], T]
    remember: Callable[[T], tuple[Memory, ...]]
    role: ModelRole = ModelRole.THINKING
    creativity: float | None = None
    json_schema: Mapping[str, object] | None = None
    placeholder: str = ""
    standing: bool = False
    cue: str = ""
    visible: Callable[[], StreamFilter] | None = None
    max_output_tokens: int = 1024
    form: AnswerForm = AnswerForm.SPEECH
    read_cut: Callable[[str], T] | None = None
    repair: "Callable[[], Step[T]] | None" = None
    own_turns: Callable[[str, Mapping[str, str]], str] | None = None
    lead: Callable[[str], T | None] | None = None
    opening: Callable[[Mapping[str, str]], str] | None = None
    effort: Effort = Effort.MEDIUM
    last_turns: int = 0
    sees: bool = False
    needs_eyes: bool = False
    unasked: bool = False

    def __post_init__(self) -> None:
        private = self.form is AnswerForm.THOUGHT
        if self.visible and (private or (self.json_schema is not None and self.form is not AnswerForm.COGNITION)):
            raise ValueError(f"the step {self.name} can't be visible: its answer is not speech")
