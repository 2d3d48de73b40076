"""The cognitive step as a value, and how the soul heard a message and stated its reply."""

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from daemon.core.fencing import clean_name
from daemon.core.ports.services import Effort, ModelRole
from daemon.core.text import one_line
from daemon.core.value import Value
from daemon.core.working_memory import Memory, WorkingMemory

T = TypeVar("T")


class StreamFilter(Protocol):
    """The filter that passes only what users may see of a streamed answer."""

    def feed(self, piece: str) -> str:
        """Take the next piece of the answer. Return the text that is certainly visible now."""

    def finish(self) -> str:
        """End the answer. Return the rest of the visible text."""


class AnswerForm(Enum):
    """The form of a step's answer, which decides what the Mind removes from it. JSON needs no form."""

    SPEECH = "speech"
    """Words that may be said aloud: reasoning and elements are removed."""

    ELEMENTS = "elements"
    """The elements of the fixed pipeline: reasoning is removed, and only the reply is shown."""

    THOUGHT = "thought"
    """Private words, which can't be `visible`: reasoning is removed."""

    COGNITION = "cognition"
    """A whole thought in JSON (seed 002): only its speech is shown, and its `calls_for` leads."""


class Step(Value, Generic[T]):
    """A cognitive step as a value. Nothing happens until a Mind runs it (seed 000).

    `command` is the instruction for the model. A `standing` command is equal in each turn and joins the stable, cached
    part of the prompt; any other command closes the last user message. `cue` is one closing line for either.
    `read` turns the whole answer into a value, or raises MalformedReply with a hint on how to answer correctly.
    `remember` returns the memories that the value leaves in working memory.
    `form` is the form of the answer; `read` gets the answer without what the form removes.
    `visible` makes the last filter of the streamed display; without it nothing is shown.
    `creativity` is the sampling temperature, None for the provider's default. `effort` is the thinking effort.
    `placeholder` is the placeholder model's answer, which claims nothing; every step with a `json_schema` has one.
    `read_cut` reads an answer cut off at `max_output_tokens`; without it such an answer is malformed.
    `repair` makes the step after a malformed answer, by default the same step.
    `own_turns` writes an earlier reply of the soul, with its memory's metadata, in the requested form.
    `lead` takes the first element's text, or the first field of a whole thought, before a word is shown.
    A value of `lead` ends the call there; None lets it go on.
    `opening` takes the attributes of the reply's opening tag before a word is shown. If it returns a fault, the call
    ends and the step is asked once more with that fault. The second answer is not checked.
    `unasked`: no message is answered; the newest one counts as an earlier one, and is shown at that length.
    `last_turns` is for a gate: the number of newest turns it is shown, without a personality.
    `sees`: the pictures at hand are shown. `needs_eyes`: a model that sees no pictures may not answer.

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


SURE_OF_INTENT: Final = 0.7
"""The lowest confidence of an intent that is kept: never assume one (seed 004, rule 1)."""

MOST_ANCHORS, LONGEST_ANCHOR, LONGEST_INTENT = 5, 40, 120
"""The most key words of a message, and the characters of a key word and of an intent."""

_EMOTION: Final = re.compile(r"[^\W\d_][\w'-]{0,39}")
_BETWEEN: Final = re.compile(r"[,;|]")
_NUMBER: Final = re.compile(r"[01]?\.?\d{1,8}", re.ASCII)


class EpistemicMode(StrEnum):
    """The stance of a reply towards its content."""

    EXPLORE = "explore"
    HYPOTHESIZE = "hypothesize"
    ASSERT = "assert"
    CAUTION = "caution"
    REFLECT = "reflect"


class Heard(Value):
    """The soul's hearing of a message: the feeling, the key words, and the writer's intent, if that is sure."""

    emotion_signal: str = ""
    salience_anchor: tuple[str, ...] = ()
    intent: str = ""
    intent_confidence: float = 0.0

    def within(self, words: str) -> "Heard":
        """Return the same for a message with these words: key words that are not in them are dropped."""
        said = one_line(words).casefold()
        return replace(self, salience_anchor=tuple(one for one in self.salience_anchor if one.casefold() in said))


class Stated(Value):
    """The soul's stance in its reply, and its confidence from 0 to 1."""

    epistemic_mode: EpistemicMode = EpistemicMode.ASSERT
    confidence: float = 0.5


NOTHING_HEARD: Final = Heard()
PLAINLY_STATED: Final = Stated()


def heard_in(attributes: Mapping[str, str]) -> Heard:
    """Read the attributes of a `stimulus_verb`; `confidence` is that of the intent."""
    emotion = one_line(attributes.get("emotion_signal", ""))
    anchors = (_plain(one, LONGEST_ANCHOR) for one in _BETWEEN.split(attributes.get("salience_anchor", "")))
    sure = share_in(attributes.get("confidence", ""), 0.0)
    intent = _plain(attributes.get("intent", ""), LONGEST_INTENT) if sure >= SURE_OF_INTENT else ""
    return Heard(
        emotion_signal=emotion.casefold() if _EMOTION.fullmatch(emotion) else "",
        salience_anchor=tuple(dict.fromkeys(filter(None, anchors)))[:MOST_ANCHORS],
        intent=intent,
        intent_confidence=sure if intent else 0.0,
    )


def stated_in(attributes: Mapping[str, str]) -> Stated:
    confidence = share_in(attributes.get("confidence", ""), PLAINLY_STATED.confidence)
    return Stated(mode_in(attributes) or PLAINLY_STATED.epistemic_mode, confidence)


def mode_in(attributes: Mapping[str, str]) -> EpistemicMode | None:
    """Return the epistemic mode in the attributes. None for none or an unknown one."""
    named = attributes.get("epistemic_mode", "").strip().casefold()
    return EpistemicMode(named) if named in frozenset(EpistemicMode) else None


def _plain(text: str, most: int) -> str:
    text = one_line(text)
    return clean_name(text) if 0 < len(text) <= most and re.search(r"\w", clean_name(text)) else ""


def share_in(text: str, default: float) -> float:
    """Return a number from 0 to 1, or the default for anything else."""
    if not _NUMBER.fullmatch(text.strip()):
        return default
    number = float(text)
    return number if math.isfinite(number) and 0 <= number <= 1 else default
