"""Builds the body of a post: markdown, buttons, a plain fallback, and the metadata with the post's key."""

from typing import Any, Final

from daemon.channels.slack.incoming.event_reader import APPROVAL_ACTIONS, FEEDBACK_ACTION
from daemon.channels.slack.outgoing.markup import inert
from daemon.channels.slack.outgoing.mrkdwn import to_mrkdwn
from daemon.core.ports import Post

EVENT_TYPE: Final = "soul_reply"
_FALLBACK: Final = 3_900  # characters; Slack advises to stay under 4,000
_LONGEST_TEXT: Final = 39_000  # Slack cuts at 40,000
_SECTION: Final = 2_900  # characters; a section block takes 3,000
_BUTTONS: Final = {
    "approve": ("Approve", "primary", "Approve: allow this once"),
    "refuse": ("Refuse", "danger", "Refuse: do nothing"),
}


def metadata(post: Post) -> dict[str, Any]:
    """The post's key as Slack's message metadata."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": post.key, "part": post.part}}


def key_of(message: dict[str, Any]) -> str | None:
    """The key in a message's metadata, or None."""
    found = message.get("metadata")
    if not isinstance(found, dict) or found.get("event_type") != EVENT_TYPE:
        return None
    payload = found.get("event_payload")
    key = payload.get("key") if isinstance(payload, dict) else None
    return key if isinstance(key, str) else None


def rich(post: Post) -> dict[str, Any]:
    """Blocks, and a short text for notifications and old clients."""
    body = inert(post.body)
    return {
        "text": to_mrkdwn(body[: 2 * _FALLBACK])[:_FALLBACK],
        "blocks": [{"type": "markdown", "text": body}, *buttons(post)],
    }


def plain(post: Post) -> dict[str, Any]:
    """The whole text without blocks, after Slack refused those; the empty list removes a draft's own blocks.

    An approval request keeps its buttons: its text goes into section blocks, which every client shows.
    """
    text = to_mrkdwn(inert(post.body))
    if post.approval is None or post.revises is not None:
        return {"text": text[:_LONGEST_TEXT], "blocks": []}
    pieces = [text[at : at + _SECTION] for at in range(0, len(text), _SECTION)]
    sections = [{"type": "section", "text": {"type": "mrkdwn", "text": piece}} for piece in pieces]
    return {"text": text[:_FALLBACK], "blocks": [*sections, *buttons(post)]}


def buttons(post: Post) -> list[dict[str, Any]]:
    """The buttons under a post: approve and refuse under an approval request, feedback under a reply's last part.

    A revised post has none, since it states a decision.
    """
    if post.revises is not None:
        return []
    if post.approval is not None:
        return [{"type": "actions", "elements": [_answer(act, post.approval) for act in APPROVAL_ACTIONS]}]
    return [_feedback()] if post.last else []


def _feedback() -> dict[str, Any]:
    """The two feedback buttons (Slack: context actions block)."""
    element = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK_ACTION,
        "positive_button": _button("Good answer", "good", "Mark this answer as good"),
        "negative_button": _button("Bad answer", "bad", "Mark this answer as bad"),
    }
    return {"type": "context_actions", "elements": [element]}


def _answer(act: str, approval: str) -> dict[str, Any]:
    text, style, description = _BUTTONS[act]
    action = {"type": "button", "action_id": APPROVAL_ACTIONS[act], "style": style}
    return action | _button(text, f"{act}:{approval}", description)


def _button(text: str, value: str, description: str) -> dict[str, Any]:
    return {"text": {"type": "plain_text", "text": text}, "value": value, "accessibility_label": description}
