"""Every port on one page: what the daemon needs of the clock, models, channels, libraries, tools and telemetry.

A port says what its implementer must do. Adapters import this page and the values on it, never the mind. The store is
not a port: tests run on a real SQLite file.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from daemon.core.home import HomePage
from daemon.core.links import Trusted
from daemon.core.looked_at import LookedAt, OpenBeside
from daemon.core.perception import Audience, ConversationKey, Perception, Place, Readers
from daemon.core.room_ways import RoomWay, RoomWays
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.spending import Payer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

# -- time ------------------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """Wall time, monotonic time and the only sleep."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Wait; zero or less lets other tasks run once."""


# -- models ----------------------------------------------------------------------------------------------------------


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


# -- what arrives ----------------------------------------------------------------------------------------------------


class Source(StrEnum):
    """How a message reached the inbox: live or by catch-up."""

    LIVE = "live"
    BACKFILL = "backfill"


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


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A user's message, as a channel delivers it.

    `event_id` identifies the delivery (one mention makes two, with different ids). `addressed` says that the message is
    surely meant for the soul (a DM, a mention). Any other message is a reply in a thread; it counts only if the soul
    takes part there and `to_others` is false. `thread_root` is the ts of the thread's first message, empty outside
    threads. `message_id` is the id that the sending program gave it, empty where a channel has no such ids. `envelope`
    is the platform's event as JSON text. `receiver` is the platform id of our account that heard it, empty where a
    channel has none: of all its souls one gets the message, once. `incomplete` says that a twin may hold more of it.
    `files` are those that it shows. `stops`: it says stop, and its author may talk with the soul.
    """

    event_id: str
    perception: Perception
    addressed: bool
    to_others: bool = False
    thread_root: str = ""
    source: Source = Source.LIVE
    message_id: str = ""
    envelope: str = "{}"
    receiver: str = ""
    incomplete: bool = False
    files: tuple[SharedFile, ...] = ()
    stops: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """A message was edited; `text` is its new text, `files` are those that it still shows.

    `asks` is the whole message if only the edit addresses it to the soul.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    text: str
    asks: NewMessage | None = None
    files: tuple[SharedFile, ...] = ()


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
    """A user judged a reply, by `how`: a `button` under it or a `reaction`; `value` is `good` or `bad`.

    `taken_back`: the user removed that reaction again.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    value: str
    how: str = "button"
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Complaint:
    """A user said in a dialog what was wrong with a reply that they called bad; `text` is never empty."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A user pressed a button under a request for approval of one action.

    `approval` is the request's id, `ts` the message that shows it. The store knows who may decide, until when and how
    often; the button's data is never trusted for that. `answer` is the button's, as `core.pairing.answers_to` names it.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    approval: str
    approves: bool
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PickedAnswer:
    """A user pressed the button of the answer with this number, from 0, under the soul's message `ts`.

    The store knows which answers there are, whom they were offered and for how long.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    number: int


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A user wants the reply gone that the soul's message `ts` is a part of; `by_approver`: the admin trusts them."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str
    by_approver: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A user stopped by the platform's button what the soul does in the thread that begins with the message `ts`."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str


@dataclass(frozen=True, slots=True)
class WhyAsked:
    """A user asked by the shortcut why the message `ts` says what it says; the store knows whether it is the soul's."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    ts: str
    author: str


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A user typed the slash command of a soul in the room `asked_in`.

    `channel` are the direct messages of the user with the soul, whose audience is `audience`: what the words ask for is
    answered to that user alone. With `home`, what it names was done on the user's home page instead, and `words` are
    what was typed there.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    audience: Audience
    asked_in: str
    author: str
    words: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class AskedAbout:
    """A user asked about a message by the shortcut at it: `words` are their question, and below it the quoted message.

    The answer goes to `channel` and its `thread`; an empty channel are the user's direct messages with the soul.
    """

    event_id: str
    soul: str
    workspace: str
    channel: str
    thread: str
    place: Place
    audience: Audience
    author: str
    words: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The soul was invited to a channel by `inviter`, at `at_ms`; what is said there, its `audience` may know."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    place: Place
    audience: Audience
    inviter: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class RoomWaySent:
    """A user who may manage a channel sent the dialog that sets how the soul works there."""

    event_id: str
    soul: str
    workspace: str
    channel: str
    place: Place
    audience: Audience
    author: str
    way: RoomWay


Arrival = (
    NewMessage
    | Edit
    | Deletion
    | Feedback
    | Complaint
    | Decision
    | PickedAnswer
    | Withdrawal
    | Stop
    | WhyAsked
    | TypedCommand
    | AskedAbout
    | Joined
    | RoomWaySent
)


class Acceptance(StrEnum):
    """What the inbox did with an arrival."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class UnreadPlace:
    """A channel's timeline, or a thread if `thread` is the ts of its first message, whose messages may be missing.

    They are missing from the ts `since` on. `resume` is where the next step of reading begins, empty for the first one.
    `heard_ms` is when the last message there was written, 0 if unknown. `failures` counts attempts to read it.
    """

    channel: str
    thread: str
    since: str
    resume: str = ""
    heard_ms: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class HeardPlace:
    """A conversation of the store: its channel, its thread, and when it was last active."""

    channel: str
    thread: str
    last_ms: int


DutyTurn = Callable[[], AbstractAsyncContextManager[float]]
"""Something that one of several daemons does for all, as long as the block runs: 0 where this one is to do it now.

Else the seconds after which to look again. May raise StoreError.
"""


class CatchUpLog(Protocol):
    """How far the platform's history was read, and which places are still to be read; survives the daemon."""

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """The ts up to which every message was surely received, or None before the first complete reading.

        There is one watermark for the whole workspace. Only a complete reading moves it, never a live message: a
        message that arrives after a gap proves nothing about the gap. One in the future counts as None.
        """

    async def ask(self, soul: str, workspace: str) -> None:
        """Have one of the daemons read what was missed, after a gap; once more, if one reads already."""

    def turn(self, soul: str, workspace: str) -> AbstractAsyncContextManager[float]:
        """Whether this daemon is to read what was missed, while the block runs; see `DutyTurn`."""

    async def advance(self, soul: str, workspace: str, ts: str) -> None:
        """Move the watermark forward, or back from the future, and forget the places that are read."""

    async def heard_places(self, workspace: str, since_ms: int, older: int) -> tuple[tuple[HeardPlace, ...], int]:
        """Conversations active since a time, and the `older` latest threads from before it; then how many are left out.

        The latest come first. The count of those left out stops at 10,000.
        """

    async def add_unread(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        """Make places due. One that is due keeps the earlier `since`; one that was read goes on where that ended."""

    async def next_unread(
        self, soul: str, workspace: str, *, most_failures: int, waited_longest: bool = False
    ) -> UnreadPlace | None:
        """The due place with the fewest failures that was heard last, or of those the one that waited longest.

        None: all are read, but for those that failed `most_failures` times.
        """

    async def put_off(self, soul: str, workspace: str, place: UnreadPlace) -> None:
        """Store the changed `resume` and `failures` of a place, which stays due."""

    async def mark_read(self, soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        """A place is read; after another gap it has to be read from `next_since` on."""

    async def mark_quiet(self, soul: str, workspace: str, channel: str, latest: Mapping[str, str]) -> None:
        """Due threads of a channel whose latest reply (ts, by the thread) is older than their `since` count as read."""

    async def known_messages(
        self, workspace: str, channel: str, timestamps: Collection[str], receiver: str
    ) -> frozenset[str]:
        """Those of the messages that the store has from this account of ours."""

    async def known_posts(
        self, workspace: str, channel: str, thread: str, timestamps: Collection[str]
    ) -> frozenset[str]:
        """Those of the soul's own posts in a thread that the store has sent, or may be sending now."""


class RoomNews(Protocol):
    """What the daemons on one memory.db tell each other of rooms and users: the platform tells only one of them."""

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        """Tell all daemons that channels or users (ids) have changed. Raises StoreError."""

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        """The ids of what others told after the news numbered `after`, and the number of the latest of it.

        News is kept longer than anybody remembers what was true before it. Raises StoreError.
        """


@dataclass(frozen=True, slots=True)
class RoomListKey:
    """Whose private rooms a list holds: a user's in a workspace, as one account of ours (`app`) sees them; ids."""

    workspace: str
    person: str
    app: str


class PersonRooms(Protocol):
    """Which private rooms users are in, in memory.db; all daemons on it share what one of them heard.

    Every method may raise StoreError.
    """

    async def known(self, key: RoomListKey, soul: str, since_ms: int) -> frozenset[str] | None:
        """The rooms of a list that was read since then, as far as the soul spoke there; None if there is no such list.

        Of very many rooms, those in which it spoke last.
        """

    async def lists(self, key: RoomListKey, room: str, since_ms: int) -> bool:
        """Whether a room stands in a list that was read since then, wherever the soul spoke."""

    async def begin(self, key: RoomListKey) -> int:
        """To be called before the platform is asked for a list; gives a number to `keep` it by."""

    async def keep(self, key: RoomListKey, rooms: Collection[str], begun: int, asked_ms: int) -> bool:
        """Keep a list that the platform gave when it was asked at `asked_ms`.

        False, and nothing is kept, if news outdated it while it was read.
        """

    async def outdate(self, workspace: str, *, person: str = "", room: str = "") -> None:
        """Lists are no longer true: those of a person, or all; a room, if one is named, stands in none of them now."""

    async def open_rooms(self, workspace: str) -> frozenset[str]:
        """The channels of which words are kept that the whole workspace may know."""

    async def doubt(self, workspace: str, room: str = "") -> None:
        """It isn't known any more whether all who read in a room, or in any room, are full members."""

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        """A person lives in a time zone by now; true if another one was known, from which what repeats is moved."""

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        """The people for whom something repeats, those whose next time is soonest."""

    async def make_private(self, workspace: str, room: str) -> None:
        """What was said in a room, and what was learned of it, is for its members alone from now on."""


class LooksKept(Protocol):
    """What people have open beside their talk with the soul; kept for minutes."""

    async def keep(self, workspace: str, person: str, seen: Sequence[LookedAt], at_ms: int) -> None:
        """Put this in the place of what was open before, unless something newer is; 0: now. Raises StoreError."""

    async def of(self, workspace: str, person: str) -> tuple[LookedAt, ...]:
        """What a person has open now. Raises StoreError."""


class Intake(Protocol):
    """Takes arrivals from a channel. When a call returns, its effect is durable; when it raises, there is none."""

    @property
    def catch_up_log(self) -> CatchUpLog:
        """Where the reading of the platform's history stands."""

    @property
    def room_news(self) -> RoomNews:
        """What other daemons heard of rooms and users."""

    @property
    def person_rooms(self) -> PersonRooms:
        """Which private rooms users are in."""

    @property
    def room_ways(self) -> RoomWays:
        """How the soul works in each channel."""

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once. Raises StoreError when it is not stored: do not acknowledge it then."""

    @property
    def looks(self) -> LooksKept:
        """What people have open beside the talk."""

    async def next_reminder_ms(self, soul: str, workspace: str, person: str) -> int | None:
        """When the next reminder of a person's own is due; None where none waits. Raises StoreError."""

    async def may_ask_why(self, feedback: Feedback) -> bool:
        """Whether to ask who called a reply bad what was wrong; true once for each reply and person.

        Raises StoreError.
        """


# -- people ----------------------------------------------------------------------------------------------------------


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


class Gate(Protocol):
    """The authorizer, asked on every path before the soul thinks or speaks; an unknown user is refused."""

    async def admit(self, perception: Perception) -> GateDecision:
        """Decide by platform ids and settings only. Raises NotDelivered when the platform is unreachable."""


# -- what leaves -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Post:
    """One row of the outbox: one message that must be visible exactly once.

    `key` is unique and is sent in the message's metadata. `body` is markdown, at most one message long. `reply_to` is
    the ts of the thread to post in, empty for the timeline. `recipient` is the user whom it answers. `draft` is the
    platform's id of a message that shows part of the text already and has to be finished instead of posted anew. A
    message with this key is surely newer than `newer_than_ts`. `draft_lost` says that a draft may exist whose id was
    lost. `last` marks the final part of a reply. `approval` is the id of the request whose buttons it carries.
    `revises` is the platform's id of an earlier post whose text and buttons this one replaces; doing so twice changes
    nothing more. `words` are those of its buttons. `file`: the body is sent as a file of this name, which no
    other post has; where it can't be, what stands in it as markdown is posted. `closes`: the draft is kept as it
    stands, and the body, which may be empty, comes below it. `dates` are times as they read in the body, with their
    moments (ms, UTC): each reader may see them on their own clock. `answers` are those that the recipient may give to
    the question by a button. `withdrawn`: what stands of it, or of the post that it revises, is deleted.
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
    words: Words = HOUSE_WORDS
    file: str = ""
    closes: bool = False
    dates: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class ReplyFile:
    """A part of a reply that is sent as a file: its name, which no other post has, and the markdown that it was."""

    name: str
    body: str


AttachedReply = tuple[str, tuple[ReplyFile, ...]]
"""The words of a reply, and what is sent as files behind them."""


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


@dataclass(frozen=True, slots=True)
class FoundPost:
    """A post found in the platform's history: its id, and whether it is finished or only a draft."""

    ts: str
    finished: bool


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
class LinkedMessages:
    """What stands at an address that a message holds: the message there, oldest first with its thread if it begins one.

    `origin` names its room for those who may read it. `private_room` is the id of that room where its words are for its
    members alone, empty otherwise. `refused` says why nothing is shown, a sentence of `core/sentences.py`; then nothing
    else is told, not even whether there is such a room.
    """

    address: str
    messages: tuple[ThreadMessage, ...] = ()
    origin: str = ""
    private_room: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """A place to write to, and its audience."""

    channel: str
    place: Place
    audience: Audience


@dataclass(frozen=True, slots=True)
class Offers:
    """What a channel has for people beside words: whether it opens `files` that they send, and the slash `command`."""

    files: bool = False
    command: str = ""


class Channel(Gate, Protocol):
    """One way for users to reach the soul, and for its replies to reach them."""

    name: str

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Pass on every arrival until cancelled; set `ready` once connected. Raises ConfigError for bad tokens."""

    def healthy(self) -> bool:
        """Whether it is connected and receives events; shown in the status and counted, never a reason to end."""

    async def close(self) -> None:
        """End every open request; those fail as requests fail whose answer is lost. A later call opens anew."""

    async def readers(self, perception: Perception) -> Readers:
        """Who reads a reply to a perception whose stored audience is `perception.audience`.

        Never raises for the platform's failures: what can't be proven now counts as readers who aren't all members.
        An answer wider than the stored audience was asked for anew.
        """

    def trouble(self) -> str:
        """What keeps it from working until an admin mends it, as a sentence without its end; empty for nothing."""

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[Callable[[str], None]]:
        """Show that the soul is working on a reply; cleared on every exit.

        The callback changes what is shown: words to stand behind the soul's name, such as `is weighing it…`.
        """

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """Begin to show a reply to a perception as it is generated; it links to trusted hosts alone, None: to all.

        `grows`: whether its words are shown before it is whole, None: as the settings say.
        """

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """Cut a reply into messages that the conversation's channel takes whole, in order.

        Hostile markup is inert, and so are links to hosts that are not trusted.
        """

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """A reply without those parts that read better as files, and those files; all of it where none can be sent.

        `key` is the reply's own, `words` say what stands in their place.
        """

    def reply_to(self, perception: Perception) -> str:
        """The thread to answer a perception in; empty for the timeline."""

    async def find_room(self, contact: str) -> Room:
        """Where a person or a channel, by its id, can be written to. Raises NotDelivered or ChannelRefused."""

    async def shared_room(self, person: str, name: str) -> Room:
        """The channel of a name or an id that a full member is in together with the soul.

        Raises NotDelivered, and ChannelRefused: by its code the person is a `guest`, there is none of that name that
        they are in (`not_there`), the soul is not in it (`not_in_channel`), it `is_archived`, or what a platform says.
        """

    async def deliver(self, post: Post) -> str:
        """Make a post visible and return the platform's id for it.

        Posting, or finishing a draft, is attempted once. Raises NotDelivered (surely not sent; AccessLost where an
        admin has to act first), DeliveryUncertain (look it up first) or ChannelRefused (will never be accepted in any
        form: a channel tries smaller and plainer forms itself). A refused draft or revision is then posted anew.
        """

    async def find(self, post: Post) -> FoundPost | None:
        """Look a post up by its key in the platform's history; None means surely absent.

        With `post.draft_lost`, an unfinished message of ours in that thread, newer than `newer_than_ts` and without a
        key, counts as its draft. Raises DeliveryUncertain when the history is unreadable, HistoryClosed when the
        platform refuses for good to show it.
        """

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """Show a text to one user alone, in a conversation's room or a thread of it; False if that surely failed."""

    def offers(self, conversation: ConversationKey) -> Offers:
        """What the conversation's channel has for people beside words."""

    def waits_for(self, command: str) -> bool:
        """Whether a slash command, by its event, still can be answered where it was typed."""

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """Show an answer where the command was typed, to its user alone; False if that surely failed."""

    async def show_home(self, person: str, page: HomePage) -> None:
        """Show a person their home page; nothing where the channel has none. Raises ChannelError."""

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """Give a thread of direct messages a title; nothing where the channel shows none. Raises ChannelError."""

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        """Whether an account, by its id, is in a conversation's room; true if it can't be told. Raises NotDelivered."""

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        """The address of a message of a conversation; empty where it has none, or it can't be asked for now."""

    async def language_of(self, person: str) -> str:
        """The tag of a user's language, such as `de-DE`; empty if it isn't known or can't be asked for now."""

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """The names of people and of channels that everybody may know of, by platform id, as far as they are known.

        Never raises, and answers within two seconds.
        """

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """Up to `limit` messages of the perception's thread from before it, oldest first; empty outside threads."""

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        """What people said in the perception's channel and its threads after a ts, oldest first, of much the newest.

        What the soul said is left out. Raises NotDelivered, ChannelRefused.
        """

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        """What stands at the platform's addresses of messages in a perception, in order; none where it holds none.

        Shown is what its author may read and everybody who reads the answer, its `readers`, too. Never raises, and
        answers within some seconds.
        """

    async def beside(
        self, perception: Perception, readers: Readers, seen: Sequence[LookedAt]
    ) -> tuple[OpenBeside, ...]:
        """What of the things that a perception's author has open they may know, and every reader with them.

        Never raises, and answers within some seconds.
        """

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        """The bytes of a file that a message of the conversation shows, at most MOST_FILE_BYTES.

        Raises FileRefused, and NotDelivered where it may be had later.
        """


# -- files that were sent ------------------------------------------------------------------------------------------

MOST_FILES = 8
"""Files of one message that are read."""

MOST_FILE_BYTES = 20_000_000
"""Bytes of the largest file that is read."""


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


class FileReader(Protocol):
    """Reads files that anybody may have made, each within limits of time and memory."""

    async def read(self, name: str, data: bytes) -> ReadFile:
        """What a file holds, by its bytes rather than by its name. Raises FileRefused."""

    async def aclose(self) -> None:
        """Close connections."""


class Transcriber(Protocol):
    """Turns recorded speech into words."""

    async def transcribe(self, name: str, data: bytes) -> str:
        """The words of a recording. Raises ModelUnavailable or ModelRefused."""

    async def aclose(self) -> None:
        """Close connections."""


# -- vectors ---------------------------------------------------------------------------------------------------------


class Embedder(Protocol):
    """Turns texts into vectors whose cosines tell how near their meanings are."""

    @property
    def id(self) -> str:
        """Names weights and recipe; only vectors of one id can be compared."""

    @property
    def unrelated(self) -> "Unrelated | None":
        """How alike texts seem that have nothing to do with each other; None where that is not known."""

    async def embed(self, texts: Sequence[str]) -> "Sequence[Vector]":
        """A vector of length one for each text, in order: float32, 384 numbers by the local embedder.

        All of one call have as many; those of the next may have others, where an endpoint's model was exchanged. The
        end of a text that is too long is left out. Works off the event loop, and loads what it needs at its first call.
        Raises ModelUnavailable (try again later) or ModelRefused (an admin has to act).
        """

    async def aclose(self) -> None:
        """Close connections and threads."""


class View(StrEnum):
    """What is embedded of a memory: its own words, or a turn with the one before it, both dated."""

    OWN = "own"
    BEFORE = "before"


class Unrelated(NamedTuple):
    """Mean and deviation of the cosines of a text with others that have nothing to do with it."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Near:
    """Cosines with a query by the id of the memory; `mean` and `deviation` are those of all `rows` that were looked at.

    `kind` is `exact`, `chroma`, or `none` where vectors could not serve: then full text serves alone.
    """

    cosines: Mapping[str, float]
    mean: float = 0.0
    deviation: float = 0.0
    kind: str = "none"
    rows: float = 0.0


@dataclass(frozen=True, slots=True)
class NearQuery:
    """What is asked of the vectors: one view of memories, and the ids of those that are measured wherever they lie."""

    view: View
    vector: "Vector"
    also: Collection[str] = ()


class VectorIndex(Protocol):
    """The vectors of what may be remembered. Ids: TU_ and TL_ (turns), those of records, LB_ (passages of the library).

    A row lies in a partition for each code of who may find it (`memory/reader_codes.py`). What was stored a moment ago
    may not be embedded yet; what was deleted may still be found for a moment: who asks reads the row again by its id.
    """

    async def near(self, partitions: Collection[str], queries: Sequence[NearQuery], most: int) -> Sequence[Near]:
        """For each query the `most` nearest memories in some partitions, and those of its `also`. Never raises.

        With 0 for `most` nothing is scanned, and mean and deviation are not known.
        All queries of a moment in one call: each partition is walked through once for all of them.
        """


# -- libraries and tools ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """A found text, as data; `source` is where a user finds it (`docs/limits.md:12`, `docs/report.pdf, page 12`).

    `document` and `line`, from 1, say where in a document of the library it stands; empty for any other text.
    `members_only`: only full members of the workspace may read it. `room` is the id of the private room that it
    comes from, where it is read elsewhere: its members alone may read it. `own` are words of the soul itself, which
    prove nothing. `fit` says how well it fits the query, comparable among all passages of one query. `id` is that of
    the memory; `significance` goes from 1 to 10, 0 where nothing is known of it; `outdated`: something later holds now.
    Two passages are equal without these.
    """

    source: str
    text: str
    members_only: bool = field(default=True, compare=False)
    document: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)
    own: bool = field(default=False, compare=False)
    fit: float = field(default=0.0, compare=False)
    room: str = field(default="", compare=False)
    id: str = field(default="", compare=False)
    significance: int = field(default=0, compare=False)
    tone: str = field(default="", compare=False)
    outdated: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage of a file: the `line` where it begins; in a document its number, and `place` says where ("page 12")."""

    line: int
    body: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file by its path as cited; `fault` says why it is not read, or not to its end, and what to do about it."""

    path: str
    stamp: str
    passages: Sequence[IndexedPassage]
    fault: str = ""


class PassageIndex(Protocol):
    """The stored passages of the library's files. Every method may raise StoreError."""

    async def stamps(self) -> Mapping[str, str]:
        """The stamp of every file by its path."""

    async def put(self, files: Sequence[IndexedFile]) -> None:
        """Store files in place of their earlier versions; one that is cut off has no stamp until it is put again."""

    async def remove(self, paths: Collection[str]) -> None:
        """Remove files; one that is cut off has no stamp."""

    async def search(self, query: str, limit: int, *, folders: Collection[str] | None = None) -> tuple[Passage, ...]:
        """The passages that fit best, best first; with `folders` those below these alone."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """The passages of a document from the one that begins at a line on; empty when there is none."""


class Library(Protocol):
    """The admin's folders of documents and code, for full members of the workspace; a part may be open to all."""

    @property
    def folders(self) -> Mapping[str, int]:
        """How many documents each folder holds, by its name; folders without any are left out."""

    async def search(self, query: str, limit: int) -> tuple[Passage, ...]:
        """The best passages, best first; empty when none fits. Raises StoreError."""

    async def read_on(self, document: str, line: int, most: int) -> tuple[Passage, ...]:
        """The passages of a document from a line on, in its order; empty when it is gone or not to be read here.

        Raises StoreError.
        """


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of an MCP server; `name` is unique (`server/tool`), `parameters` is a JSON schema.

    `writes` says that it may change or disclose something outside, so that a user has to approve each call; `destroys`
    that it says so of itself. `approvers` may approve it, by platform id; without any, those of the settings may.
    `fingerprint` stands for all that the tool says of itself; it changes with any of it.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    writes: bool
    fingerprint: str
    destroys: bool = False
    approvers: tuple[str, ...] = ()


class Toolbox(Protocol):
    """The tools of the admin's MCP servers."""

    @property
    def known(self) -> tuple[Tool, ...]:
        """The tools that the connected servers listed last; asks no server."""

    async def tools(self) -> tuple[Tool, ...]:
        """The tools that are available now; an unreachable server is left out and logged."""

    async def use(self, name: str, arguments: Mapping[str, object], fingerprint: str) -> Passage:
        """Call a tool once, if it still has the fingerprint with which it was chosen or allowed.

        Raises ToolFailed; `uncertain` when it may have taken effect nevertheless.
        """


class ToolRecords(Protocol):
    """What each tool said of itself when the admin came to trust it."""

    async def changed(self, server: str, offered: Sequence[Tool]) -> Collection[str]:
        """Record what a server offers; gives the names of the tools that say something else than before.

        A tool seen for the first time counts as known. Raises StoreError.
        """


# -- telemetry -------------------------------------------------------------------------------------------------------


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
