"""What Slack's error codes are about: the form of a message, its thread, its place, or the app.

A code that stands nowhere here counts as one about the form, so that an unknown refusal is met with a plainer message.
"""

from typing import Final

from daemon.core.errors import AccessLost, ChannelError, ChannelRefused

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
"""Error codes that an admin can put right: the token and its scopes, not the post, are at fault."""
THREAD: Final = frozenset(
    {
        "cannot_reply_to_message",
        "invalid_thread_ts",
        "restricted_action_non_threadable_channel",
        "restricted_action_thread_locked",
        "thread_not_found",
    }
)
"""The thread takes no reply: its root is gone, it is locked, or the channel has no threads."""
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
"""Nothing can be posted there, in whatever form."""
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
"""The app may not call the method."""
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
"""The app or the kind of channel takes no streams; other refusals are about one message."""
STREAM_OVER: Final = frozenset({"message_not_in_streaming_state", "stopped_by_user", "streaming_state_conflict"})
"""The stream takes nothing more; the message stands and can be updated."""
MESSAGE_GONE: Final = frozenset({"message_not_found"})
REACTS_NO_MORE: Final = MESSAGE_GONE | {"already_reacted"}
"""The message bears the reaction, or is gone."""
FILE_GONE: Final = frozenset({"file_deleted", "file_not_found"})
NO_METADATA: Final = frozenset({"invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large"})
NO_BROADCAST: Final = frozenset({"cant_broadcast_message"})
"""The reply can't be shown in the channel too."""
CANNOT_CHANGE: Final = MESSAGE_GONE | {"cant_update_message", "edit_window_closed"}
"""The message can't be changed any more."""


_ACCESS_PAUSE: Final = 60.0  # seconds between two tries while an admin has to act first


def for_sending(refused: ChannelRefused) -> ChannelError:
    """What to raise for a refused post: one that only an admin's act is wanting for is tried again."""
    if refused.code not in NO_ACCESS:
        return refused
    return AccessLost(refused.message, hint=refused.hint, retry_after=_ACCESS_PAUSE)
