"""Reads Slack's history page by page: channels, threads, and the list of rooms that the soul is in."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.pacing import Window

T = TypeVar("T")

_PAGE: Final = 200
_ROOMS: Final = "im,mpim,private_channel,public_channel"


async def read_pages(
    client: SlackClient, method: str, items: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Like `read_items`, for lists of objects."""
    return await read_items(client, method, items, dict, most=most, window=window, **arguments)


async def read_items(
    client: SlackClient,
    method: str,
    items: str,
    kind: type[T],
    *,
    most: int,
    window: Window | None = None,
    **arguments: object,
) -> tuple[list[T], bool]:
    """The lists named `items` of at most `most` pages, joined, and whether no page is left; values of one kind.

    Each page waits for `window`, if one is given. Raises what `SlackClient.call` raises for a read.
    """
    found: list[T] = []
    cursor: str | None = None
    for _ in range(most):
        if window is not None:
            await window.wait_for_slot()
        answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
        listed = answer.get(items)
        found += [item for item in listed if isinstance(item, kind)] if isinstance(listed, list) else []
        cursor = _next_cursor(answer)
        if cursor is None:
            break
    return found, cursor is None


def _next_cursor(answer: Mapping[str, Any]) -> str | None:
    """The cursor of the next page, or None after the last page."""
    metadata = answer.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


async def read_messages(
    client: SlackClient, channel: str, thread: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Messages of a thread, or of the timeline if `thread` is empty, oldest first, and whether no page is left.

    `arguments` are Slack's (oldest, latest, include_all_metadata). A thread's messages include its root.
    """
    method = "conversations.replies" if thread else "conversations.history"
    where: dict[str, object] = {"channel": channel, "ts": thread or None, **arguments}
    found, whole = await read_pages(client, method, "messages", most=most, window=window, **where)
    return sorted(found, key=lambda message: as_seconds(message.get("ts"))), whole


async def read_rooms(client: SlackClient, *, most: int, window: Window | None = None) -> list[dict[str, Any]]:
    """Every channel and DM that the soul is in, from at most `most` pages (Slack: users.conversations)."""
    found, _ = await read_pages(
        client, "users.conversations", "channels", most=most, window=window, types=_ROOMS, exclude_archived=True
    )
    return found


def as_seconds(ts: object) -> float:
    """A Slack ts in seconds, 0.0 for any other value; precise enough for comparing only."""
    try:
        return float(ts) if isinstance(ts, str) else 0.0
    except ValueError:
        return 0.0


def as_ts(seconds: float) -> str:
    """Seconds since the epoch as a Slack ts."""
    return f"{max(seconds, 0.0):.6f}"
