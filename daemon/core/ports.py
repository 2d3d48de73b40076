"""Every seam of the house on one page: what the mind needs of models, channels, the clock and the platform's people.

A port says what the implementer owes. Adapters know this page and the values on it, never the mind. The store is not a
port: tests run on a real SQLite file.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from daemon.core.perception import Audience, ConversationKey, Perception, Place

# -- time ------------------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Wall time, monotonic time and the only sleep."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less gives other tasks a turn."""


# -- models ----------------------------------------------------------------------------------------------------------


class ModelRole(StrEnum):
    """Seed 000's two roles: who speaks, and who thinks in silence."""

    PERSONA = "persona"
    THINKING = "thinking"


class Speaker(StrEnum):
    """The role of one message in a prompt, as chat models know it."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A piece of the system prompt; `stable` parts come first, stay as they are between turns and are cached."""

    text: str
    stable: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the chat that a model is shown."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that one model call needs, in no provider's dialect.

    `creativity` is a sampling temperature in 0..1 as seed 000 gives it, or None for the provider's default; an adapter
    whose models refuse temperatures maps it to effort (design, ruling 10). `json_schema` asks for structured output.
    `max_output_tokens` bounds the answer. `placeholder` is what the placeholder model answers, empty where it may
    choose its words; a prompt with a `json_schema` needs one.
    """

    role: ModelRole
    step: str
    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    json_schema: Mapping[str, object] | None = None
    creativity: float | None = None
    max_output_tokens: int = 4096
    placeholder: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """The last thing a model stream yields: what it cost and why it stopped.

    Tokens as the provider counted them: `tokens_in` includes `tokens_cached` (read from its cache). `stop` is `end`,
    `length` or `refusal`.
    """

    model: str
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    stop: str = "end"


class LLM(Protocol):
    """A language model behind one narrow door."""

    def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        """Yield text as it arrives, then exactly one Completion.

        Raises ModelUnavailable or ModelRefused, never a library's own error. Closing the iterator cuts the call.
        """

    def model_for(self, role: ModelRole) -> str:
        """The prefixed id of the model that answers for a role, e.g. `anthropic/claude-sonnet-5-5`."""


# -- what arrives ----------------------------------------------------------------------------------------------------


class Source(StrEnum):
    """How something reached the inbox."""

    LIVE = "live"
    BACKFILL = "backfill"


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A user's message that the soul can read, as a channel hands it over.

    `event_id` identifies the delivery (one mention makes two, with different ids). `addressed` says that the message is
    surely meant for the soul (a DM, a mention); otherwise it is a reply in a thread and counts only if the soul takes
    part there and `to_others` is false. `thread_root` is the ts of the thread's first message, empty outside threads.
    `message_id` is the id that the sending program gave it, empty where a channel has no such ids. `envelope` is the
    platform's own event as JSON text.
    """

    event_id: str
    perception: Perception
    addressed: bool
    to_others: bool = False
    thread_root: str = ""
    source: Source = Source.LIVE
    message_id: str = ""
    envelope: str = "{}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A message was edited; `text` is what it says now.

    `asks` is the whole message where only the edit addresses it to the soul, which may not have read it before.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    text: str
    asks: NewMessage | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """A message was deleted by its author or a moderator."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class Feedback:
    """Somebody pressed a button under a reply: `value` is `good` or `bad`."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    value: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Somebody pressed a button under a question of ours about one act: may it be done?

    `approval` is the question's id; `ts` the message that shows it. Who may decide, until when and how often is for the
    store to know, never for the button (design, section 8).
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    approval: str
    approves: bool


Arrival = NewMessage | Edit | Deletion | Feedback | Decision


class Acceptance(StrEnum):
    """What became of an arrival."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"


class Intake(Protocol):
    """Where a channel hands over what arrived. When a call returns, its effect is durable; if it raises, nothing is."""

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once. Raises StoreError when it could not be stored: do not acknowledge then."""

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """The ts up to which every message surely arrived, or None before the first connection.

        Catch-up reads every channel from here. There is one watermark for the whole workspace. Only `advance_watermark`
        moves it, never a live message: a message that arrives after a gap proves nothing about the gap.
        """

    async def advance_watermark(self, soul: str, workspace: str, ts: str) -> None:
        """Move the watermark forward: after a complete catch-up, and regularly while connected without a gap."""

    async def open_threads(self, soul: str, workspace: str, since_ms: int, limit: int) -> tuple[ConversationKey, ...]:
        """Threads in which the soul was ever addressed and that were alive since a time, newest first."""

    async def known_channels(self, soul: str, workspace: str, limit: int) -> tuple[str, ...]:
        """Channels and DMs in which the soul was ever addressed, most recently heard first."""


# -- people ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The authorizer's answer: may this person be heard here, what are they called, and if not, why.

    `reason` is a short code for the inbox row; `say` a courteous sentence for the person, empty where silence is right.
    `outsider` says that they, or others who read along there, may not know what the workspace may know.
    """

    admitted: bool
    name: str = ""
    reason: str = ""
    say: str = ""
    outsider: bool = False


class Gate(Protocol):
    """The one authorizer, asked on every path before anything is thought or said; default deny, unknown means no."""

    async def admit(self, perception: Perception) -> GateDecision:
        """Decide by platform ids and settings alone. Raises NotDelivered when the platform can't be asked just now."""


# -- what leaves -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Post:
    """One row of the outbox as a channel sees it: one message to be visible exactly once.

    `key` never repeats and travels in the message's metadata. `body` is markdown, at most one message long. `reply_to`
    is the ts of the thread to post under, empty for the timeline. `recipient` is whom it answers. `draft` is the
    platform's id of a message that already shows part of the text and is to be finished rather than posted anew;
    `newer_than_ts` is a ts that a message with this key is surely younger than. `draft_lost` says that a draft may have
    been opened whose id was lost. `last` marks the final part of a reply. `approval` is the id of the question
    under it as buttons, None for none. `revises` is the platform's id of an earlier post of ours whose words and
    buttons this one replaces; doing that twice changes nothing.
    """

    key: str
    conversation: ConversationKey
    body: str
    reply_to: str
    recipient: str
    newer_than_ts: str
    part: int = 0
    last: bool = True
    draft: str | None = None
    draft_lost: bool = False
    approval: str | None = None
    revises: str | None = None


class TaskState(StrEnum):
    """How far a piece of work has come."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Task:
    """One step of a plan as people may see it while it is carried out; shown again with the same `id` it is replaced.

    All texts are the house's own words or what may be said to everybody who hears the reply; never private thought.
    """

    id: str
    title: str
    state: TaskState
    details: str = ""


@dataclass(frozen=True, slots=True)
class FoundPost:
    """What a look-up in the platform's history found: the message's id, and whether it is whole or only a draft."""

    ts: str
    finished: bool


class Speech(Protocol):
    """A reply becoming visible while it is made: best effort, never the truth; the outbox holds that."""

    async def say(self, text: str) -> None:
        """Take more of the reply, as markdown. Never raises for the platform's failures: it falls silent instead."""

    async def show(self, task: Task) -> None:
        """Show how far a task is, as a card or a status line, whichever the platform takes. Never raises either."""

    async def settle(self) -> None:
        """Stop appending and wait for requests under way; the draft, if one was opened, stays for `Channel.deliver`."""


@dataclass(frozen=True, slots=True)
class DraftLog:
    """How a Speech tells the store about its draft.

    `opening` is awaited before the first visible byte; then either `opened` with the platform's id, or `refused` when
    the draft surely does not exist. Neither comes when the platform's answer was lost.
    """

    opening: Callable[[], Awaitable[None]]
    opened: Callable[[str], Awaitable[None]]
    refused: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A message, found by the id that the sending program gave it, and the stored reply to it.

    `ts` and `message` are the message's, `state` that of its inbox row. Once it is `settled`, `parts` are the reply's
    parts in order; none means that there is no reply.
    """

    ts: str
    message: str
    state: str
    settled: bool
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """An earlier message of a thread, from before the soul joined it; `own` marks the soul's own messages."""

    ts: str
    author: str
    name: str
    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """Somewhere to write to, and who reads along there."""

    channel: str
    place: Place
    audience: Audience


class Channel(Gate, Protocol):
    """One way in and out of the house."""

    name: str

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Hand over all that arrives until cancelled; set `ready` once connected. Raises ConfigError for bad tokens."""

    def healthy(self) -> bool:
        """Whether it is connected and being heard; the watchdog is fed only while it is."""

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[None]:
        """Show that work goes on; cleared on every way out."""

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """Begin to show a reply to a perception while it is being made."""

    def split(self, reply: str, conversation: ConversationKey) -> tuple[str, ...]:
        """Cut a reply into messages that the conversation's channel takes whole, in order; hostile markup is inert."""

    def reply_to(self, perception: Perception) -> str:
        """The thread under which an answer to this perception belongs; empty for the timeline."""

    async def find_room(self, contact: str) -> Room:
        """Where a person or a channel, by its id, can be written to. Raises NotDelivered or ChannelRefused."""

    async def deliver(self, post: Post) -> str:
        """Make a post visible and return the platform's id for it.

        Finishing a draft and a plain post are both attempted once. Raises NotDelivered (surely not sent),
        DeliveryUncertain (look first) or ChannelRefused (will never be accepted).
        """

    async def find(self, post: Post) -> FoundPost | None:
        """Look a post up by its key in the platform's own history; None: surely absent.

        With `post.draft_lost` an unfinished message of ours in that thread, younger than `newer_than_ts` and without a
        key, counts as its draft. Raises DeliveryUncertain when the history can't be read.
        """

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """Up to `limit` messages of the perception's thread from before it, oldest first; empty outside threads."""


# -- what may be looked up and done ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """Words found somewhere, as data: `source` says where people find them again (`docs/limits.md:12`), `text` what."""

    source: str
    text: str


class Library(Protocol):
    """The folders of documents and code that the admin gave to everybody who may be heard."""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The passages that fit best, best first; empty when nothing fits. Raises StoreError."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a server offers to do: `name` is unique in the house (`server/tool`), `parameters` a JSON schema.

    `writes` says that using it may change something in the world, so that a person has to allow each use.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    writes: bool


class Toolbox(Protocol):
    """The tools of the servers that the admin named."""

    async def tools(self) -> tuple[Tool, ...]:
        """What can be used just now; a server that can't be reached is left out (and told in the log)."""

    async def use(self, name: str, arguments: Mapping[str, object]) -> Passage:
        """Use one tool once. Raises ToolFailed; `uncertain` when it may have been done all the same."""


# -- telemetry -------------------------------------------------------------------------------------------------------


class Emit(Protocol):
    """Where events go: a name and fields become log lines and counters. Never raises."""

    def __call__(self, event: str, /, **fields: object) -> None:
        """Tell what happened; `event` is a dotted name such as `cycle.committed`."""


@dataclass(frozen=True, slots=True)
class LLMCall:
    """One model call as `llm_calls` tells it; `latency_ms` from request to end, `first_ms` to the first text.

    `prompt` and `response` are for the log, which decides how much of them may be seen; they are never stored.
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
    prompt: str = field(default="", compare=False)
    response: str = field(default="", compare=False)
    repair: bool = False
