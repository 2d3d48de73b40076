"""The body of one of our messages: markdown, feedback buttons, a plain fallback, and the key it can be found by."""

from typing import Any, Final

from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.reading import FEEDBACK_ACTION
from daemon.ports import Post

EVENT_TYPE: Final = "soul_reply"
_FALLBACK: Final = 3_900  # characters; Slack advises to stay under 4,000
_LONGEST_TEXT: Final = 39_000  # Slack cuts at 40,000


def metadata(post: Post) -> dict[str, Any]:
    """The outbox key, as Slack keeps it with the message (Slack: message metadata)."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": post.key, "part": post.part}}


def key_of(message: dict[str, Any]) -> str | None:
    """The outbox key a message carries, or None."""
    found = message.get("metadata")
    if not isinstance(found, dict) or found.get("event_type") != EVENT_TYPE:
        return None
    payload = found.get("event_payload")
    key = payload.get("key") if isinstance(payload, dict) else None
    return key if isinstance(key, str) else None


def rich(post: Post) -> dict[str, Any]:
    """Blocks with a short text beside them, for notifications and old clients."""
    body = inert(post.body)
    return {"text": to_mrkdwn(body)[:_FALLBACK], "blocks": [{"type": "markdown", "text": body}, *feedback(post)]}


def plain(post: Post) -> dict[str, Any]:
    """The whole text without blocks, for when Slack refuses those; the empty list takes a draft's own blocks away."""
    return {"text": to_mrkdwn(inert(post.body))[:_LONGEST_TEXT], "blocks": []}


def feedback(post: Post) -> list[dict[str, Any]]:
    """The feedback buttons, under the last part of a reply (Slack: context actions block)."""
    if not post.last:
        return []
    buttons = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK_ACTION,
        "positive_button": _button("Good answer", "good", "Mark this answer as good"),
        "negative_button": _button("Bad answer", "bad", "Mark this answer as bad"),
    }
    return [{"type": "context_actions", "elements": [buttons]}]


def _button(text: str, value: str, spoken: str) -> dict[str, Any]:
    return {"text": {"type": "plain_text", "text": text}, "value": value, "accessibility_label": spoken}
