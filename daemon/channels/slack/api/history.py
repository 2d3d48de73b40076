"""Slack's own history, page by page: channels, threads, and the list of rooms the soul is in."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.pacing import Window

_PAGE: Final = 200
_ROOMS: Final = "im,mpim,private_channel,public_channel"


async def listing(
    client: SlackClient, method: str, items: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """The lists called `items` of at most `most` pages in one, and whether that is all there is.

    Each page waits for its place in `window`, if one is given. Raises what reading through `SlackClient.call` raises.
    """
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(most):
        if window is not None:
            await window.turn()
        answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
        listed = answer.get(items)
        found += [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        cursor = _next_cursor(answer)
        if cursor is None:
            break
    return found, cursor is None


def _next_cursor(answer: Mapping[str, Any]) -> str | None:
    """Where the next page begins, or None after the last."""
    metadata = answer.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


async def messages(
    client: SlackClient, channel: str, thread: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Messages of a thread, or of a timeline when `thread` is empty, oldest first, and whether that is all of them.

    `arguments` as Slack's (oldest, latest, include_all_metadata). A thread's root comes with its replies.
    """
    method = "conversations.replies" if thread else "conversations.history"
    where: dict[str, object] = {"channel": channel, "ts": thread or None, **arguments}
    found, whole = await listing(client, method, "messages", most=most, window=window, **where)
    return sorted(found, key=lambda message: moment(message.get("ts"))), whole


async def rooms(client: SlackClient, *, most: int, window: Window | None = None) -> list[dict[str, Any]]:
    """Every channel and DM the soul is in (Slack: users.conversations), at most so many pages."""
    found, _ = await listing(
        client, "users.conversations", "channels", most=most, window=window, types=_ROOMS, exclude_archived=True
    )
    return found


def moment(ts: object) -> float:
    """A Slack ts as seconds, 0.0 for anything that isn't one; for sorting and comparing only."""
    try:
        return float(ts) if isinstance(ts, str) else 0.0
    except ValueError:
        return 0.0


def as_ts(seconds: float) -> str:
    """Seconds since the epoch in Slack's form."""
    return f"{max(seconds, 0.0):.6f}"
