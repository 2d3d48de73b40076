"""What reaches the soul and where: perceptions, conversations, and who may ever hear what was learned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Modality(StrEnum):
    """The sense through which a perception came."""

    WORDS = "words"
    TIME = "time"  # something scheduled has fallen due, or a silence has lasted
    DECISION = "decision"  # somebody decided about what the soul asked to be allowed


class AudienceKind(StrEnum):
    """How wide a circle may hear something, narrowest first."""

    DM = "dm"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Audience:
    """Who may ever hear what was learned here; stored on every row as `kind:id` and enforced by query."""

    kind: AudienceKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> "Audience":
        """Read what `str()` wrote. Raises ValueError for anything else."""
        kind, _, id_ = text.partition(":")
        return cls(AudienceKind(kind), id_)


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Who and where; the unit of serial execution.

    `thread` is empty for the timeline of a DM, which is one conversation for ever; a Slack thread (its root's ts) is
    one conversation for ever. `str()` gives the id used in memory.db, `parse` reads it back.
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


class Place(StrEnum):
    """The kind of room a conversation is held in."""

    DM = "dm"
    GROUP_DM = "group_dm"
    PRIVATE_CHANNEL = "private_channel"
    PUBLIC_CHANNEL = "public_channel"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True)
class Perception:
    """One envelope for whatever the soul is to notice.

    `id` is the inbox key (soul, workspace, channel and ts), the same however often a platform repeats itself. `ts` is
    the platform's own timestamp and orders perceptions within a conversation. `author` is the platform id of the user
    who caused it and `name` what they call themselves (data, never a right). `received_ms` is set by the inbox. `late`
    marks a message that is answered later than usual. `process` names the mental process that this visits with
    `params`; None leaves it to the current one. Only WORDS have a platform message behind their `ts`. `outsider` marks
    a perception whose reply is read by a user who may not know what the whole workspace may know.
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
    late: bool = False
    process: str | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    outsider: bool = False

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
        """A user's message, as a channel perceives it."""
        id_ = "/".join((conversation.soul, conversation.workspace, conversation.channel, ts))
        return cls(id_, conversation, Modality.WORDS, content, author, audience, place, ts, name=name)

    @property
    def said_at(self) -> tuple[float, str]:
        """The sort key of messages within a conversation; a ts that is no number sorts first instead of failing."""
        try:
            return float(self.ts), self.ts
        except ValueError:
            return 0.0, self.ts
