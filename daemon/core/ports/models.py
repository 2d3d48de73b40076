"""Language models: a prompt, what comes back, and what it costs."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from daemon.core.perception import Audience


class ModelRole(StrEnum):
    """Seed 000's two roles: the model that speaks, and the model that thinks in private."""

    PERSONA = "persona"
    THINKING = "thinking"


class Effort(StrEnum):
    """How long a model should think before it answers; the vendors' own three words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Speaker(StrEnum):
    """The role of one message in a prompt, as chat models know it."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A part of the system prompt; `stable` parts come first and don't change between turns.

    Behind each stable part an adapter sets a cache mark, where its provider takes marks.
    """

    text: str
    stable: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model: its media type (`image/jpeg`) and its bytes."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt's chat; `cached`: the next prompt begins with all up to its end, so a mark belongs there.

    `images` are shown with it. A model without eyes reads how many it can't see.
    """

    speaker: Speaker
    text: str
    cached: bool = False
    images: tuple[Image, ...] = ()


REPLY_MARK: Final = "{reply}"
"""Where the placeholder model's own words go in a `placeholder` in JSON."""

PROMISED_HERE: Final = "You promised them here to come back to this"
"""What a prompt says of what was promised by now, by which the rehearsal model knows it."""

THOUGHT_ALONE: Final = "this is a thought of your own"
"""Stands in the prompt of a thought that nobody's words have woken."""

JUST_THOUGHT: Final = "your thought a moment ago"
"""Whose words those are that a soul thought before it looked something up, about the same message."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One model call, independent of any provider.

    `creativity` is a sampling temperature in 0..1 as seed 000 gives it, `effort` how long the model should think; None
    is the provider's default, and a model that takes no such value isn't sent one. `json_schema` asks for structured
    output. `max_output_tokens` bounds the answer, hidden thinking not counted. `placeholder` is what the placeholder
    model answers, empty where it may choose its words; a prompt with a `json_schema` needs one. `model` is the id of
    the model that is asked, empty for that of the role. `standby`: another model stands by, so that this one is given
    up early. `needs_eyes`: a model that sees no pictures raises CannotSee instead of answering.
    """

    role: ModelRole
    step: str
    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    json_schema: Mapping[str, object] | None = None
    creativity: float | None = None
    max_output_tokens: int = 4096
    placeholder: str = ""
    effort: Effort | None = None
    model: str = ""
    standby: bool = False
    needs_eyes: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """The last item of a model's stream: token counts and why it stopped.

    Tokens are the provider's counts; `tokens_in` includes `tokens_cached` (read from its cache) and `tokens_written`
    (written to it), `tokens_out` hidden thinking. `stop` is `end`, `length` or `refusal`.
    """

    model: str
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    stop: str = "end"
    tokens_written: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars for one call; `bound`: its price is not known, so this is the most that it can have cost."""

    usd: float
    bound: bool = False


class LLM(Protocol):
    """Language models; a prompt goes to the one that it names, or to that of its role."""

    def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Yield text as it arrives, then exactly one Completion.

        Raises ModelUnavailable or ModelRefused, never a library's own error. Closing the iterator ends the call.
        """

    def model_for(self, role: ModelRole) -> str:
        """The prefixed id of the model that answers for a role, e.g. `anthropic/claude-sonnet-5-5`."""

    def step_models(self) -> Mapping[str, str]:
        """The models that cognitive steps have of their own, by the name of the step; the role's stands by for each."""

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        """The models that may be asked for a role before an audience, by id, best first; never none.

        The first is the role's own, unless it is known to be down now; another one is only named if the audience's
        words may go to its vendor. None is an audience of which nothing is known.
        """
