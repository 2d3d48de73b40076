"""What the HTTP door needs of the house behind it; the composition root hands it over once memory.db is open."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from daemon.core.perception import ConversationKey


class Kept(Protocol):
    """A message that came through the door and what it came to, as memory.db has it."""

    @property
    def ts(self) -> str:
        """The ts it was stored under."""

    @property
    def said(self) -> str:
        """Its words."""

    @property
    def state(self) -> str:
        """The state of its inbox row."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The answer in order; empty while there is none, or when it ended without words."""

    @property
    def settled(self) -> bool:
        """Whether nothing more will come of it."""


class Replies(Protocol):
    """Look-ups in memory.db; both raise StoreError."""

    async def find(self, conversation: ConversationKey, message_id: str) -> Kept | None:
        """The message that its sender gave this id; None: no such message came."""

    async def last_name(self, conversation: ConversationKey) -> str:
        """The name that the user of a conversation last gave, empty when they never gave one."""


@dataclass(frozen=True, slots=True)
class Backing:
    """The house behind the door.

    `enqueue` has the background work done for a conversation and names the jobs, or gives None where the conversation
    is unknown. `unready` gives the reasons why the daemon can't work just now, in words that identify nobody; none
    when it can. `queues` counts the rows that wait, by the queue's name. All may raise StoreError.
    """

    replies: Replies
    enqueue: Callable[[ConversationKey], Awaitable[tuple[str, ...] | None]]
    unready: Callable[[], Awaitable[tuple[str, ...]]]
    queues: Callable[[], Awaitable[Mapping[str, int]]]
