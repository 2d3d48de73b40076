"""Ports of the clock, language models, files in messages, the gate, drafts and telemetry."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from daemon.core.perception import Audience
from daemon.core.spending import Payer
from daemon.core.value import Value


class Clock(Protocol):
    """The clock: wall time, monotonic time and the only sleep."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start. Never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait. Zero or less lets other tasks run once."""


_STEP: Final = 5.0  # seconds between two looks at the time while something sleeps
_LATE: Final = 5.0  # seconds by which a busy process may be late for such a look


class SystemClock:
    """The system clock: wall time for records, monotonic time for durations, and the daemon's only sleep.

    While the process itself was stopped (a machine that pauses or sleeps, SIGSTOP), no monotonic time passes. Such a
    pause ends no time limit (DESIGN 7, ruling 26).
    """

    def __init__(self) -> None:
        self._asleep = 0  # the number of sleeps; while there is one, the time is looked at every few seconds
        self._looked = self._stopped = 0.0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start. Never goes back, and rests while the process is stopped."""
        now = time.monotonic()
        if self._asleep and now - self._looked > _STEP + _LATE:
            self._stopped += now - self._looked - _STEP
        self._looked = now
        return now - self._stopped

    async def sleep(self, seconds: float) -> None:
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
    """The two roles of models in seed 000: the one that speaks, and the one that thinks in private."""

    PERSONA = "persona"
    THINKING = "thinking"


class Effort(StrEnum):
    """The thinking effort of a model, in the vendors' own three words."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Speaker(StrEnum):
    """The role of a message in a prompt."""

    USER = "user"
    ASSISTANT = "assistant"


class SystemPart(Value):
    """A part of the system prompt. `stable` parts come first and don't change between turns.

    An adapter sets a cache mark after each stable part, if its provider supports marks.
    """

    text: str
    stable: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model: its media type (`image/jpeg`) and its bytes."""

    media_type: str
    data: bytes = field(repr=False)


class Message(Value):
    """A turn of a prompt's chat. `cached`: the next prompt begins with all up to its end, for a cache mark.

    `images` are shown with it. A model that sees no pictures reads their number.
    """

    speaker: Speaker
    text: str
    cached: bool = False
    images: tuple[Image, ...] = ()


REPLY_MARK: Final = "{reply}"
"""The place of the placeholder model's own words in a `placeholder` in JSON."""

PROMISED_HERE: Final = "You promised them here to come back to this"
"""The marker of due promises in a prompt, by which the rehearsal model knows them."""

THOUGHT_ALONE: Final = "this is a thought of your own"
"""The marker in the prompt of a thought that no message has caused."""

JUST_THOUGHT: Final = "your thought a moment ago"
"""The name in a prompt for the soul's thought just before a look-up, about the same message."""


class Prompt(Value):
    """A model call, independent of any provider.

    `creativity` is a sampling temperature in 0..1 as seed 000 gives it, `effort` the thinking effort. None is the
    provider's default; a model without such a value isn't sent one. `json_schema` asks for structured output.
    `max_output_tokens` limits the answer, hidden thinking not counted. `placeholder` is the placeholder model's answer,
    empty for its own choice; a prompt with a `json_schema` needs one. `model` is the id of the model, empty for the
    role's. `standby`: another model is ready, so this one gets less time. `needs_eyes`: a model that sees no pictures
    raises CannotSee instead of answering.
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


class Completion(Value):
    """The last item of a model's stream: token counts and the reason of the stop.

    The counts are the provider's. `tokens_in` includes `tokens_cached` (read from its cache) and `tokens_written`
    (written to it), `tokens_out` hidden thinking. `stop` is `end`, `length` or `refusal`.
    """

    model: str
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    stop: str = "end"
    tokens_written: int = 0


class Cost(Value):
    """The US dollars of a call. `bound`: its price is unknown, and this is the most that it can have cost."""

    usd: float
    bound: bool = False


class LLM(Protocol):
    """The language models. A prompt goes to the model that it names, or to that of its role."""

    def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Yield text as it arrives, then exactly one Completion.

        Raises ModelUnavailable or ModelRefused, never a library's own error. Closing the iterator ends the call.
        """

    def model_for(self, role: ModelRole) -> str:
        """Return the prefixed id of the model of a role, e.g. `anthropic/claude-sonnet-5-5`."""

    def step_models(self) -> Mapping[str, str]:
        """Return the models of cognitive steps, by step. The role's model is the fallback of each."""

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        """Return the ids of the models that may be asked for a role before an audience, best first. Never empty.

        The first is the role's own, unless it is known to be down. Another model is listed only if the audience's words
        may go to its vendor. None is an unknown audience.
        """


MOST_FILES = 8
"""Files of one message that are read, at most."""

MOST_FILE_BYTES = 20_000_000
"""Bytes of a file that is read, at most."""

SHARED = "[shared a file: "
"""The beginning of a message's line that names one of its files. The name is not the sender's words."""


class SharedFile(Value):
    """A file in a message, as the platform describes it. Its bytes may turn out to be something else.

    `name` is one clean line, `size` in bytes. `url` is for `Channel.fetch`.
    """

    id: str
    name: str
    media_type: str = ""
    size: int = 0
    url: str = ""


class FileKind(StrEnum):
    IMAGE = "image"
    AUDIO = "audio"
    DOCUMENT = "document"


class ReadFile(Value):
    """The content of a file, as data.

    `text` are the words of a document or of a recording, empty for a picture. `left_out` says what is missing of them.
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
"""The function that reads an untrusted file within limits of time and memory, by its bytes rather than by its name.

Raises FileRefused.
"""


class Transcriber(Protocol):
    """The transcription of recorded speech."""

    async def transcribe(self, name: str, data: bytes) -> str:
        """Return the words of a recording. Raises ModelUnavailable or ModelRefused."""

    async def aclose(self) -> None: ...


class GateDecision(Value):
    """The decision on whether a user may talk to the soul here, under which name, and if not, why.

    `reason` is a short code for the inbox row. `say` is a polite sentence of `core/sentences.py`, empty for no reply.
    `outsider`: the user isn't known to be a full member of the workspace, whether admitted or not. `language` is the
    tag of the user's language, `zone` the IANA name of the user's time zone; each empty if unknown. `bot`: the author
    is a program.
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
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


class Task(Value):
    """A step of a plan, shown to users during the work. Showing the same `id` again replaces it.

    Its texts may be read by every reader of the reply: never private thought.
    """

    id: str
    title: str
    state: TaskState
    details: str = ""


class Speech(Protocol):
    """A reply shown while it is generated: best effort only. The outbox delivers the reply."""

    @property
    def shown(self) -> str:
        """Return what users surely see of the reply."""

    async def say(self, text: str) -> None:
        """Show more of the reply, as markdown. Never raises for the platform's failures: the display just stops."""

    async def show(self, task: Task) -> None:
        """Show a task as a card or a status line, as the platform allows. Never raises for the platform's failures."""

    async def settle(self) -> None:
        """Stop appending and wait for open requests. A draft remains for `Channel.deliver`."""


class DraftLog(Value):
    """The callbacks with which a Speech records its draft in the store.

    `opening` is awaited before the first visible byte. Then follows either `opened` with the platform's id, or
    `refused` when the draft surely does not exist. Neither is called when the platform's answer was lost.
    """

    opening: Callable[[], Awaitable[None]]
    opened: Callable[[str], Awaitable[None]]
    refused: Callable[[], Awaitable[None]]


class UnseenSpeech:
    """A speech that shows nothing: the outbox shows the whole reply."""

    shown = ""

    async def say(self, text: str) -> None: ...

    async def show(self, task: Task) -> None: ...

    async def settle(self) -> None: ...


class Emit(Protocol):
    """The function that turns events into log lines and counters. Never raises."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Emit an event. `event` is a dotted name such as `cycle.committed`."""


@dataclass(frozen=True, slots=True)
class LLMCall:
    """A model call, a row of `llm_calls`. `latency_ms` is from request to end, `first_ms` to the first text.

    `prompt` and `response` are for the log only, which decides how much of them is shown; they are never stored.
    `kept_form`: a whole answer kept the elements it was asked for. `thought_aloud`: it held reasoning that only a later
    mark separated from speech. Both are None where the call does not show it. `cost_usd` is None where the usage is
    unknown. `cost_bound`: the price is unknown, and this is the most it can be. `payer` is charged on `day`, a date.
    `reservation` is the id of the reserved amount, empty for none.
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
