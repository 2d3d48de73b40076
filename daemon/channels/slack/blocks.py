"""Builds the body of a post in each form, from markdown with buttons to plain text, and its metadata with the key."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.event_reader import ANSWER_ACTIONS, APPROVAL_ACTIONS, FEEDBACK_ACTION
from daemon.channels.slack.markup import inert
from daemon.channels.slack.mrkdwn import to_mrkdwn
from daemon.channels.slack.sizes import PLAIN, SECTION
from daemon.channels.slack.splitting import pieces, split
from daemon.core.pairing import CHOICES, answers_to
from daemon.core.ports.posts import Post
from daemon.core.sentences import Words

EVENT_TYPE: Final = "soul_reply"
_FALLBACK_READ: Final = 8_000  # characters of a text whose beginning fills the fallback
_MOST_DATES: Final = 8  # places of one time in a piece
_A_DATE: Final = 60 * _MOST_DATES  # characters that they add
_BLANK: Final = "\u2026"
_STYLES: Final = {"approve": "primary", next(iter(CHOICES)): "primary", "refuse": "danger"}


def metadata(post: Post, piece: int = 0, of: int = 1) -> dict[str, Any]:
    """The post's key as Slack's message metadata; a post in several plain messages numbers its pieces."""
    numbers = {"piece": piece, "pieces": of} if of > 1 else {}
    return {"event_type": EVENT_TYPE, "event_payload": {"key": post.key, "part": post.part, **numbers}}


def pieces_of(message: dict[str, Any]) -> tuple[int, int]:
    """The number of a piece of ours, from 0, and how many there are; a whole message is the first of one."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    piece, of = payload.get("piece", 0), payload.get("pieces", 1)
    return (piece, of) if isinstance(piece, int) and isinstance(of, int) else (0, 1)


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
    if post.dates:
        return sectioned(post)  # markdown blocks show no dates
    body = inert(post.body)
    text = _beginning(to_mrkdwn(f"{body[:_FALLBACK_READ]}{_listed(post)}"))
    return {"text": text, "blocks": [{"type": "markdown", "text": body}, *buttons(post)]}


def shown_once(text: str) -> dict[str, Any]:
    """An answer that one user alone sees, below the command that they typed."""
    body = inert(text)
    shown = {"text": _beginning(to_mrkdwn(body[:_FALLBACK_READ])), "blocks": [{"type": "markdown", "text": body}]}
    return {"response_type": "ephemeral", "replace_original": False} | shown


def sectioned(post: Post) -> dict[str, Any]:
    """The text in section blocks, which every client shows, so that an approval request keeps its buttons."""
    text = to_mrkdwn(inert(post.body))
    room = max(SECTION // 2, SECTION - _A_DATE * len(post.dates))
    pieces_ = [with_dates(piece, post.dates) for piece in split(text, room)]
    sections = [{"type": "section", "text": {"type": "mrkdwn", "text": piece}} for piece in pieces_]
    return {"text": with_dates(_beginning(text), post.dates), "blocks": [*sections, *buttons(post)]}


def plain(post: Post) -> tuple[dict[str, Any], ...]:
    """The whole text without blocks, in as many messages as it takes; the empty list removes a draft's own blocks."""
    texts = split(to_mrkdwn(f"{inert(post.body)}{_listed(post)}"), PLAIN) or (_BLANK,)
    return tuple({"text": with_dates(text, post.dates), "blocks": []} for text in texts)


def with_dates(mrkdwn: str, dates: Mapping[str, int]) -> str:
    """Text in which each of the daemon's own times is shown to each reader on their own clock (Slack: date formatting).

    Where a client can't, it shows the time as it was written. Nothing else in the text becomes a date.
    """
    for shown, ms in dates.items():
        mrkdwn = mrkdwn.replace(shown, f"<!date^{ms // 1000}^{{date_num}} {{time}}|{shown}>", _MOST_DATES)
    return mrkdwn


def _beginning(text: str) -> str:
    """As much of a text as Slack takes beside blocks."""
    return str(next(pieces(text, PLAIN), _BLANK))


def buttons(post: Post) -> list[dict[str, Any]]:
    """The buttons under a post: the answers to a request or a question, and feedback under a reply's last part.

    A revised post that states a decision is no last part; one that closes a reply that was stopped has no buttons.
    """
    if post.closes:
        return []
    if post.approval is not None:
        return [{"type": "actions", "elements": [_answer(act, post) for act in answers_to(post.approval)]}]
    below = [_feedback(post.words)] if post.last else []
    if not post.answers:
        return below
    return [{"type": "actions", "elements": list(map(_offered, ANSWER_ACTIONS, post.answers))}, *below]


def _feedback(words: Words) -> dict[str, Any]:
    """The two feedback buttons (Slack: context actions block)."""
    element = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK_ACTION,
        "positive_button": _button(words, "good", "good"),
        "negative_button": _button(words, "bad", "bad"),
    }
    return {"type": "context_actions", "elements": [element]}


def _answer(act: str, post: Post) -> dict[str, Any]:
    action = {"type": "button", "action_id": APPROVAL_ACTIONS[act]}
    if act in _STYLES:
        action["style"] = _STYLES[act]
    return action | _button(post.words, act, f"{act}:{post.approval}")


def _offered(action: str, answer: str) -> dict[str, Any]:
    """The button of a short answer; its place says which one it is, and its words are shown as they are."""
    text = {"type": "plain_text", "text": answer, "emoji": False}
    return {"type": "button", "action_id": action, "text": text, "value": action, "accessibility_label": answer}


def _listed(post: Post) -> str:
    """The offered answers in words, for those who see no buttons."""
    listed = "".join(f"\n- {answer}" for answer in post.answers)
    return f"\n{listed}" if listed else ""


def _button(words: Words, key: str, value: str) -> dict[str, Any]:
    text, label = words.say(key), words.say(f"{key}_label")
    return {"text": {"type": "plain_text", "text": text}, "value": value, "accessibility_label": label}
