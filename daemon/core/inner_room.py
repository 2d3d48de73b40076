"""The inner room: where a soul thinks what belongs to no conversation, such as that it exists; nothing leaves it."""

from typing import Final

from daemon.core.perception import ConversationKey

INNER: Final = "inner"
"""The channel of that conversation, of which a soul has one in each workspace."""


def inner_room(soul: str, workspace: str) -> ConversationKey:
    """The inner room of a soul in a workspace."""
    return ConversationKey(soul, workspace, INNER)


def is_inner(conversation: ConversationKey) -> bool:
    """Whether a conversation is an inner room: no person reads or speaks there."""
    return conversation.channel == INNER
