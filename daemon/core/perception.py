"""Perceptions and conversations, and the audiences and readers that decide who may know what."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import field

from daemon.core.value import Value


class Modality(StrEnum):
    """The senses of perceptions."""

    WORDS = "words"
    TIME = "time"  # a scheduled event or a silence timer fell due
    DECISION = "decision"  # a user approved or refused an action of the soul
    NOTE = "note"  # another soul, or the admin, sent a note
    EVENT = "event"  # a program that the admin connected to a room reports something
    SENSE = "sense"  # a reading of a sense: no user waits for an answer


class AudienceKind(StrEnum):
    """The kinds of audiences, narrowest first. `OPERATOR` is the admin."""

    DM = "dm"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    OPERATOR = "operator"


class Audience(Value):
    """The users who may ever learn something. Stored on every row as `kind:id` and enforced by queries."""

    kind: AudienceKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Audience":
        """Read the output of `str()`. Raises ValueError."""
        kind, _, id_ = text.partition(":")
        return cls(AudienceKind(kind), id_)

    def within(self, other: "Audience") -> bool:
        """Return true if surely all members of this audience are in the other one too."""
        return self == other or (other.kind is AudienceKind.WORKSPACE and self.kind is not AudienceKind.OPERATOR)


class Readers(Value):
    """The readers of a conversation: the one value that decides what a reply may hold.

    `audience` may learn the words said there, and is stored with them.
    `members_only`: every reader is known to be a full member. A guest, a user or bot of another organisation, or an
    unknown reader makes it false. Such readers may know what was said in that very room, and nothing else.
    `rooms` are the ids of the private rooms of the one user of a DM. Raises ValueError if others read along.
    `apart`: the readers of a session, whose words are kept for a DM. They may know this conversation and the workspace,
    and nothing else of that DM.
    `unproven`: the platform can't be asked now, and `members_only` is false for that reason.
    `rooms_unproven`: the platform can't be asked for the rooms, and there are none for that reason.
    """

    audience: Audience
    members_only: bool
    rooms: frozenset[str] = frozenset()
    apart: bool = False
    unproven: bool = False
    rooms_unproven: bool = False

    def __post_init__(self) -> None:
        if self.rooms and not (self.members_only and self.audience.kind is AudienceKind.DM):
            raise ValueError("private rooms are recalled in the DM of a full member alone")

    def may_know(self, workspace: str) -> tuple[Audience, ...]:
        """Return the audiences whose rows these readers may know wherever they were said, narrowest first.

        Readers who aren't all members don't get rows of the workspace. In a public channel they may know rows of that
        channel alone: the caller has to look for those by channel.
        """
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        if self.apart:
            return (everybody,) if self.members_only else ()
        if self.members_only:
            return tuple(dict.fromkeys((self.audience, *self.room_audiences, everybody)))
        return () if self.audience == everybody else (self.audience,)

    def before_outsiders(self) -> "Readers":
        """Return these readers with one who isn't known to be a full member."""
        return Readers(self.audience, members_only=False, apart=self.apart)

    @property
    def room_audiences(self) -> tuple[Audience, ...]:
        return tuple(Audience(AudienceKind.CHANNEL, room) for room in sorted(self.rooms))

    def exclude_what(self, others: "Readers") -> bool:
        """Return true if something gathered for the others may be too much for these readers."""
        outsiders = (others.members_only and not self.members_only) or (self.apart and not others.apart)
        return outsiders or not others.rooms <= self.rooms or not others.audience.within(self.audience)


BESIDE = "beside"
"""The `thread` of a conversation that answers read-only requests, which then never wait for a reply in the channel."""


class ConversationKey(Value):
    """The key of a conversation: soul and place. The messages of a conversation are handled one after the other.

    `thread` is the ts of a Slack thread's first message. It is empty for the timeline of a DM, and `BESIDE` for
    requests that have no thread. Each thread and each DM is one conversation forever. `str()` gives the id used in
    memory.db, `parse` reads it.
    """

    soul: str
    workspace: str
    channel: str
    thread: str = ""

    def __str__(self) -> str:
        return "/".join((self.soul, self.workspace, self.channel, self.thread))

    @classmethod
    def parse(cls, text: str) -> "ConversationKey":
        """Read the output of `str()`. Raises ValueError."""
        soul, workspace, channel, thread = text.split("/")
        return cls(soul, workspace, channel, thread)

    @property
    def posted_in(self) -> str:
        return "" if self.thread == BESIDE else self.thread


class Place(StrEnum):
    """The kinds of rooms that hold a conversation."""

    DM = "dm"
    GROUP_DM = "group_dm"
    PRIVATE_CHANNEL = "private_channel"
    PUBLIC_CHANNEL = "public_channel"
    TERMINAL = "terminal"


NO_MESSAGE = "no_message"
"""The param of words that were typed into a modal: the platform has no message of them."""

BELOW = "below"
"""The param of such words that names the thread for their answer."""


class Perception(Value):
    """The record of a perception: a message, a due event, a decision, a note or a program's event.

    `id` is the inbox key (soul, workspace, channel and ts), equal for repeated deliveries.
    `ts` is the platform's timestamp and orders the perceptions of a conversation. Only WORDS have a message with that
    ts.
    `author` is the platform id of the user who caused it. `name` is the user's chosen name: data, never a permission.
    `zone` is the IANA name of the user's time zone, empty if unknown. The inbox sets `received_ms`.
    `late` marks a message that is answered later than usual. `process` is the mental process to visit with `params`;
    None means the current one. `language` is the tag of the user's language, such as `de-DE`, empty if unknown.
    `bot`: the author is known to be a program.
    """

    id: str
    conversation: ConversationKey
    modality: Modality
    content: str
    author: str
    audience: Audience
    place: Place
    ts: str
    received_ms: int = 0
    name: str = ""
    zone: str = ""
    late: bool = False
    process: str | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    language: str = ""
    bot: bool = False

    @classmethod
    def of_message(
        cls,
        *,
        conversation: ConversationKey,
        ts: str,
        author: str,
        content: str,
        place: Place,
        audience: Audience,
        name: str = "",
    ) -> "Perception":
        """Make a perception of a user's message, as a channel receives it."""
        id_ = "/".join((conversation.soul, conversation.workspace, conversation.channel, ts))
        return cls(id_, conversation, Modality.WORDS, content, author, audience, place, ts, name=name)

    @property
    def has_message(self) -> bool:
        return self.modality is Modality.WORDS and NO_MESSAGE not in self.params

    @property
    def asks_nothing(self) -> bool:
        timer = self.modality is Modality.TIME and not self.content.strip()
        return timer or self.modality in {Modality.EVENT, Modality.SENSE}

    @property
    def said_at(self) -> tuple[float, str]:
        try:
            return float(self.ts), self.ts
        except ValueError:
            return 0.0, self.ts


class Origin(Value):
    """The audience of a source. Before readers who aren't all members, it is shown in `channel` alone ('': nowhere)."""

    audience: Audience
    channel: str


def may_hear(readers: Readers, where: ConversationKey, origin: Origin) -> bool:
    """Return true if the readers of a reply may know something of this origin."""
    if readers.members_only or readers.apart:
        return origin.audience in readers.may_know(where.workspace)
    everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
    return origin.channel == where.channel and origin.audience in (readers.audience, everybody)


def may_quote(origin: Origin, where: ConversationKey, readers: Readers, *, asker_is_in: bool) -> bool:
    """Return true if an answer may quote words of a room from the platform's history, on a user's request.

    The room itself may read its words, and full members the public ones. Words of a private room are quoted elsewhere
    only in the DM of a full member. That member must be in that room now (`asker_is_in`). Words of a DM are quoted
    nowhere else.
    """
    if origin.channel == where.channel:
        return not readers.apart
    if not readers.members_only:
        return False
    everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
    if origin.audience == everybody:
        return True
    alone = readers.audience.kind is AudienceKind.DM and not readers.apart
    return alone and asker_is_in and origin.audience == Audience(AudienceKind.CHANNEL, origin.channel)


def common(sources: Iterable[Origin]) -> Origin | None:
    """Return the origin of a text made of these sources of one workspace: its audience may know every source.

    None: the text must not be made. That is so without a source, for two workspaces, for words of admins and others,
    and for two private rooms or DMs: the same users may be in both now, but they can leave one.
    """
    known = set(sources)
    audiences = {one.audience for one in known}
    private = {one for one in audiences if one.kind is not AudienceKind.WORKSPACE}
    narrowest = private or audiences
    if len(narrowest) != 1 or len(audiences - private) > 1 or _is_for_admins_among_others(audiences):
        return None
    channels = {one.channel for one in known}
    return Origin(narrowest.pop(), channels.pop() if len(channels) == 1 else "")


def _is_for_admins_among_others(audiences: set[Audience]) -> bool:
    return len(audiences) > 1 and any(one.kind is AudienceKind.OPERATOR for one in audiences)
