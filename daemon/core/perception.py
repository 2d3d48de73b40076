"""What reaches the soul and where: perceptions, conversations, and audiences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Modality(StrEnum):
    """The sense through which a perception came."""

    WORDS = "words"
    TIME = "time"  # a scheduled event or a silence timer fell due
    DECISION = "decision"  # a user approved or refused an action of the soul
    NOTE = "note"  # another soul, or the admin, sent a note
    EVENT = "event"  # a program that the admin connected to a room reports something
    SENSE = "sense"  # a reading: something is so; nobody waits for an answer


class AudienceKind(StrEnum):
    """How many people may learn something, narrowest first; `OPERATOR` is the admin."""

    DM = "dm"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Audience:
    """Who may ever learn what was said here; stored on every row as `kind:id` and enforced by queries."""

    kind: AudienceKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Audience":
        """Read what `str()` wrote. Raises ValueError for anything else."""
        kind, _, id_ = text.partition(":")
        return cls(AudienceKind(kind), id_)

    def within(self, other: "Audience") -> bool:
        """Whether surely everybody in this audience is in the other one too."""
        return self == other or (other.kind is AudienceKind.WORKSPACE and self.kind is not AudienceKind.OPERATOR)


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads what is said in a conversation: the one value that decides what a reply may hold.

    `audience` is who may ever learn the words said there; they are stored with it. `members_only` says that every
    reader is known to be a full member of the workspace. A guest, a user or bot of another organisation, or a reader of
    whom nothing is known makes it false. Such readers may know what was said in that very room, and nothing that the
    workspace knows besides. `rooms` are the ids of the private rooms that the one user of a DM is known to be in now;
    where others read along there are none. Raises ValueError for them.

    `apart`: they may know what was said in this very conversation and what the workspace knows, and nothing else that
    was said to the audience; so it is in a session, whose words are kept for a DM, and which hears none of that DM.

    `unproven`: the platform can't be asked just now, and `members_only` is false for want of knowledge. With
    `rooms_unproven` it can't be asked for the rooms, and there are none for that reason.
    """

    audience: Audience
    members_only: bool
    rooms: frozenset[str] = frozenset()
    apart: bool = False
    unproven: bool = False
    rooms_unproven: bool = False

    def __post_init__(self) -> None:
        """Refuse rooms where not one full member alone reads."""
        if self.rooms and not (self.members_only and self.audience.kind is AudienceKind.DM):
            raise ValueError("private rooms are recalled in the DM of a full member alone")

    def may_know(self, workspace: str) -> tuple[Audience, ...]:
        """The audiences whose rows these readers may know wherever they were said, narrowest first.

        Before readers who aren't all members, rows of the workspace are left out, in its public channels too: there
        they may know those of the same channel alone, which the caller has to look for by channel.
        """
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        if self.apart:
            return (everybody,) if self.members_only else ()
        if self.members_only:
            return tuple(dict.fromkeys((self.audience, *self.room_audiences, everybody)))
        return () if self.audience == everybody else (self.audience,)

    def before_outsiders(self) -> "Readers":
        """The same, where a reader isn't known to be a full member."""
        return Readers(self.audience, members_only=False, apart=self.apart)

    @property
    def room_audiences(self) -> tuple[Audience, ...]:
        return tuple(Audience(AudienceKind.CHANNEL, room) for room in sorted(self.rooms))

    def exclude_what(self, others: "Readers") -> bool:
        """Whether something that was gathered for the others may be too much for these readers."""
        outsiders = (others.members_only and not self.members_only) or (self.apart and not others.apart)
        return outsiders or not others.rooms <= self.rooms or not others.audience.within(self.audience)


BESIDE = "beside"
"""The `thread` of a conversation that answers what only reads, so that it waits for no other reply in its channel."""


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Soul and place of a conversation; a conversation's messages are handled one after the other.

    `thread` is the ts of a Slack thread's first message; it is empty for the timeline of a DM, and `BESIDE` for what
    the platform has no thread of. Each thread and each DM is one conversation forever. `str()` gives the id used in
    memory.db, `parse` reads it back.
    """

    soul: str
    workspace: str
    channel: str
    thread: str = ""

    def __str__(self) -> str:
        return "/".join((self.soul, self.workspace, self.channel, self.thread))

    @classmethod
    def parse(cls, text: str) -> "ConversationKey":
        """Read what `str()` wrote. Raises ValueError for anything else."""
        soul, workspace, channel, thread = text.split("/")
        return cls(soul, workspace, channel, thread)

    @property
    def posted_in(self) -> str:
        return "" if self.thread == BESIDE else self.thread


class Place(StrEnum):
    """The kind of room that holds a conversation."""

    DM = "dm"
    GROUP_DM = "group_dm"
    PRIVATE_CHANNEL = "private_channel"
    PUBLIC_CHANNEL = "public_channel"
    TERMINAL = "terminal"


NO_MESSAGE = "no_message"
"""The parameter of words that were typed into a dialog, so that the platform has no message of them."""

BELOW = "below"
"""The parameter of such words that names the thread in which their answer belongs."""


@dataclass(frozen=True, slots=True)
class Perception:
    """A message, a due event, a decision, a note or an event of a program, as the soul perceives it.

    `id` is the inbox key (soul, workspace, channel and ts), the same however often the platform repeats a delivery.
    `ts` is the platform's timestamp and orders perceptions within a conversation; only WORDS have a platform message
    with that ts. `author` is the platform id of the user who caused it. `name` is the name that they chose: data, never
    a permission. `zone` is the IANA name of the time zone they live in, empty if unknown. The inbox sets `received_ms`.
    `late` marks a message that is answered later than usual. `process` names the mental process that is visited with
    `params`; None means the current one. `language` is the tag of the user's own language, such as `de-DE`, as the gate
    knows it; empty if it doesn't. `bot` says that the gate knows its author as a program.
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
        """A user's message, as a channel receives it."""
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


@dataclass(frozen=True, slots=True)
class Origin:
    """Who may ever hear something; before readers who aren't all members it is said in `channel` alone, '': nowhere."""

    audience: Audience
    channel: str


def may_hear(readers: Readers, where: ConversationKey, origin: Origin) -> bool:
    """Whether the readers of a reply may hear it."""
    if readers.members_only or readers.apart:
        return origin.audience in readers.may_know(where.workspace)
    everybody = Audience(AudienceKind.WORKSPACE, where.workspace)
    return origin.channel == where.channel and origin.audience in (readers.audience, everybody)


def may_quote(origin: Origin, where: ConversationKey, readers: Readers, *, asker_is_in: bool) -> bool:
    """Whether words of a room may stand in an answer, quoted from the platform's history because somebody asks for it.

    The room itself may read them, and full members what the whole workspace may. What is for a private room is quoted
    elsewhere only in the DM of a full member who is in that room now (`asker_is_in`), as it is recalled there alone;
    what was said in a DM is quoted nowhere else.
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
    """The origin of what is made of sources of one workspace: exactly those may hear it who may hear each one.

    None: it must not be made. That is so without a source, of two workspaces, of words for admins and others, and of
    two private rooms, DMs among them, though the same people may be in both: they can leave one.
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
