"""Ends what is set for a channel that was archived or deleted while no daemon heard of it."""

from collections.abc import Collection
from typing import Final

from daemon.channels.slack.client import SlackClient
from daemon.core.errors import ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.ports.telemetry import Emit
from daemon.core.room_ways import RoomWays

_GONE: Final = "channel_not_found"


async def end_gone_rooms(
    client: SlackClient, ways: RoomWays, workspace: str, there: Collection[str], emit: Emit
) -> None:
    """Look at each channel that has a way and is not among those `there`, in which the soul is. Raises StoreError.

    A private channel that the soul was removed from looks to it like one that was deleted: what is set there stays,
    and counts again once the soul is back. Where Slack can't say now, the next catch-up looks again.
    """
    for channel, private in await ways.channels(workspace):
        if channel in there:
            continue
        try:
            await client.wait_to_read()
            room = (await client.call("conversations.info", channel=channel)).get("channel")
            ended = isinstance(room, dict) and bool(room.get("is_archived"))
        except ChannelRefused as error:
            ended = error.code == _GONE and not private
        except (NotDelivered, DeliveryUncertain) as error:
            emit("slack.way_unknown", channel=channel, reason=error.message)
            continue
        if ended:
            await ways.end(workspace, channel)
            emit("slack.way_ended", channel=channel)
