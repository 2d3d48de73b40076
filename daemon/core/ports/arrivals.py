"""What arrives: each event of a channel as one value."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.perception import Audience, Perception, Place
from daemon.core.ports.services import SharedFile
from daemon.core.room_ways import RoomWay
from daemon.core.sensing import ContextRefused, JSONObject


class Source(StrEnum):
    """How a message reached the inbox: live or by catch-up."""

    LIVE = "live"
    BACKFILL = "backfill"


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
class ChannelArrival:
    """What happened in a channel (platform ids) and concerns one soul; `event_id` identifies the delivery."""

    event_id: str
    soul: str
    workspace: str
    channel: str


@dataclass(frozen=True, slots=True)
class MessageArrival(ChannelArrival):
    """What happened to the message `ts` of a channel."""

    ts: str


@dataclass(frozen=True, slots=True)
class UserAct(MessageArrival):
    """What a user, by platform id, did at the message `ts` with a button, a reaction, a dialog or a shortcut."""

    author: str


@dataclass(frozen=True, slots=True)
class Edit(MessageArrival):
    """A message was edited; `text` is its new text, `files` are those that it still shows.

    `asks` is the whole message if only the edit addresses it to the soul.
    """

    text: str
    asks: NewMessage | None = None
    files: tuple[SharedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Deletion(MessageArrival):
    """A message was deleted by its author or a moderator."""


@dataclass(frozen=True, slots=True)
class Feedback(UserAct):
    """A user judged a reply, by `how`: a `button` under it or a `reaction`; `value` is `good` or `bad`.

    `taken_back`: the user removed that reaction again.
    """

    value: str
    how: str = "button"
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Complaint(UserAct):
    """A user said in a dialog what was wrong with a reply that they called bad; `text` is never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Decision(UserAct):
    """A user pressed a button under a request for approval of one action.

    `approval` is the request's id, `ts` the message that shows it. The store knows who may decide, until when and how
    often; the button's data is never trusted for that. `answer` is the button's, as `core.pairing.answers_to` names it.
    """

    approval: str
    approves: bool
    answer: str = ""


@dataclass(frozen=True, slots=True)
class PickedAnswer(UserAct):
    """A user pressed the button of the answer with this number, from 0, under the soul's message `ts`.

    The store knows which answers there are, whom they were offered and for how long.
    """

    number: int


@dataclass(frozen=True, slots=True)
class Withdrawal(UserAct):
    """A user wants the reply gone that the soul's message `ts` is a part of; `by_approver`: the admin trusts them."""

    by_approver: bool = False


@dataclass(frozen=True, slots=True)
class Stop(UserAct):
    """A user stopped by the platform's button what the soul does in the thread that begins with the message `ts`."""


@dataclass(frozen=True, slots=True)
class WhyAsked(UserAct):
    """A user asked by the shortcut why the message `ts` says what it says; the store knows whether it is the soul's."""


@dataclass(frozen=True, slots=True)
class TypedCommand(ChannelArrival):
    """A user typed the slash command of a soul in the room `asked_in`.

    `channel` are the direct messages of the user with the soul, whose audience is `audience`: what the words ask for is
    answered to that user alone. With `home`, what it names was done on the user's home page instead, and `words` are
    what was typed there.
    """

    audience: Audience
    asked_in: str
    author: str
    words: str
    home: str = ""


@dataclass(frozen=True, slots=True)
class AskedAbout(ChannelArrival):
    """A user asked about a message by the shortcut at it: `words` are their question, and below it the quoted message.

    The answer goes to `channel` and its `thread`; an empty channel are the user's direct messages with the soul.
    """

    thread: str
    place: Place
    audience: Audience
    author: str
    words: str


@dataclass(frozen=True, slots=True)
class Joined(ChannelArrival):
    """The soul was invited to a channel by `inviter`, at `at_ms`; what is said there, its `audience` may know."""

    place: Place
    audience: Audience
    inviter: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class RoomWaySent(ChannelArrival):
    """A user who may manage a channel sent the dialog that sets how the soul works there."""

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


LARGEST_STATE: Final = 4 * 1024
"""The most bytes that a member's state takes as JSON."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}")
NAME_PATTERN: Final = _NAME.pattern


class MemberTaken(ContextRefused):
    """A member of this name is present from another process; nothing was written."""

    def __init__(self, key: str, member: str) -> None:
        super().__init__(
            f"{member} is present at {key} from another process", hint="give each process a name of its own"
        )


@dataclass(frozen=True, slots=True)
class Member:
    """One member as it is now, from the process that it goes with, or `http`; `seen_ms` is when it last said so."""

    member: str
    process: str
    state: JSONObject
    seen_ms: int


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where a member is at work, as the id of a conversation; only those of the audience may know."""

    audience: str
    where: str


def checked_member(text: str) -> str:
    """The text, which is a member's name. Raises ContextRefused."""
    if not _NAME.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no name of a member",
            hint="a name has up to 64 of letters, digits and . _ : @ -, and begins with a letter or a digit",
        )
    return text
