"""How the soul works in each channel: one row for all souls and daemons, with who set it, and posted in the channel."""

import json
from typing import Final

from daemon.core.lineage import way_id
from daemon.core.ports.arrivals import Acceptance, RoomWaySent
from daemon.core.ports.clock import Clock
from daemon.core.room_ways import RoomWay
from daemon.memory.audit import record_act
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.internal_events import store_act_in_channel
from daemon.memory.records import read_row
from daemon.memory.stream.emptying import empty_thoughts_on

WAY_SET: Final = "way_set"
"""The parameter of the event that a way was set for a channel: the channel reads of it."""

_ACT: Final = "channel way"


WAY_OF_CONVERSATION: Final = """
  (SELECT json_object('instructions', w.instructions, 'soul', w.soul, 'streams', w.streams, 'joins', w.joins,
                      'person', w.person)
   FROM room_ways w WHERE w.workspace = conversations.workspace AND w.channel = conversations.channel) AS way
"""
"""What is set for the channel of a row of `conversations`, in the statement that reads it; see `way_in`."""


def way_in(stored: str | None) -> RoomWay:
    """What such a statement gave."""
    return RoomWay(**json.loads(stored)) if stored else RoomWay()


async def way_of(transaction: Transaction, workspace: str, channel: str) -> RoomWay:
    """What is set for a channel."""
    row = await transaction.one(
        """
        SELECT instructions, soul, streams, joins, person FROM room_ways
        WHERE workspace = :workspace AND channel = :channel
        """,
        workspace=workspace,
        channel=channel,
    )
    return read_row(RoomWay, row) if row else RoomWay()


async def set_way(transaction: Transaction, sent: RoomWaySent, now: int) -> tuple[Acceptance, str]:
    """Set a way, or clear it, and have it posted in the channel; nothing where it is set like this already."""
    before = await way_of(transaction, sent.workspace, sent.channel)
    if (before.is_plain and sent.way.is_plain) or before == sent.way:
        return Acceptance.IGNORED, "it is like this already"
    if before.instructions != sent.way.instructions:
        await empty_thoughts_on(transaction, [way_id(sent.workspace, sent.channel)])
    if sent.way.is_plain:
        await _clear(transaction, sent.workspace, sent.channel)
    else:
        way = sent.way
        await transaction.insert(
            "room_ways",
            """
            ON CONFLICT (workspace, channel) DO UPDATE SET instructions = excluded.instructions, soul = excluded.soul,
              streams = excluded.streams, joins = excluded.joins, person = excluded.person, set_ms = excluded.set_ms
            """,
            workspace=sent.workspace,
            channel=sent.channel,
            instructions=way.instructions,
            soul=way.soul,
            streams=way.streams,
            joins=way.joins,
            person=sent.author,
            set_ms=now,
        )
    what = "cleared" if sent.way.is_plain else "set"
    await record_act(transaction, actor=sent.author, act=_ACT, subject=sent.channel, detail=what, now=now)
    name = sent.event_id.replace("/", "_")
    await store_act_in_channel(transaction, sent, now, author=sent.author, name=name, params={WAY_SET: what})
    return Acceptance.ACCEPTED, ""


async def _clear(transaction: Transaction, workspace: str, channel: str) -> bool:
    row = await transaction.one(
        "DELETE FROM room_ways WHERE workspace = :workspace AND channel = :channel RETURNING 1",
        workspace=workspace,
        channel=channel,
    )
    if row is not None:
        await empty_thoughts_on(transaction, [way_id(workspace, channel)])
    return row is not None


class RoomWayStore:
    """Implements the `RoomWays` port."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of(self, workspace: str, channel: str) -> RoomWay:
        """See `RoomWays.of`."""
        return await self._database.read(lambda transaction: way_of(transaction, workspace, channel))

    async def channels(self, workspace: str) -> tuple[tuple[str, bool], ...]:
        """See `RoomWays.channels`."""
        rows = await self._database.rows(
            """
            SELECT channel, EXISTS (SELECT 1 FROM conversations c WHERE c.workspace = w.workspace
              AND c.audience = 'channel:' || w.channel AND c.channel = w.channel) AS private
            FROM room_ways w WHERE workspace = :workspace ORDER BY channel
            """,
            workspace=workspace,
        )
        return tuple((row["channel"], bool(row["private"])) for row in rows)

    async def end(self, workspace: str, channel: str) -> None:
        """See `RoomWays.end`."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            if await _clear(transaction, workspace, channel):
                await record_act(
                    transaction, actor="slack", act=_ACT, subject=channel, detail="ended with the channel", now=now
                )

        await self._database.write(unit)
