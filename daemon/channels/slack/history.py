"""The pages of Slack's history: channels, threads, and the list of channels that the soul is in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from daemon.channels.slack.api import SlackClient, Window

T = TypeVar("T")

_PAGE: Final = 200
_ROOMS: Final = "im,mpim,private_channel,public_channel"


async def read_pages(
    client: SlackClient, method: str, items: str, *, most: int, window: Window | None = None, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
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
    """Return the items of at most `most` pages that are of one type, and True if no page is left.

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


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list of Slack's, and the cursor of the next page, which is None after the last."""

    items: list[dict[str, Any]]
    cursor: str | None


async def read_page(
    client: SlackClient, method: str, items: str, cursor: str | None = None, **arguments: object
) -> Page:
    """Return one page of the list named `items`. Raises what `SlackClient.call` raises for a read."""
    answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
    listed = answer.get(items)
    found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return Page(found, _next_cursor(answer))


def _next_cursor(answer: Mapping[str, Any]) -> str | None:
    metadata = answer.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return cursor if isinstance(cursor, str) and cursor else None


def messages_of(thread: str) -> str:
    return "conversations.replies" if thread else "conversations.history"


async def read_messages(
    client: SlackClient, channel: str, thread: str, *, most: int, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Return messages of a thread, or of the timeline if `thread` is empty, oldest first, and True if no page is left.

    At most `most` pages are read. `arguments` are Slack's (oldest, latest, include_all_metadata). A thread's messages
    include its root. Raises what `SlackClient.call` raises for a read.
    """
    where: dict[str, object] = {"channel": channel, "ts": thread or None, **arguments}
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(most):
        page = await read_page(client, messages_of(thread), "messages", cursor, **where)
        found, cursor = found + page.items, page.cursor
        if cursor is None:
            break
    return in_order(found), cursor is None


async def read_rooms_page(client: SlackClient, cursor: str | None) -> Page:
    """Return a page of the channels and DMs that the soul is in (Slack: users.conversations)."""
    return await read_page(client, "users.conversations", "channels", cursor, types=_ROOMS, exclude_archived=True)


def in_order(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(messages, key=lambda message: as_seconds(message.get("ts")))


def as_seconds(ts: object) -> float:
    """Return a Slack ts in seconds, or 0.0 for an invalid one. Precise enough for comparing only."""
    try:
        return float(ts) if isinstance(ts, str) else 0.0
    except ValueError:
        return 0.0


def as_ts(seconds: float) -> str:
    return f"{max(seconds, 0.0):.6f}"
