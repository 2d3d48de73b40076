"""Language models: a prompt, what comes back, and what it costs."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from daemon.core.perception import Audience
from daemon.core.spending import Payer


class Clock(Protocol):
    """Wall time, monotonic time and the only sleep."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""


_STEP: Final = 5.0  # seconds between two looks at the time while something sleeps
_LATE: Final = 5.0  # seconds by which a busy process may be late for such a look


class SystemClock:
    """Wall time for records, monotonic time for durations, and the daemon's only sleep.

    While the process itself was stopped (a machine that pauses or sleeps, SIGSTOP), no monotonic time passed: such a
    pause ends no time limit, so that nobody is blamed for it (DESIGN 7, ruling 26).
    """

    def __init__(self) -> None:
        self._asleep = 0  # how many sleep now; while any does, the time is looked at every few seconds
        self._looked = self._stopped = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, and rests while the process is stopped."""
        now = time.monotonic()
        if self._asleep and now - self._looked > _STEP + _LATE:
            self._stopped += now - self._looked - _STEP
        self._looked = now
        return now - self._stopped

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""
        until, left = self.monotonic() + seconds, max(0.0, seconds)
        self._asleep += 1
        try:
            while True:
                await asyncio.sleep(min(_STEP, left))
                left = until - self.monotonic()
                if left <= 0:
                    return
        finally:
            self._asleep -= 1


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


MOST_FILES = 8
"""Files of one message that are read."""

MOST_FILE_BYTES = 20_000_000
"""Bytes of the largest file that is read."""

SHARED = "[shared a file: "
"""How the line of a message begins that names one of its files; the name is not the words of who sent it."""


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file in a message, as the platform describes it; its bytes may turn out to be something else.

    `name` is one clean line, `size` in bytes; `url` is where `Channel.fetch` finds it.
    """

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""


class FileKind(StrEnum):
    """What was found in a file."""

    IMAGE = "image"
    AUDIO = "audio"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What was read of a file, as data.

    `text` are the words of a document or of a recording, empty for a picture; `left_out` says what of them is missing.
    A picture has the size in pixels, its main colour (`#rrggbb`), and `image`, a small copy without its hidden data.
    """

    kind: FileKind
    media_type: str
    text: str = ""
    left_out: str = ""
    width: int = 0
    height: int = 0
    color_hex: str = ""
    image: Image | None = None


ReadBytes = Callable[[str, bytes], Awaitable[ReadFile]]
"""Reads a file that anybody may have made, within limits of time and memory, by its bytes rather than by its name.

Raises FileRefused.
"""


class Transcriber(Protocol):
    """Turns recorded speech into words."""

    async def transcribe(self, name: str, data: bytes) -> str:
        """The words of a recording. Raises ModelUnavailable or ModelRefused."""

    async def aclose(self) -> None:
        """Close connections."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """Whether a user may talk to the soul here, under which name, and if not, why.

    `reason` is a short code for the inbox row; `say` a polite sentence of `core/sentences.py`, empty where no reply is
    right. `outsider` says that the user isn't known to be a full member of the workspace, whether admitted or not.
    `language` is the tag of the user's language, empty if unknown. `zone` is the IANA name of the user's time
    zone, empty if the platform doesn't say. `bot` says that the author is a program.
    """

    admitted: bool
    name: str = ""
    reason: str = ""
    say: str = ""
    outsider: bool = False
    language: str = ""
    zone: str = ""
    bot: bool = False


class TaskState(StrEnum):
    """Progress of a task."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Task:
    """One step of a plan, shown to users during the work; showing the same `id` again replaces it.

    Its texts may be read by every reader of the reply: never private thought.
    """

    id: str
    title: str
    state: TaskState
    details: str = ""


class Speech(Protocol):
    """Shows a reply while it is generated: best effort only; the outbox delivers the reply."""

    @property
    def shown(self) -> str:
        """What people surely see of the reply."""

    async def say(self, text: str) -> None:
        """Show more of the reply, as markdown. Never raises for the platform's failures; it stops showing instead."""

    async def show(self, task: Task) -> None:
        """Show a task as a card or a status line, as the platform allows. Never raises for the platform's failures."""

    async def settle(self) -> None:
        """Stop appending and wait for open requests; the draft, if there is one, stays for `Channel.deliver`."""


@dataclass(frozen=True, slots=True)
class DraftLog:
    """Callbacks with which a Speech records its draft in the store.

    `opening` is awaited before the first visible byte; then either `opened` with the platform's id, or `refused` when
    the draft surely does not exist. Neither is called when the platform's answer was lost.
    """

    opening: Callable[[], Awaitable[None]]
    opened: Callable[[str], Awaitable[None]]
    refused: Callable[[], Awaitable[None]]


class UnseenSpeech:
    """A reply that is shown once it is whole."""

    shown = ""

    async def say(self, text: str) -> None: ...

    async def show(self, task: Task) -> None: ...

    async def settle(self) -> None: ...


class Emit(Protocol):
    """Turns events into log lines and counters. Never raises."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Emit an event; `event` is a dotted name such as `cycle.committed`."""


@dataclass(frozen=True, slots=True)
class LLMCall:
    """One model call, a row of `llm_calls`; `latency_ms` from request to end, `first_ms` to the first text.

    `prompt` and `response` are for the log only, which decides how much of them is shown; they are never stored.
    `kept_form` says whether a whole answer kept the elements it was asked for, `thought_aloud` whether it held
    reasoning that only a later mark told from speech; None where the call does not show it. `cost_usd` is None where
    nothing is known of what the call used; `cost_bound`: its price is not known, and this is the most it can have been.
    `payer` is charged for it on `day`, a date; `reservation` is the id of what was reserved for it, empty for nothing.
    """

    trace_id: str
    role: ModelRole
    step: str
    model: str
    started_ms: int
    latency_ms: int
    outcome: str
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    first_ms: int | None = None
    cost_usd: float | None = None
    cost_bound: bool = False
    prompt: str = field(default="", compare=False)
    response: str = field(default="", compare=False)
    repair: bool = False
    kept_form: bool | None = None
    thought_aloud: bool | None = None
    payer: Payer = Payer()  # noqa: RUF009 - a frozen value
    day: str = ""
    reservation: str = ""
