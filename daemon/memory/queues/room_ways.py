"""The way in which the soul works in each channel, its introductions in new channels, and its marks on messages."""

import json
from typing import Final

from daemon.core.lineage import way_id
from daemon.core.ports import LeftMark
from daemon.core.ports.arrivals import Acceptance, Joined, RoomWaySent
from daemon.core.ports.services import Clock
from daemon.core.room_ways import ChannelSettings
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
"""A SQL column: the way of the channel of a `conversations` row, for `way_in` to read."""


def way_in(stored: str | None) -> ChannelSettings:
    """Return the way that `WAY_OF_CONVERSATION` selected."""
    return ChannelSettings(**json.loads(stored)) if stored else ChannelSettings()


async def way_of(transaction: Transaction, workspace: str, channel: str) -> ChannelSettings:
    row = await transaction.one(
        """
        SELECT instructions, soul, streams, joins, person FROM room_ways
        WHERE workspace = :workspace AND channel = :channel
        """,
        workspace=workspace,
        channel=channel,
    )
    return read_row(ChannelSettings, row) if row else ChannelSettings()


async def set_way(transaction: Transaction, sent: RoomWaySent, now: int) -> tuple[Acceptance, str]:
    """Set or clear a channel's way, and have that posted in the channel. An unchanged way is ignored."""
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
    """The store that implements the `ChannelSettingsStore` port."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def of(self, workspace: str, channel: str) -> ChannelSettings:
        return await self._database.read(lambda transaction: way_of(transaction, workspace, channel))

    async def channels(self, workspace: str) -> tuple[tuple[str, bool], ...]:
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
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            if await _clear(transaction, workspace, channel):
                await record_act(
                    transaction, actor="slack", act=_ACT, subject=channel, detail="ended with the channel", now=now
                )

        await self._database.write(unit)


JOINED: Final = "joined"
"""The parameter of the event that a soul was invited to a channel."""

MOST_IN_AN_HOUR: Final = 5
"""The most channels in which a soul introduces itself within an hour."""

_HOUR_MS: Final = 3_600_000
_FRESH_MS: Final = 24 * _HOUR_MS  # an older invitation is no news to anybody there
_IN_VAIN: Final = ("ignored", "stale")  # of what became of an earlier invitation: nothing was said


async def take_invitation(transaction: Transaction, joined: Joined, now: int) -> tuple[Acceptance, str]:
    """Put the invitation into the inbox of the channel's timeline, unless an earlier one led to an introduction."""
    if joined.at_ms < now - _FRESH_MS:
        return Acceptance.IGNORED, "invited long ago"
    scope = {"soul": joined.soul, "workspace": joined.workspace}
    earlier = await transaction.one(
        """
        SELECT coalesce((SELECT state FROM inbox WHERE id = event), '') AS became FROM introductions
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel
        """,
        channel=joined.channel,
        **scope,
    )
    if earlier is not None and earlier["became"] not in _IN_VAIN:
        return Acceptance.IGNORED, "introduced there already"
    others = await transaction.one(
        """
        SELECT count(*) AS n FROM introductions
        WHERE soul = :soul AND workspace = :workspace AND channel <> :channel AND invited_ms > :since
        """,
        channel=joined.channel,
        since=now - _HOUR_MS,
        **scope,
    )
    assert others is not None  # an aggregate always has a row
    if others["n"] >= MOST_IN_AN_HOUR:
        return Acceptance.IGNORED, "invited to many channels at once"
    await _store(transaction, joined, f"{JOINED}:{now}", now)
    return Acceptance.ACCEPTED, ""


async def _store(transaction: Transaction, joined: Joined, name: str, now: int) -> None:
    event = await store_act_in_channel(
        transaction, joined, now, author=joined.inviter, name=name, params={JOINED: True}
    )
    await transaction.insert(
        "introductions",
        """
        ON CONFLICT (soul, workspace, channel) DO UPDATE
        SET invited_ms = excluded.invited_ms, event = excluded.event
        """,
        soul=joined.soul,
        workspace=joined.workspace,
        channel=joined.channel,
        event=event,
        invited_ms=now,
    )


_KEPT_MS: Final = 7 * 86_400_000
_AT_ONCE: Final = 50


class MarkedMessageStore:
    """The store that implements the `MarksKept` port."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, message: str) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.run("DELETE FROM marked_messages WHERE marked_ms < :old", old=now - _KEPT_MS)
            await transaction.run(
                """
                INSERT INTO marked_messages (id, marked_ms) SELECT id, :now FROM inbox WHERE id = :id
                ON CONFLICT DO NOTHING
                """,
                id=message,
                now=now,
            )

        await self._database.write(unit, within=1.0)

    async def end(self, message: str) -> None:
        await self._database.run("DELETE FROM marked_messages WHERE id = :id", id=message)

    async def left(self, workspace: str, account: str) -> tuple[LeftMark, ...]:
        rows = await self._database.rows(
            """
            SELECT i.id, i.channel, i.ts, i.state = 'answered' AND (i.answered_by IS NOT NULL OR i.addressed = 1)
              AND NOT EXISTS (
                SELECT 1 FROM turns t WHERE t.conversation = i.conversation AND t.ts = i.ts
                  AND t.speaker = 'soul' AND t.kind = 'apology') AS answered
            FROM marked_messages m CROSS JOIN inbox i ON i.id = m.id
            WHERE i.workspace = :workspace AND i.receiver IN ('', :account) AND i.state NOT IN ('new', 'claimed')
            LIMIT :most
            """,
            workspace=workspace,
            account=account,
            most=_AT_ONCE,
        )
        return tuple(LeftMark(row["id"], row["channel"], row["ts"], bool(row["answered"])) for row in rows)
