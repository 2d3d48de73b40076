"""The arrivals of a channel as values, and the members of shared contexts."""

import re
from enum import StrEnum
from typing import Final

from daemon.core.contexts import ContextRefused, JSONObject
from daemon.core.perception import Audience, Perception, Place
from daemon.core.ports.services import SharedFile
from daemon.core.room_ways import ChannelSettings
from daemon.core.value import Value


class Source(StrEnum):
    """The ways by which a message reached the inbox: live or by catch-up."""

    LIVE = "live"
    BACKFILL = "backfill"


class NewMessage(Value):
    """A user's message, as a channel delivers it.

    `event_id` identifies the delivery (one mention makes two, with different ids).
    `addressed`: the message is surely meant for the soul (a DM, a mention). Any other message is a reply in a thread.
    Such a reply counts only if the soul takes part there and `to_others` is false.
    `thread_root` is the ts of the thread's first message, empty outside threads.
    `message_id` is the id given by the sending program, empty if the channel has no such ids.
    `envelope` is the platform's event as JSON text. `receiver` is the platform id of our account that heard the
    message, empty if the channel has none: exactly one of that account's souls gets it, once.
    `incomplete`: a twin delivery may hold more of the message. `files` are those that it shows.
    `stops`: the message says stop, and its author may talk with the soul.
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


class ChannelArrival(Value):
    """An event in a channel (platform ids) that concerns one soul. `event_id` identifies the delivery."""

    event_id: str
    soul: str
    workspace: str
    channel: str


class MessageArrival(ChannelArrival):
    """An event at the message `ts` of a channel."""

    ts: str


class UserAct(MessageArrival):
    """A user's action at the message `ts`: a button, a reaction, a modal or a shortcut. `author` is a platform id."""

    author: str


class Edit(MessageArrival):
    """The edit of a message: its new `text`, and the `files` that it still shows.

    `asks` is the whole message if only the edit addresses it to the soul.
    """

    text: str
    asks: NewMessage | None = None
    files: tuple[SharedFile, ...] = ()


class Deletion(MessageArrival):
    """The deletion of a message by its author or a moderator."""


class Feedback(UserAct):
    """A user's rating of a reply by a `button` under it or a `reaction`. `value` is `good` or `bad`.

    `taken_back`: the user removed that reaction again.
    """

    value: str
    how: str = "button"
    taken_back: bool = False


class Complaint(UserAct):
    """A user's words in a modal on what was wrong with a reply that they rated as bad. `text` is never empty."""

    text: str


class Decision(UserAct):
    """A user's press of a button under a request for approval of one action.

    `approval` is the request's id, `ts` the message that shows it. The store knows who may decide, until when and how
    often; the button's data is never trusted for that. `answer` is the button's, see `core.pairing.answers_to`.
    """

    approval: str
    approves: bool
    answer: str = ""


class PickedAnswer(UserAct):
    """A user's press of an answer's button under the soul's message `ts`; `number` counts from 0.

    The store knows the answers, to whom they were offered, and for how long.
    """

    number: int


class Withdrawal(UserAct):
    """A user's request to delete the reply that holds the soul's message `ts`. `by_approver`: the admin trusts them."""

    by_approver: bool = False


class Stop(UserAct):
    """A user's press of the platform's stop button in the thread that begins with the message `ts`."""


class WhyAsked(UserAct):
    """A user's question, by shortcut, why the message `ts` says so. The store knows whether it is the soul's."""


class TypedCommand(ChannelArrival):
    """A user's slash command, typed in the room `asked_in`.

    `channel` is the user's DM with the soul, and `audience` its audience: only that user sees the answer. `home` names
    an action on the user's home page, and `words` are what was typed there.
    """

    audience: Audience
    asked_in: str
    author: str
    words: str
    home: str = ""


class AskedAbout(ChannelArrival):
    """A user's question about a message, by shortcut. `words` are the question, and below it the quoted message.

    The answer goes to `channel` and its `thread`. An empty channel means the user's DM with the soul.
    """

    thread: str
    place: Place
    audience: Audience
    author: str
    words: str


class Joined(ChannelArrival):
    """The soul's invitation to a channel by `inviter`, at `at_ms`. `audience` may know what is said there."""

    place: Place
    audience: Audience
    inviter: str
    at_ms: int


class RoomWaySent(ChannelArrival):
    """A manager's submission of the modal that sets how the soul works in a channel."""

    place: Place
    audience: Audience
    author: str
    way: ChannelSettings


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
    """The results of `Intake.accept`."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"


LARGEST_STATE: Final = 4 * 1024
"""Bytes of a member's state as JSON, at most."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}")
NAME_PATTERN: Final = _NAME.pattern


class MemberTaken(ContextRefused):
    """Raised when a member of this name is present from another process. Nothing was written."""

    def __init__(self, key: str, member: str) -> None:
        super().__init__(
            f"{member} is present at {key} from another process", hint="give each process a name of its own"
        )


class Member(Value):
    """The current state of a member from one process, or from `http`. `seen_ms` is the time of its last update."""

    member: str
    process: str
    state: JSONObject
    seen_ms: int


class WorkPlace(Value):
    """The conversation (id) in which a member works. Only members of the audience may know it."""

    audience: str
    where: str


def checked_member(text: str) -> str:
    """Return the text if it is a valid member name. Raises ContextRefused."""
    if not _NAME.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no name of a member",
            hint="a name has up to 64 of letters, digits and . _ : @ -, and begins with a letter or a digit",
        )
    return text
