"""What the HTTP API needs of the rest of the daemon, handed over once memory.db is open."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.core.ports import StoredReply


@dataclass(slots=True)
class DaemonSide:
    """Calls into the daemon, each of which may raise StoreError.

    `find_reply` takes a conversation and the message id that the program gave. `last_name` is the name the user of a
    conversation gave last, or ''. `enqueue` queues the background jobs of a conversation and gives their names, or None
    for an unknown conversation. `unready` gives the reasons why the daemon can't work now, without names of users.
    `queues` counts waiting rows by queue.
    """

    find_reply: Callable[[ConversationKey, str], Awaitable[StoredReply | None]]
    last_name: Callable[[ConversationKey], Awaitable[str]]
    enqueue: Callable[[ConversationKey], Awaitable[tuple[str, ...] | None]]
    unready: Callable[[], Awaitable[tuple[str, ...]]]
    queues: Callable[[], Awaitable[Mapping[str, int]]]
