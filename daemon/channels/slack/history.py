"""The pages of Slack's history: channels, threads, and the list of channels that the soul is in."""

from typing import Any, Final, Generic, TypeVar

from daemon.channels.slack.api import SlackClient, Window
from daemon.core.value import Value

T = TypeVar("T")

_PAGE: Final = 200
PRIVATE: Final = "private_channel"


class Page(Value, Generic[T]):
    """One page of a list of Slack's, and the cursor of the next page, which is None after the last."""

    items: list[T]
    cursor: str | None


async def read_page(
    client: SlackClient, method: str, items: str, kind: type[T], cursor: str | None = None, **arguments: object
) -> Page[T]:
    """Return the items of one page that are of one type. Raises what `SlackClient.call` raises for a read."""
    answer = await client.call(method, limit=_PAGE, cursor=cursor, **arguments)
    listed, metadata = answer.get(items), answer.get("response_metadata")
    found = [item for item in listed if isinstance(item, kind)] if isinstance(listed, list) else []
    following = metadata.get("next_cursor") if isinstance(metadata, dict) else None
    return Page(found, following if isinstance(following, str) and following else None)


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
        page = await read_page(client, method, items, kind, cursor, **arguments)
        found, cursor = found + page.items, page.cursor
        if cursor is None:
            break
    return found, cursor is None


async def read_rooms(
    client: SlackClient, *, most: int, user: str | None = None, types: str = f"public_channel,{PRIVATE}"
) -> list[dict[str, Any]]:
    """Return the channels that a user is in and Slack lists to the app, by default those that the soul is in.

    At most `most` pages are read (Slack: users.conversations). Raises what `SlackClient.call` raises for a read.
    """
    method = "users.conversations"
    listed, _ = await read_items(
        client, method, "channels", dict, most=most, user=user, types=types, exclude_archived=True
    )
    return listed


def messages_of(thread: str) -> str:
    return "conversations.replies" if thread else "conversations.history"


async def read_messages(
    client: SlackClient, channel: str, thread: str, *, most: int, **arguments: object
) -> tuple[list[dict[str, Any]], bool]:
    """Return messages of a thread, or of the timeline if `thread` is empty, oldest first, and True if no page is left.

    At most `most` pages are read. `arguments` are Slack's (oldest, latest, include_all_metadata). A thread's messages
    include its root. Raises what `SlackClient.call` raises for a read.
    """
    place: dict[str, Any] = {"channel": channel, "ts": thread or None, **arguments}
    found, whole = await read_items(client, messages_of(thread), "messages", dict, most=most, **place)
    return in_order(found), whole


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
