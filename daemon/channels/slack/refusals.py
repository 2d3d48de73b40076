"""Slack's error codes by subject (thread, place, app, else the form), the cache of answers, and our own ids."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from daemon.core.errors import AccessLost, ChannelError, ChannelRefused
from daemon.core.lru import Lru
from daemon.core.ports.services import Clock
from daemon.core.value import Value

DEAD_TOKEN: Final = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "invalid_token",
        "not_allowed_token_type",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
NO_ACCESS: Final = DEAD_TOKEN | {
    "access_denied",
    "ekm_access_denied",
    "missing_scope",
    "no_permission",
    "team_access_not_granted",
    "two_factor_setup_required",
}
"""Error codes that an admin can fix: the token or its scopes are at fault, not the post."""
THREAD: Final = frozenset(
    {
        "cannot_reply_to_message",
        "invalid_thread_ts",
        "restricted_action_non_threadable_channel",
        "restricted_action_thread_locked",
        "thread_not_found",
    }
)
"""Error codes of a thread that takes no reply: its root is gone, it is locked, or the channel has no threads."""
NO_THREADS: Final = "restricted_action_non_threadable_channel"
PLACE: Final = frozenset(
    {
        "cannot_dm_bot",
        "channel_not_found",
        "ekm_access_denied",
        "enterprise_is_restricted",
        "is_archived",
        "is_inactive",
        "messages_tab_disabled",
        "no_permission",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "team_access_not_granted",
        "user_is_restricted",
        "user_not_found",
        *THREAD,
    }
)
"""Error codes of a place that takes no post in any form."""
APP: Final = frozenset(
    {
        "access_denied",
        "as_user_not_supported",
        "deprecated_endpoint",
        "feature_not_enabled",
        "method_deprecated",
        "missing_scope",
        "not_supported",
        "unknown_method",
        *DEAD_TOKEN,
    }
)
"""Error codes of a method that the app may not call."""
NO_STREAMS: Final = APP | {
    "channel_type_not_supported",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "method_not_supported_for_channel_type",
    "restricted_action",
    "restricted_action_non_threadable_channel",
    "restricted_action_read_only_channel",
    "team_access_not_granted",
}
"""Error codes of an app or a kind of channel without streams. Other refusals are about one message."""
STREAM_OVER: Final = frozenset({"message_not_in_streaming_state", "stopped_by_user", "streaming_state_conflict"})
"""Error codes of a stream that is over. The message exists and can be updated."""
MESSAGE_GONE: Final = frozenset({"message_not_found"})
REACTS_NO_MORE: Final = MESSAGE_GONE | {"already_reacted"}
"""Error codes of a message that has the reaction, or is gone."""
FILE_GONE: Final = frozenset({"file_deleted", "file_not_found"})
NO_METADATA: Final = frozenset({"invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large"})
NO_BROADCAST: Final = frozenset({"cant_broadcast_message"})
"""Error codes of a reply that can't be shown in the channel too."""
CANNOT_CHANGE: Final = MESSAGE_GONE | {"cant_update_message", "edit_window_closed"}
"""Error codes of a message that can't be changed."""


_ACCESS_PAUSE: Final = 60.0  # seconds between two tries that need an admin's act


def for_sending(refused: ChannelRefused) -> ChannelError:
    """Return the error to raise for a refused post: a refusal that only an admin can resolve is retried."""
    if refused.code not in NO_ACCESS:
        return refused
    return AccessLost(refused.message, hint=refused.hint, retry_after=_ACCESS_PAUSE)


T = TypeVar("T")
U = TypeVar("U")


class TimedCache(Generic[T]):
    """A cache of up to `size` answers for `ttl` seconds each. The least recently used go first, failures aren't kept.

    Concurrent calls for one key share one lookup. An answer that is forgotten while it is fetched is fetched again.
    """

    def __init__(
        self, fetch: Callable[[str], Awaitable[T]], clock: Clock, *, ttl: float = 600.0, size: int = 5000
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._ttl = ttl
        self._answers = Lru[str, tuple[float, T]](size)
        self._locks: dict[str, asyncio.Lock] = {}
        self._outdated: set[str] = set()

    async def get(self, key: str) -> T:
        """Return the answer for a key, fetched if it is missing or expired. Raises what `fetch` raises."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                entry = self._known(key)
                while entry is None:
                    self._outdated.discard(key)
                    at, answer = self._clock.monotonic(), await self._fetch(key)
                    entry = None if key in self._outdated else (at, answer)
                self._answers[key] = entry
                return entry[1]
        finally:
            if not lock.locked():
                self._locks.pop(key, None)
                self._outdated.discard(key)

    def peek(self, key: str, otherwise: U) -> T | U:
        """Return the cached answer for a key, or `otherwise` if it is missing or expired. Nothing is fetched."""
        entry = self._known(key)
        return otherwise if entry is None else entry[1]

    def put(self, key: str, answer: T) -> None:
        self._answers[key] = (self._clock.monotonic(), answer)

    def forget(self, key: str) -> None:
        """Drop the answer for a key. An answer that is being fetched is fetched again."""
        self._answers.pop(key, None)
        if key in self._locks:
            self._outdated.add(key)

    def forget_all(self) -> None:
        for key in {*self._answers, *self._locks}:
            self.forget(key)

    def _known(self, key: str) -> tuple[float, T] | None:
        entry = self._answers.get(key)
        return entry if entry is not None and self._clock.monotonic() - entry[0] < self._ttl else None


class SlackIdentity(Value):
    """Our own ids in one workspace (Slack: auth.test). `app` is empty if the app token doesn't contain it.

    `scopes` are those of the bot token, empty if Slack didn't list them. `url` is the workspace's address. `enterprise`
    is the id of the Enterprise Grid organisation of the workspace, or empty.
    """

    team: str
    user: str
    bot: str
    app: str = ""
    scopes: frozenset[str] = frozenset()
    url: str = ""
    enterprise: str = ""
